import { formatUsd } from '../../money.ts';
import type { UsageView, UsageViewRow } from '../../operations/schemas/usage.ts';
import { count, percent, plural, tokens } from '../../terminal/numbers.ts';
import { shortRepo } from '../../terminal/request-words.ts';
import { Chart } from '../parts/chart.tsx';
import { csvOf, saveFile } from '../parts/csv.ts';
import { Empty, Figures, Loaded, Section } from '../parts/layout.tsx';
import { layersOf } from '../parts/stack.ts';
import { type Column, Table } from '../parts/table.tsx';
import { type Address, change } from '../state/address.ts';
import { useGateway } from '../state/gateway.ts';
import { conditionOf, fieldOf, type Grouping } from '../state/groupings.ts';
import { curveOf, groupsOf, reportOf } from '../state/questions.ts';
import { useReading } from '../state/use-reading.ts';
import { Range } from './spend-range.tsx';

/** The days between two, both included; a report has at most a few years. */
function daysOf(from: string, to: string): string[] {
  const days: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to) && days.length < 4_000; at += 86_400_000)
    days.push(new Date(at).toISOString().slice(0, 10));
  return days;
}

export function Spend({ address }: { address: Address }) {
  const { by, and, series } = groupsOf(address);
  const curve = useReading(...curveOf(address));
  const report = useReading(...reportOf(address));
  return (
    <>
      <Range address={address} by={by} and={and} />
      <Loaded known={report}>{({ total }) => <Totals total={total} />}</Loaded>
      <Loaded known={curve}>{(usage) => <Curve usage={usage} series={series} />}</Loaded>
      <Loaded known={report}>
        {(usage) => (
          <Rows
            usage={usage}
            groupings={usage.group_by.split(',') as Grouping[]}
            isWhole={address.parameters.show === 'all'}
          />
        )}
      </Loaded>
    </>
  );
}

function Totals({ total }: Pick<UsageView, 'total'>) {
  const { input_tokens: input, cached_input_tokens: cached } = total;
  return (
    <Figures
      figures={[
        {
          label: 'spent',
          value: formatUsd(total.cost_nano_usd),
          note:
            total.unpriced_requests > 0
              ? `${plural(total.unpriced_requests, 'request')} unpriced`
              : undefined,
        },
        { label: 'saved', value: formatUsd(total.saved_nano_usd) },
        { label: 'requests', value: count(total.requests) },
        {
          label: 'input',
          value: tokens(input),
          note: input > 0 ? `${percent(cached / input)} from cache` : undefined,
        },
        { label: 'output', value: tokens(total.output_tokens) },
        { label: 'cache misses', value: formatUsd(total.missed_nano_usd), note: 'extra' },
      ]}
    />
  );
}

function Curve({ usage, series }: { usage: UsageView; series: Grouping }) {
  const days = daysOf(usage.from, usage.to);
  const field = fieldOf(series);
  const cells = usage.data.map((row) => ({
    at: row.day ?? '',
    name: nameOf(series, row[field]),
    value: row.cost_nano_usd,
  }));
  const layers = layersOf(cells, days);
  if (layers.length === 0) return null;
  const kind = days.length > 2 ? 'areas' : 'bars';
  return (
    <Section title={`Spend by day and ${series}`}>
      <Chart
        label={`Spend by day and ${series}`}
        places={days}
        layers={layers}
        kind={kind}
        text={formatUsd}
      />
    </Section>
  );
}

const nameOf = (grouping: Grouping, value: string | undefined) =>
  (grouping === 'repo' ? shortRepo(value ?? '') : value) || 'unknown';

interface RowsProps {
  usage: UsageView;
  groupings: readonly Grouping[];
  /** Otherwise only the first, as thousands take a browser seconds. */
  isWhole: boolean;
}

const FIRST_ROWS = 500;

function Rows({ usage, groupings, isWhole }: RowsProps) {
  const { today } = useGateway();
  if (usage.data.length === 0)
    return (
      <Empty command={'eval "$(gw env)"'}>
        Nothing was spent in these days. To send a program's requests through gw:
      </Empty>
    );
  const keyOf = (row: UsageViewRow) => groupings.map((each) => row[fieldOf(each)]).join(' ');
  const columns: Column<UsageViewRow>[] = [
    ...groupings.map(
      (grouping, i): Column<UsageViewRow> => ({
        head: grouping,
        cell: (row) => (row === total ? i === 0 ? 'total' : '' : <Name grouping={grouping} row={row} />),
      }),
    ),
    { head: 'requests', cell: (row) => count(row.requests), isNumber: true },
    { head: 'failed', cell: (row) => count(row.failed_requests), isNumber: true, isExtra: true },
    { head: 'blocked', cell: (row) => count(row.blocked_requests), isNumber: true, isExtra: true },
    { head: 'input', cell: (row) => tokens(row.input_tokens), isNumber: true, isExtra: true },
    { head: 'cached', cell: (row) => tokens(row.cached_input_tokens), isNumber: true, isExtra: true },
    { head: 'output', cell: (row) => tokens(row.output_tokens), isNumber: true, isExtra: true },
    { head: 'saved', cell: (row) => formatUsd(row.saved_nano_usd), isNumber: true, isExtra: true },
    { head: 'cost', cell: (row) => formatUsd(row.cost_nano_usd), isNumber: true },
  ];
  const total: UsageViewRow = usage.total;
  const rows = isWhole ? usage.data : usage.data.slice(0, FIRST_ROWS);
  const save = () => saveFile(`gw-usage-${usage.from}-${usage.to}-${today}.csv`, csvOf(usage.data));
  return (
    <Section
      title={`By ${groupings.join(' and ')}`}
      aside={
        <button type="button" onClick={save}>
          Save as CSV
        </button>
      }
    >
      <Table caption="Spend" columns={columns} rows={rows} keyOf={keyOf} total={total} />
      {rows.length < usage.data.length ? (
        <button type="button" onClick={() => change({ show: 'all' })}>
          Show {count(usage.data.length)}
        </button>
      ) : null}
    </Section>
  );
}

/** A name that filters by itself when it is clicked. */
function Name({ grouping, row }: { grouping: Grouping; row: UsageViewRow }) {
  const value = row[fieldOf(grouping)];
  const name = nameOf(grouping, value);
  const condition = value ? conditionOf(grouping, value) : undefined;
  if (condition === undefined) return <>{name}</>;
  return (
    <button type="button" className="link" title={`Only ${value}`} onClick={() => change(condition)}>
      {name}
    </button>
  );
}
