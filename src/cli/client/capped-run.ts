import { setTimeout as sleep } from 'node:timers/promises';
import { requestIdAt } from '../../ids.ts';
import { formatUsd } from '../../money.ts';
import { findProject } from '../../store/accounts/projects.ts';
import { endRun, openRun, type RunCap, type RunUsage, readRunUsage } from '../../store/budgets/runs.ts';
import { count, percent, plural } from '../../terminal/numbers.ts';
import { readAmount, readPercent, readRate } from '../budgets/read.ts';
import { type Context, note } from '../context.ts';
import { bypassedText } from '../coverage/run-bypass.ts';
import { usageError } from '../exit.ts';
import { withStore } from '../with-store.ts';

export interface CapOptions {
  budget?: string;
  alert?: string;
  maxRate?: string;
}

/** The caps of a run by its options. */
export function readCaps({ budget, alert, maxRate }: CapOptions): RunCap[] {
  if (alert !== undefined && budget === undefined && maxRate === undefined) {
    throw usageError(`--alert needs a cap: gw run --budget 5 --alert ${alert} -- ...`);
  }
  const percentage = alert === undefined ? {} : { alertPercent: readPercent(alert) };
  return [
    ...(budget === undefined ? [] : [{ capNanoUsd: readAmount(budget), ...percentage }]),
    ...(maxRate === undefined ? [] : [{ ...readRate(maxRate), ...percentage }]),
  ];
}

/** A run with a key and budgets of its own. */
export interface CappedRun {
  key: string;
  /** Ends the run and prints what it has used. `bypassed`: requests that are known not to have come through gw. */
  end(bypassed: number): Promise<void>;
}

export async function startCappedRun(
  context: Context,
  { id, project, caps, lockPath }: { id: string; project: string; caps: readonly RunCap[]; lockPath: string },
): Promise<CappedRun> {
  const since = context.clock.now();
  const { key, keyId } = await withStore(context, (db) =>
    openRun(db, { id, projectId: findProject(db, project), caps, lockPath, now: since }),
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
