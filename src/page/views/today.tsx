import { formatUsd } from '../../money.ts';
import type { BudgetView } from '../../operations/schemas/budgets.ts';
import type { DashboardView } from '../../operations/schemas/dashboard.ts';
import { mark, shareOf } from '../../terminal/budget-words.ts';
import { count, plural, usdText } from '../../terminal/numbers.ts';
import { healthText, isTroubled, modelName, originText } from '../../terminal/request-words.ts';
import { tookText } from '../../terminal/time.ts';
import { Chart } from '../parts/chart.tsx';
import { Choice } from '../parts/choice.tsx';
import { Forecast, Spent } from '../parts/gauge.tsx';
import { Empty, type Figure, Figures, Loaded, Section } from '../parts/layout.tsx';
import { type Address, hrefOf } from '../state/address.ts';
import { useGateway } from '../state/gateway.ts';
import { BYS, byOf, dayOf } from '../state/questions.ts';
import { useReading } from '../state/use-reading.ts';
import { Asks, Runaways } from './asks.tsx';
import { Limits } from './limits.tsx';
import { RequestTable } from './request-table.tsx';
import { Running } from './running.tsx';

const HOUR_MS = 3_600_000;
const MOST_URGENT = 6;

export function Today({ address }: { address: Address }) {
  const known = useReading(...dayOf(address));
  return (
    <Loaded known={known}>
      {({ data }) => (data === null ? null : <Day data={data} address={address} />)}
    </Loaded>
  );
}

function Day({ data, address }: { data: DashboardView; address: Address }) {
  const { providers } = data;
  const budgets = data.budgets.toSorted((a, b) => urgency(b) - urgency(a)).slice(0, MOST_URGENT);
  const requests = data.requests.map((row) => ({
    ...{
      id: row.id,
      timeMs: row.time_ms,
      project: row.project,
      model: modelName({ ...row, askedModel: row.asked_model }),
    },
    ...{ status: row.status, outcome: row.outcome, flags: row.flags, error: row.error },
    ...{ inputTokens: row.input_tokens, outputTokens: row.output_tokens },
    ...{ costNanoUsd: row.cost_nano_usd, durationMs: row.duration_ms },
  }));
  return (
    <>
      <Figures figures={figuresOf(data)} />
      <Asks asks={data.asks} />
      <Runaways runaways={data.runaways} />
      <Running running={data.running} waiting={data.waiting} />
      <Hours data={data} by={byOf(address)} />
      <div className="columns">
        <Section title="Budgets" aside={<a href={hrefOf('budgets')}>All budgets</a>}>
          {budgets.length === 0 ? (
            <Empty command="gw budget set 20 --period daily">No budget yet: nothing stops spending.</Empty>
          ) : (
            <ul className="budgets">
              {budgets.map((budget) => (
                <li key={budget.id}>
                  <a href={hrefOf('budgets', {}, budget.id)}>{budget.id}</a>
                  <Forecast budget={budget} />
                  <Spent budget={budget}>
                    {budget.held_usd > 0 ? `, ${usdText(budget.held_usd)} held by running requests` : ''}
                  </Spent>
                </li>
              ))}
            </ul>
          )}
        </Section>
        <Section title="Spenders">
          {data.callers.length === 0 ? (
            <Empty>No program has spent anything today.</Empty>
          ) : (
            <ul className="ranks">
              {data.callers.slice(0, 6).map((caller) => (
                <li key={`${caller.process} ${caller.repo}`}>
                  <span>{originText(caller)}</span>
                  <b>{formatUsd(caller.cost_nano_usd)}</b>
                </li>
              ))}
            </ul>
          )}
        </Section>
        <Providers providers={providers} />
        <Limits />
      </div>
      <Section title="Latest requests" aside={<a href={hrefOf('requests')}>All requests</a>}>
        {requests.length === 0 ? (
          <Empty command={'eval "$(gw env)"'}>
            No requests today. To send a program's through gw, in its shell:
          </Empty>
        ) : (
          <RequestTable caption="Latest requests" rows={requests} />
        )}
      </Section>
    </>
  );
}

/** Full budgets first, then those past their alert. */
const urgency = (budget: BudgetView) => ' !X'.indexOf(mark(budget)) + Math.min(shareOf(budget), 0.99);

function figuresOf({ totals, p95_ms: p95, budgets }: DashboardView): Figure[] {
  const held = budgets.reduce((sum, { held_nano_usd }) => Math.max(sum, held_nano_usd), 0);
  return [
    {
      label: 'spent today',
      value: formatUsd(totals.cost_nano_usd),
      note:
        totals.unpriced_requests > 0 ? `${plural(totals.unpriced_requests, 'request')} unpriced` : undefined,
    },
    { label: 'saved', value: formatUsd(totals.saved_nano_usd) },
    { label: 'held', value: formatUsd(held), note: 'by running requests' },
    {
      label: 'requests',
      value: count(totals.requests),
      note: p95 === null ? undefined : `95% within ${tookText(p95)}`,
    },
    {
      label: 'failed',
      value: count(totals.failed_requests),
      mark: totals.failed_requests > 0 ? 'warn' : undefined,
    },
    {
      label: 'blocked',
      value: count(totals.blocked_requests),
      mark: totals.blocked_requests > 0 ? 'bad' : undefined,
    },
  ];
}

function Hours({ data: { parts, series, span }, by }: { data: DashboardView; by: (typeof BYS)[number] }) {
  const { times } = useGateway();
  const layers = parts.map(({ name, series: costs }) => {
    const values = costs.map((cost) => cost ?? 0);
    return {
      name: name === null ? 'others' : name || 'unknown',
      values,
      total: values.reduce((sum, cost) => sum + cost, 0),
    };
  });
  return (
    <Section title="Spend by hour" aside={<Choice name="by" choices={BYS} value={by} />}>
      {layers.length === 0 ? (
        <Empty>Nothing spent today.</Empty>
      ) : (
        <Chart
          label={`Spend by hour and ${by}`}
          places={series.map((_, hour) => times.time(span.start + hour * HOUR_MS).slice(0, 5))}
          layers={layers}
          kind="bars"
          text={formatUsd}
        />
      )}
    </Section>
  );
}

function Providers({ providers }: Pick<DashboardView, 'providers'>) {
  const { times, now } = useGateway();
  const healths = providers.map((provider) => ({
    provider: provider.provider,
    attempts: provider.attempts,
    failedAttempts: provider.failed_attempts,
    lastSuccessAt: provider.last_success_at,
    lastFailureAt: provider.last_failure_at,
    lastFailureStatus: provider.last_failure_status,
    lastFailure: provider.last_failure,
    firstByteMs: provider.first_byte_ms,
    failovers: provider.failovers,
    blocks: provider.blocks,
  }));
  return (
    <Section title="Providers">
      {healths.length === 0 ? (
        <Empty command="gw providers">No calls in the last hour.</Empty>
      ) : (
        <ul className="providers">
          {healths.map((health) => (
            <li key={health.provider}>
              <b className={isTroubled(health) ? 'warn' : undefined}>{health.provider}</b>
              <small>{healthText(health, times, now)}</small>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
