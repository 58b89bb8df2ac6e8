import { formatUsd } from '../../money.ts';
import type { BudgetView } from '../../operations/schemas/budgets.ts';
import { Chart } from '../parts/chart.tsx';
import { Loaded, Section } from '../parts/layout.tsx';
import type { InputOf } from '../state/ask.ts';
import { useGateway } from '../state/gateway.ts';
import { usageOfScope } from '../state/scope.ts';
import { useReading } from '../state/use-reading.ts';

const DAY_MS = 86_400_000;

/** The places of a budget's period, as a report has them, and the first one to come. */
interface Period {
  group: 'hour' | 'day';
  from: string;
  places: string[];
  /** How many of them have begun. */
  begun: number;
}

/** The running period of a budget by the calendar; undefined for one that has no such period. */
function periodOf({ period, resets_at }: BudgetView, today: string, hour: number): Period | undefined {
  if (period === 'daily') {
    const places = Array.from({ length: 24 }, (_, at) => `${String(at).padStart(2, '0')}:00`);
    return { group: 'hour', from: today, places, begun: hour + 1 };
  }
  if (resets_at === null || (period !== 'weekly' && period !== 'monthly')) return undefined;
  const now = Date.parse(today);
  // Monday begins a week: https://www.iso.org/iso-8601-date-and-time-format.html
  const weekday = (new Date(now).getUTCDay() + 6) % 7;
  const first = period === 'weekly' ? now - weekday * DAY_MS : Date.parse(`${today.slice(0, 8)}01`);
  const length =
    period === 'weekly'
      ? 7
      : new Date(Date.UTC(Number(today.slice(0, 4)), Number(today.slice(5, 7)), 0)).getUTCDate();
  const places = Array.from({ length }, (_, day) =>
    new Date(first + day * DAY_MS).toISOString().slice(0, 10),
  );
  return { group: 'day', from: places[0] ?? today, places, begun: places.indexOf(today) + 1 };
}

/** What the period has spent so far, against the cap. Nothing for a budget whose spend no report has. */
export function BurnDown({ budget }: { budget: BudgetView }) {
  const { times, now, today } = useGateway();
  const period = periodOf(budget, today, Number(times.time(now).slice(0, 2)));
  const scope = usageOfScope(budget);
  if (!period || !scope) return null;
  return <Curve budget={budget} period={period} scope={scope} />;
}

function Curve({
  budget,
  period,
  scope,
}: {
  budget: BudgetView;
  period: Period;
  scope: InputOf<'GET /v1/gw/usage'>;
}) {
  const { group, from, places, begun } = period;
  const known = useReading('GET /v1/gw/usage', { ...scope, from, group_by: group }, { isLive: true });
  return (
    <Section title={`Spend of the period against ${formatUsd(budget.cap_nano_usd)}`}>
      <Loaded known={known}>
        {({ data }) => {
          const costs = new Map(data.map((row) => [row[group], row.cost_nano_usd]));
          let spent = 0;
          const values = places.slice(0, begun).map((place) => {
            spent += costs.get(place) ?? 0;
            return spent;
          });
          return (
            <Chart
              label={`Spend so far: ${formatUsd(spent)} of ${formatUsd(budget.cap_nano_usd)}`}
              places={places}
              layers={[{ name: 'spent', values, total: spent }]}
              kind="lines"
              text={formatUsd}
              limit={budget.cap_nano_usd}
            />
          );
        }}
      </Loaded>
    </Section>
  );
}
