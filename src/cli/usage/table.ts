import { formatUsd } from '../../money.ts';
import type { UsageView } from '../../reading/schemas.ts';
import { type GroupBy, groupingsOf, type UsageSource } from '../../store/reports/query.ts';
import { bar } from '../../terminal/bars.ts';
import { fitPoints, peakOf, sparkline } from '../../terminal/chart.ts';
import { count, plural, tokens } from '../../terminal/numbers.ts';
import { stackedBar } from '../../terminal/stacked-bar.ts';
import { type Column, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { type Figures, rowsOf, type UsageRow } from './rows.ts';

const BAR_CELLS = 24;
const TREND_CELLS = 31;

/** Data of the charts next to the figures. */
export interface UsageCharts {
  /** The rows that make up the total. */
  parts?: readonly UsageRow[];
  /** Daily costs, by row key. */
  trends?: ReadonlyMap<string, readonly number[]> | undefined;
  /** Default: what came through gw. */
  source?: UsageSource | undefined;
  /** Whose usage it is, where it is no project's. */
  whose?: string;
}

/** The first word of the title, and what to do where there is nothing. */
const SOURCES: Record<UsageSource, { what: string; nothing: readonly string[] }> = {
  gw: {
    what: 'Usage',
    nothing: ['No requests yet. To point a client at gw:', '  gw start', '  eval "$(gw env)"'],
  },
  imported: {
    what: 'Imported usage',
    nothing: ['No imported requests. To read the session logs of coding agents: gw import'],
  },
  all: {
    what: 'Usage with imports',
    nothing: ['No requests. To point a client at gw: gw env. To read the logs of coding agents: gw import'],
  },
};

const NOTHING_OF_TEAM = ['Nothing yet. Gateways of the team send their figures each minute.'];

/** The usage report: a bar of the parts of the total, a table with charts, and remarks on the totals. */
export function usageTable(
  report: UsageView,
  terminal: Terminal,
  { parts = [], trends, source = 'gw', whose }: UsageCharts = {},
): string {
  const { bold, dim } = terminal.palette;
  const { total, project_id: project, group_by: groupBy, from, to, timezone } = report;
  const rows = rowsOf(report);
  const owner = whose ?? (project === null ? 'all projects' : `project ${project}`);
  const title = bold(
    `${SOURCES[source].what} by ${groupingsOf(groupBy).join(' and ')}, ${from} to ${to} (${timezone}), ${owner}`,
  );
  if (rows.length === 0) {
    return [title, '', ...(whose ? NOTHING_OF_TEAM : SOURCES[source].nothing)].join('\n');
  }
  const sum: UsageRow = { key: 'total', ...total };
  const chart = trends ? trendColumn(trends, sum, terminal) : barColumn(rows, sum, terminal);
  const columns = columnsFor(groupBy, terminal, { chart, hasMisses: total.missed_tokens > 0 });
  const lines = table(rows, columns, { terminal, total: sum });
  const partsBar = stackedBar(partsOf(parts), terminal);
  return [
    title,
    '',
    ...partsBar,
    ...(partsBar.length > 0 ? [''] : []),
    ...lines,
    ...(whose ? [] : remarks(total).map(dim)),
  ].join('\n');
}

function columnsFor(
  groupBy: GroupBy,
  { palette }: Terminal,
  { chart, hasMisses }: { chart: Column<UsageRow>; hasMisses: boolean },
): Column<UsageRow>[] {
  const [first = '', second] = groupingsOf(groupBy);
  return [
    { header: first, value: (row) => row.key || '-', shrinks: true },
    ...(second === undefined
      ? []
      : [{ header: second, value: (row: UsageRow) => row.subkey ?? '', shrinks: true }]),
    { header: 'requests', value: (row) => count(row.requests), align: 'right' },
    { header: 'input', value: (row) => tokens(row.input_tokens), align: 'right' },
    { header: 'cached', value: (row) => tokens(row.cached_input_tokens), align: 'right' },
    ...(hasMisses ? [{ header: 'missed', value: missedOf, align: 'right' as const }] : []),
    { header: 'output', value: (row) => tokens(row.output_tokens), align: 'right' },
    { header: 'cost', value: costOf, align: 'right', style: (text) => palette.bold(text) },
    chart,
  ];
}

function barColumn(rows: UsageRow[], sum: UsageRow, { palette, symbols }: Terminal): Column<UsageRow> {
  const share = shareOf(rows);
  return {
    header: '',
    value: (row, width) => (row === sum ? '' : bar(share(row), width, symbols)),
    fills: BAR_CELLS,
    style: (text) => palette.accent(text),
  };
}

/** The daily costs of each row. Each has its own scale, so that small costs show a trend too. */
function trendColumn(
  trends: ReadonlyMap<string, readonly number[]>,
  sum: UsageRow,
  { palette, symbols }: Terminal,
): Column<UsageRow> {
  return {
    header: 'days',
    value(row, width) {
      const points = row === sum ? undefined : trends.get(row.key);
      return points && peakOf(points) > 0 ? sparkline(fitPoints(points, width), symbols) : '';
    },
    fills: TREND_CELLS,
    style: (text) => palette.accent(text),
  };
}

/** Shares of the cost, or of the requests if the total cost is zero. */
function partsOf(rows: readonly UsageRow[]): { name: string; value: number }[] {
  const costs = rows.some((row) => row.cost_nano_usd > 0);
  return rows.map((row) => ({ name: row.key || '-', value: costs ? row.cost_nano_usd : row.requests }));
}

/** The length of a row's bar: its cost, or its requests if the total cost is zero. */
function shareOf(rows: UsageRow[]): (row: UsageRow) => number {
  const most = Math.max(...rows.map((row) => row.cost_nano_usd));
  if (most > 0) return (row) => row.cost_nano_usd / most;
  const mostRequests = Math.max(...rows.map((row) => row.requests));
  return (row) => row.requests / mostRequests;
}

/** What cache misses cost. */
const missedOf = ({ missed_tokens: missed, missed_nano_usd: cost }: Figures): string =>
  missed === 0 ? '-' : formatUsd(cost);

/** An unknown price is not $0: `+?` after an amount stands for requests without a price. */
function costOf({ cost_nano_usd: cost, unpriced_requests: unpriced }: Figures): string {
  if (unpriced === 0) return formatUsd(cost);
  return cost === 0 ? 'unpriced' : `${formatUsd(cost)}+?`;
}

function remarks(total: Figures): string[] {
  const lines: string[] = [];
  if (total.saved_tokens > 0) {
    lines.push(`saved ${formatUsd(total.saved_nano_usd)} and ${plural(total.saved_tokens, 'token')}`);
  }
  if (total.missed_tokens > 0) {
    lines.push(`${plural(total.missed_tokens, 'token')} missed in the providers' caches: gw cache`);
  }
  if (total.blocked_requests > 0) {
    lines.push(`${plural(total.blocked_requests, 'request')} blocked: gw requests --status blocked`);
  }
  if (total.failed_requests > 0) {
    lines.push(`${plural(total.failed_requests, 'request')} failed: gw requests --status failed`);
  }
  if (total.unpriced_requests > 0) {
    lines.push(
      `${plural(total.unpriced_requests, 'request')} unpriced, not in the totals: gw prices set MODEL --input X --output Y`,
    );
  }
  return lines.length > 0 ? ['', ...lines] : [];
}
