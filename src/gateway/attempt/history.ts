import { usdNumber } from '../../money.ts';
import type { Failure } from '../../routing/failure.ts';
import type { Tried } from '../../routing/next-attempt.ts';
import type { TokenUsage } from '../../usage.ts';
import type { Metered } from '../metering/metered.ts';
import type { AttemptEntry, AttemptHistory } from '../routing/route.ts';
import type { RoutedTarget } from '../state/resolve.ts';

export interface FailedAttempt {
  target: RoutedTarget;
  failure: Failure;
  /** The answer's HTTP status; 0 without an answer. */
  status: number;
  durationMs: number;
  metered: Metered;
}

/** The attempts with one more that failed, which is the last of `tried`. */
export function appendFailure(
  before: AttemptHistory | undefined,
  tried: readonly Tried[],
  ended: FailedAttempt,
): AttemptHistory {
  const { target, failure, metered } = ended;
  const total = before ? summed(before, metered) : metered;
  return {
    tried,
    entries: [...(before?.entries ?? []), entryOf(target, outcomeWord(failure, ended.status), ended)],
    usage: total.usage,
    costNanoUsd: total.costNanoUsd,
    flags: total.flags,
  };
}

/** What the attempts cost with the last one. */
export function summed(before: AttemptHistory, last: Metered): Metered {
  return {
    usage: sumOf(before.usage, last.usage),
    costNanoUsd: before.costNanoUsd + last.costNanoUsd,
    flags: before.flags | last.flags,
  };
}

export function entryOf(
  { provider, model }: Pick<RoutedTarget, 'provider' | 'model'>,
  outcome: string,
  { durationMs, metered }: { durationMs: number; metered: Metered },
): AttemptEntry {
  return {
    provider: provider.name,
    model,
    outcome,
    ms: Math.round(durationMs),
    cost_usd: usdNumber(metered.costNanoUsd),
  };
}

/** How an attempt went, in a word. */
export function outcomeWord(failure: Failure | undefined, status: number): string {
  if (status >= 400) return String(status);
  return failure ? failure.class : 'ok';
}

/** `attempts=2 (openai 429, azure ok)`, for the header `x-service-route`. */
export function attemptsText(
  entries: readonly Pick<AttemptEntry, 'provider' | 'model' | 'outcome'>[],
): string {
  const providers = new Set(entries.map(({ provider }) => provider));
  const isPlain = providers.size === entries.length;
  const words = entries.map(
    ({ provider, model, outcome }) => `${isPlain ? provider : `${provider}/${model}`} ${outcome}`,
  );
  return `attempts=${entries.length} (${words.join(', ')})`;
}

function sumOf(a: TokenUsage, b: TokenUsage): TokenUsage {
  const keys = Object.keys(a) as (keyof TokenUsage)[];
  return Object.fromEntries(keys.map((key) => [key, a[key] + b[key]])) as unknown as TokenUsage;
}
