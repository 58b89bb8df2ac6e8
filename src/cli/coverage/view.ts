import { AGENTS } from '../../agents/table.ts';
import { type CoverageReport, type SessionCoverage, sum } from '../../insight/coverage/report.ts';
import { formatUsd } from '../../money.ts';
import { count, percent, plural } from '../../terminal/numbers.ts';
import { type Column, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { type TimeFormat, timeColumn } from '../../terminal/time.ts';

interface Look {
  terminal: Terminal;
  times: TimeFormat;
  timezone: string;
  now: number;
}

const MAX_SESSIONS = 20;

/** The report for people: a row an agent, then the sessions that went around gw. */
export function coverageText(report: CoverageReport, look: Look): string {
  const { terminal, times, timezone } = look;
  const { bold, dim, warn } = terminal.palette;
  const span = `${times.dateTime(Date.parse(report.from)).slice(0, 16)} to now (${timezone})`;
  const title = bold(`Coverage of agents' session logs, ${span}`);
  const remarks = remarksOf(report);
  if (report.data.length === 0) {
    const names = report.logs.map(({ agent }) => titleOf(agent)).join(', ');
    const nothing = `No requests in the logs of ${names}. To look further back: gw coverage --since 30d`;
    return [title, '', nothing, ...remarks.map(dim)].join('\n');
  }
  const bypassing = report.data.filter((row) => row.bypassed_requests > 0);
  return [
    title,
    '',
    ...agentTable(report, terminal),
    ...(bypassing.length > 0 ? ['', warn('Went around gw:'), ...sessionTable(bypassing, look)] : []),
    ...(remarks.length > 0 ? ['', ...remarks.map(dim)] : []),
  ].join('\n');
}

interface AgentRow extends ReturnType<typeof sum> {
  name: string;
  sessions: number;
}

function agentTable({ data, logs, total }: CoverageReport, terminal: Terminal): string[] {
  const rows = logs
    .map(({ agent }): AgentRow => {
      const own = data.filter((row) => row.agent === agent);
      return { name: agent, sessions: own.length, ...sum(own) };
    })
    .filter(({ sessions }) => sessions > 0);
  const { bad, bold } = terminal.palette;
  const columns: Column<AgentRow>[] = [
    { header: 'agent', value: ({ name }) => name },
    { header: 'sessions', value: ({ sessions }) => count(sessions), align: 'right' },
    { header: 'requests', value: ({ requests }) => count(requests), align: 'right' },
    { header: 'through gw', value: (row) => count(row.covered_requests), align: 'right' },
    {
      header: 'covered',
      value: (row) => (row.requests === 0 ? '-' : percent(row.covered_requests / row.requests)),
      align: 'right',
    },
    {
      header: 'around gw',
      value: (row) => count(row.bypassed_requests),
      align: 'right',
      style: (text, row) => (row.bypassed_requests > 0 ? bad(text) : text),
    },
    { header: 'cost around gw', value: costOf, align: 'right', style: (text) => bold(text) },
  ];
  return table(rows, columns, {
    terminal,
    ...(rows.length > 1 ? { total: { name: 'total', ...total } } : {}),
  });
}

function sessionTable(rows: readonly SessionCoverage[], { terminal, times, now }: Look): string[] {
  const shown = rows.slice(0, MAX_SESSIONS);
  const lastAt = (row: SessionCoverage) => Date.parse(row.last_at);
  const time = timeColumn(shown.map(lastAt), times, now);
  const columns: Column<SessionCoverage>[] = [
    { header: 'last', value: (row) => time(lastAt(row)) },
    { header: 'agent', value: ({ agent }) => agent },
    { header: 'session', value: (row) => row.session_id || '-', shrinks: true },
    { header: 'folder', value: ({ cwd }) => cwd ?? '-', shrinks: true },
    { header: 'models', value: ({ models }) => models.join(' '), shrinks: true },
    { header: 'around gw', value: around, align: 'right' },
    { header: 'cost', value: costOf, align: 'right' },
  ];
  const more = rows.length - shown.length;
  return [
    ...table(shown, columns, { terminal }),
    ...(more > 0 ? [`and ${plural(more, 'session')} more: gw coverage --json`] : []),
  ];
}

function around({ bypassed_requests: bypassed, requests }: SessionCoverage): string {
  return bypassed === requests ? count(bypassed) : `${count(bypassed)} of ${count(requests)}`;
}

/** `+?` after an amount stands for requests without a known price. */
function costOf({
  bypassed_nano_usd: cost,
  unpriced_requests: unpriced,
}: Pick<SessionCoverage, 'bypassed_nano_usd' | 'unpriced_requests'>): string {
  if (unpriced === 0) return formatUsd(cost);
  return cost === 0 ? 'unpriced' : `${formatUsd(cost)}+?`;
}

function remarksOf({ data, logs, total }: CoverageReport): string[] {
  const agents = logs.filter(({ agent }) =>
    data.some((row) => row.agent === agent && row.bypassed_requests > 0),
  );
  const damaged = logs.filter((log) => log.damaged_lines > 0);
  const unread = logs.flatMap((log) => log.unread_files);
  return [
    ...agents.map(
      ({ agent }) => `to send ${titleOf(agent)} through gw: gw connect ${agent}, or gw run -- ${agent}`,
    ),
    ...(total.unpriced_requests > 0
      ? [
          `${plural(total.unpriced_requests, 'request')} of unknown price: gw prices set MODEL --input X --output Y`,
        ]
      : []),
    ...damaged.map(
      (log) => `${plural(log.damaged_lines, 'damaged line')} in the logs of ${titleOf(log.agent)}, left out`,
    ),
    ...(unread.length > 0 ? [`${plural(unread.length, 'log')} can't be read, such as ${unread[0]}`] : []),
  ];
}

function titleOf(name: string): string {
  return AGENTS.find((agent) => agent.name === name)?.title ?? name;
}
