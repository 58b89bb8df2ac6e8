import type { Agent } from '../../agents/agent.ts';
import type { LoggedCall } from '../../agents/logs/logged-call.ts';
import { AGENTS } from '../../agents/table.ts';
import { type AgentCoverage, findBypass } from '../../insight/coverage/find-bypass.ts';
import { coverageReport } from '../../insight/coverage/report.ts';
import type { Reader } from '../../reading/reader.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import type { SetUp } from '../command.ts';
import { agentNamed } from '../connect/agents.ts';
import { type Context, homeOf, sayJson, tell } from '../context.ts';
import { coverageText } from '../coverage/view.ts';
import { EXIT, Exit, usageError } from '../exit.ts';
import { parseSince } from '../input/dates.ts';
import { withReader } from '../with-gateway.ts';
import { agentArgument } from './connect.ts';

interface Options {
  since: string;
  json?: boolean;
}

const READABLE = AGENTS.filter(({ log }) => log !== undefined);

export const coverage: SetUp = (command, context) => {
  command
    .addArgument(agentArgument('[agent]', 'only this agent', READABLE))
    .option('--since <time>', 'how far back: 15m, 7d, today, YYYY-MM-DD or an ISO time', '7d')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nReads the session logs of Claude Code, Codex, opencode and Kilo Code on this machine, and changes nothing.\nExits with code 1 if requests went around gw.',
    )
    .action((name: string | undefined, options: Options) => run(context, name, options));
};

async function run(context: Context, name: string | undefined, { since, json }: Options): Promise<void> {
  const agents = name === undefined ? READABLE : [readableAgent(name)];
  const bypassed = await withReader(context, async (reader) => {
    const calendar = await reader.calendar();
    const now = context.clock.now();
    const from = parseSince(since, calendar, now);
    if (from > now) throw usageError(`--since ${since} is in the future`);
    const found = await compare(context, { agents, reader, from, now });
    const priceOf = await listPriceOf(found, reader, context.paths.prices);
    const report = coverageReport(found, { from, to: now, priceOf });
    if (json) sayJson(context, report);
    else {
      const terminal = terminalOf(context.stdout, context.env);
      const times = createTimeFormat(calendar.timezone);
      tell(
        context,
        coverageText(report, { terminal, times, timezone: calendar.timezone, now: context.clock.now() }),
      );
    }
    return report.total.bypassed_requests;
  });
  if (bypassed > 0) throw new Exit(EXIT.failure);
}

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
