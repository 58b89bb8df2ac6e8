import { NO_USAGE } from '../../../src/usage.ts';
import { cliHome } from '../../cli/cli-home.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

const HOUR = 3_600_000;
/** A Thursday afternoon. */
export const WEEK_END = Date.UTC(2026, 10, 26, 16, 40);

const MODELS = [
  { provider: 'anthropic', model: 'claude-sonnet-4-5', input: 3_000, cached: 300, output: 15_000 },
  { provider: 'anthropic', model: 'claude-opus-4-5', input: 5_000, cached: 500, output: 25_000 },
  { provider: 'openai', model: 'gpt-5-mini', input: 250, cached: 25, output: 2_000 },
  { provider: 'openai', model: 'gpt-5', input: 1_250, cached: 125, output: 10_000 },
] as const;

const PROGRAMS = [
  { agent: 'claude', agentVersion: '2.1.329', process: 'claude', repo: '/home/ada/shop' },
  { agent: 'claude', agentVersion: '2.1.329', process: 'claude', repo: '/home/ada/billing' },
  { agent: 'codex', agentVersion: '0.98.0', process: 'codex', repo: '/home/ada/shop' },
  { agent: '', agentVersion: '', process: 'python ingest.py', repo: '/home/ada/ingest' },
] as const;

/** Request `i` of a working day: sessions of an hour, whose prompts grow and are mostly cached. */
function requestOf(i: number, timeMs: number) {
  const program = PROGRAMS[Math.floor(i / 9) % PROGRAMS.length] ?? PROGRAMS[0];
  const at = (Math.floor(i / 9) * 3 + (i % 5 === 0 ? 1 : 0)) % MODELS.length;
  const { provider, model, input, cached, output } = MODELS[at] ?? MODELS[0];
  const inputTokens = 18_000 + (i % 9) * 9_000 + ((i * 7_919) % 6_000);
  const isMiss = i % 31 === 4;
  const cachedInputTokens = i % 9 === 0 || isMiss ? 0 : inputTokens - 9_000 - ((i * 131) % 4_000);
  const outputTokens = 250 + ((i * 613) % 2_400);
  const isFailed = i % 47 === 11;
  const session = program.agent === '' ? {} : { session: `${program.agent}-${1_000 + Math.floor(i / 9)}` };
  const { agent, agentVersion, process, repo } = program;
  return {
    ...{ timeMs, provider, model, askedModel: model, agent, agentVersion, ...session },
    origin: { process, repo },
    ...(isFailed ? { status: 529, outcome: 'upstream_error' as const, detail: { error: 'overloaded' } } : {}),
    usage: isFailed ? NO_USAGE : { ...NO_USAGE, inputTokens, cachedInputTokens, outputTokens },
    costNanoUsd: isFailed
      ? 0
      : (inputTokens - cachedInputTokens) * input + cachedInputTokens * cached + outputTokens * output,
    ...{ durationMs: 1_800 + ((i * 977) % 14_000), firstByteMs: 420 + ((i * 37) % 700) },
    timings: { body: 0.6, compressed: 2.1, held: 2.9, sent: 3.6 },
    ...(isMiss
      ? {
          missed: {
            tokens: inputTokens - 9_000,
            nanoUsd: (inputTokens - 9_000) * (input - cached),
            cause: 'tools_changed' as const,
          },
        }
      : {}),
  };
}

/** How busy the hours of a day are. */
const BUSY = [0, 0, 0, 0, 0, 0, 0, 1, 4, 9, 11, 8, 3, 7, 10, 12, 9, 6, 2, 0, 1, 0, 0, 0];

/** The requests of a week that ends now, oldest first. */
export function requestsOfWeek(now = WEEK_END) {
  const from = now - (now % (24 * HOUR)) - 6 * 24 * HOUR;
  const requests = [];
  for (let at = from; at < now; at += HOUR) {
    const isFree = [0, 6].includes(new Date(at).getUTCDay());
    const count = (BUSY[new Date(at).getUTCHours()] ?? 0) * (isFree ? 0.3 : 3);
    for (let i = 0; i < count; i++) {
      const timeMs = at + Math.floor((i * HOUR) / Math.max(1, count));
      if (timeMs < now) requests.push(requestOf(requests.length, timeMs));
    }
  }
  return requests;
}

/** A daemon with a week of three agents' work behind it, and three budgets. */
export async function startWeek(): Promise<{ gateway: TestGateway; clock: VirtualClock }> {
  const clock = createVirtualClock(WEEK_END);
  const cli = cliHome({ timezone: 'UTC' });
  const gateway = await startGateway({ clock, alone: true, home: cli.paths.home });
  await cli.record(...requestsOfWeek());
  // The archive takes ended requests over.
  await clock.advance(5_000);
  await gateway.setBudget({ period: 'monthly', capUsd: 140, alertPercent: 50 });
  await gateway.setBudget({ period: 'daily', capUsd: 1, scope: { kind: 'agent', value: 'codex' } });
  await gateway.setBudget({ period: 'daily', capUsd: 25 });
  return { gateway, clock };
}
