import type { Agent } from '../../agents/agent.ts';
import type { LoggedCall } from '../../agents/logs/logged-call.ts';
import { AGENTS } from '../../agents/table.ts';
import { type AgentCoverage, findBypass } from '../../insight/coverage/find-bypass.ts';
import {
  type CoverageReport,
  coverageReport,
  type SessionCoverage,
  sum,
} from '../../insight/coverage/report.ts';
import { formatUsd } from '../../money.ts';
import type { Reader } from '../../operations/registry.ts';
import { count, percent, plural } from '../../terminal/numbers.ts';
import { type Column, right, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { createTimeFormat, type TimeFormat, timeColumn } from '../../terminal/time.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { agentNamed } from '../connect/agents.ts';
import { type Context, homeOf, sayJson, screenOf, tell } from '../context.ts';
import { EXIT, Exit, usageError } from '../exit.ts';
import { parseSince } from '../input/values.ts';
import { withGateway } from '../with-gateway.ts';
import { agentArgument } from './connect.ts';

const READABLE = AGENTS.filter(({ log }) => log !== undefined);

export const coverage: SetUp = (command, context) =>
  command
    .addArgument(agentArgument('[agent]', 'only this agent', READABLE))
    .option('--since <time>', 'how far back: 15m, 7d, today, YYYY-MM-DD or an ISO time', '7d')
    .option(...AS_JSON)
    .addHelpText(
      'after',
      '\nReads the session logs of Claude Code, Codex, opencode and Kilo Code on this machine, and changes nothing.\nExits with code 1 if requests went around gw.',
    )
    .action(async (name, { since, json }) => {
      const agents = name === undefined ? READABLE : [readableAgent(name)];
      const bypassed = await withGateway(context, async (reader) => {
        const calendar = await reader.calendar();
        const now = context.clock.now();
        const from = parseSince(since, calendar, now);
        if (from > now) throw usageError(`--since ${since} is in the future`);
        const found = await compare(context, { agents, reader, from, now });
        const priceOf = await listPriceOf(found, reader, context.paths.prices);
        const report = coverageReport(found, { from, to: now, priceOf });
        if (json) sayJson(context, report);
        else {
          const terminal = screenOf(context);
          const times = createTimeFormat(calendar.timezone);
          tell(
            context,
            coverageText(report, { terminal, times, timezone: calendar.timezone, now: context.clock.now() }),
          );
        }
        return report.total.bypassed_requests;
      });
      if (bypassed > 0) throw new Exit(EXIT.failure);
    });

function readableAgent(name: string): Agent {
  const agent = agentNamed(name);
  if (agent.log) return agent;
  const names = READABLE.map((each) => each.name).join(', ');
  throw usageError(`gw can't read the logs of ${agent.title}. It reads those of ${names}`);
}

interface Span {
  agents: readonly Agent[];
  reader: Reader;
  from: number;
  now: number;
}

async function compare(context: Context, { agents, reader, from, now }: Span): Promise<AgentCoverage[]> {
  const places = { env: context.env, home: homeOf(context) };
  const found: AgentCoverage[] = [];
  for (const agent of agents) {
    const each = await findBypass(agent, reader, { ...places, since: from, now });
    if (each) found.push(each);
  }
  return found;
}

/** Loads the table of prices only if there is something to price. */
async function listPriceOf(found: readonly AgentCoverage[], reader: Reader, pricesFile: string) {
  if (found.every(({ bypassed }) => bypassed.size === 0)) return () => undefined;
  const { createListPrice } = await import('../../insight/list-price.ts');
  const priceOf = createListPrice(await reader.prices(), pricesFile);
  return (call: LoggedCall) => priceOf(call).nanoUsd;
}

interface Look {
  terminal: Terminal;
  times: TimeFormat;
  timezone: string;
  now: number;
}

const MAX_SESSIONS = 20;

/** The report for people: a row an agent, then the sessions that went around gw. */
function coverageText(report: CoverageReport, look: Look): string {
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
    right('sessions', ({ sessions }) => count(sessions)),
    right('requests', ({ requests }) => count(requests)),
    right('through gw', (row) => count(row.covered_requests)),
    right('covered', (row) => (row.requests === 0 ? '-' : percent(row.covered_requests / row.requests))),
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
    right('around gw', around),
    right('cost', costOf),
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

const titleOf = (name: string): string => AGENTS.find((agent) => agent.name === name)?.title ?? name;
