import { sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Agent } from '../../agents/agent.ts';
import { requestIdAt } from '../../ids.ts';
import type { Labels } from '../../labels.ts';
import { formatUsd } from '../../money.ts';
import { findProject } from '../../store/accounts/projects.ts';
import { endRun, openRun, type RunCap, type RunUsage, readRunUsage } from '../../store/budgets/runs.ts';
import { count, percent, plural } from '../../terminal/numbers.ts';
import { readAmount, readPercent, readRate, readShare } from '../budgets/read.ts';
import { type Context, homeOf, note } from '../context.ts';
import { usageError } from '../exit.ts';
import { withGateway } from '../with-gateway.ts';
import { withStore } from '../with-store.ts';

export function readCaps(options: { budget?: string; alert?: string; maxRate?: string }): RunCap[] {
  const { budget, alert, maxRate } = options;
  if (alert !== undefined && budget === undefined && maxRate === undefined)
    throw usageError(`--alert needs a cap: gw run --budget 5 --alert ${alert} -- ...`);
  const percentage = alert === undefined ? {} : { alertPercent: readPercent(alert) };
  return [
    ...(budget === undefined ? [] : [{ capNanoUsd: readAmount(budget), ...percentage }]),
    ...(maxRate === undefined ? [] : [{ ...readRate(maxRate), ...percentage }]),
  ];
}

/** The share of each of a subscription's windows, in millionths. */
export function readWindowShare(text: string | undefined, subscription: boolean): number | undefined {
  if (text === undefined) return undefined;
  if (subscription) return readShare(text, '--window-share');
  throw usageError(
    `--window-share ${text} is for a subscription: gw run --subscription --window-share ${text} -- AGENT`,
  );
}

/** A run with a key of its own, for its budgets and labels. */
interface CappedRun {
  key: string;
  /** Ends the run and prints its usage. `bypassed`: number of requests that are known to have bypassed gw. */
  end(bypassed: number): Promise<void>;
}

interface OwnRun {
  id: string;
  project: string;
  caps: readonly RunCap[];
  labels: Labels | undefined;
  windowSharePpm: number | undefined;
  lockPath: string;
}

export async function startCappedRun(
  context: Context,
  { id, project, caps, ...options }: OwnRun,
): Promise<CappedRun> {
  const since = context.clock.now();
  const { key, keyId } = await withStore(context, (db) =>
    openRun(db, { id, projectId: findProject(db, project), caps, ...options, now: since }),
  );
  return {
    key,
    async end(bypassed) {
      const usage = await usageAtEnd(context, { keyId, since: requestIdAt(since) });
      await withStore(context, async (db) => endRun(db, id, context.clock.now()));
      note(context, summary(usage, `${project}/run@${id}`, { caps, bypassed }));
    },
  };
}

/** How long requests that the program has left behind may take to be booked. */
const SETTLE_LIMIT_MS = 3_000;
const POLL_MS = 40;

async function usageAtEnd(context: Context, run: { keyId: number; since: number }): Promise<RunUsage> {
  const deadline = context.clock.monotonic() + SETTLE_LIMIT_MS;
  return withStore(context, async (db) => {
    for (;;) {
      const usage = readRunUsage(db, run);
      if (usage.running === 0 || context.clock.monotonic() > deadline) return usage;
      await sleep(POLL_MS);
    }
  });
}

function summary(
  usage: RunUsage,
  name: string,
  { caps, bypassed }: { caps: readonly RunCap[]; bypassed: number },
): string {
  const { requests, refused, inputTokens, cachedInputTokens, outputTokens, costNanoUsd, running } = usage;
  const cap = caps.find(({ windowMs }) => windowMs === undefined);
  const cached = inputTokens === 0 ? '' : ` (${percent(cachedInputTokens / inputTokens)} cached)`;
  return [
    `${name}: ${formatUsd(costNanoUsd)} spent${cap ? ` of ${formatUsd(cap.capNanoUsd)}` : ''}`,
    plural(requests, 'request'),
    `${count(inputTokens)} tokens in${cached}`,
    `${count(outputTokens)} out`,
    `${refused} refused`,
    ...(running > 0 ? [`${running} still running`] : []),
    ...(bypassed > 0 ? [bypassedText(bypassed)] : []),
  ].join(', ');
}

const LIMIT_MS = 1_000;

/**
 * How many requests an agent's log has that did not come through gw, since a time and from this folder or below. 0 where
 * that can't be told.
 */
export async function bypassedSince(context: Context, agent: Agent, since: number): Promise<number> {
  if (!agent.log) return 0;
  const { clock, env } = context;
  const deadline = clock.monotonic() + LIMIT_MS;
  const folder = process.cwd();
  try {
    const { findBypass } = await import('../../insight/coverage/find-bypass.ts');
    const found = await withGateway(context, (reader) =>
      findBypass(agent, reader, {
        env,
        home: homeOf(context),
        since,
        now: clock.now(),
        isOver: () => clock.monotonic() > deadline,
        // Others may work elsewhere at the same time.
        concerns: ({ cwd }) => cwd === folder || cwd.startsWith(folder + sep),
      }),
    );
    return found?.bypassed.size ?? 0;
  } catch {
    // The program has run: its exit code is what counts.
    return 0;
  }
}

/** The bypass as a part of a run's summary. */
export function bypassedText(bypassed: number): string {
  return `${plural(bypassed, 'request')} did not come through gw`;
}
