import { amountOf, usdNumber } from '../../money.ts';
import type { Failure } from '../../routing/failure.ts';
import type { Tried } from '../../routing/next-attempt.ts';
import type { TokenUsage } from '../../usage.ts';
import type { Metered } from '../metering/metered.ts';
import type { AttemptEntry, AttemptHistory, Route } from '../routing/route.ts';
import type { RoutedTarget } from '../state/resolver.ts';
import type { AttemptResult } from './attempt.ts';

export interface FailedAttempt {
  target: RoutedTarget;
  failure: Failure;
  /** The answer's HTTP status; 0 without an answer. */
  status: number;
  durationMs: number;
  metered: Metered;
}

/** The history with one more failed attempt, the last of `tried`. */
export function appendFailure(
  before: AttemptHistory | undefined,
  tried: readonly Tried[],
  failed: FailedAttempt,
): AttemptHistory {
  const { target, failure, metered } = failed;
  const total = before ? summed(before, metered) : metered;
  return {
    tried,
    entries: [...(before?.entries ?? []), entryOf(target, outcomeWord(failure, failed.status), failed)],
    usage: total.usage,
    costNanoUsd: total.costNanoUsd,
    flags: total.flags,
  };
}

/** Usage and cost of all attempts, the last one included. */
export function summed(before: AttemptHistory, last: Metered): Metered {
  return {
    usage: sumOf(before.usage, last.usage),
    costNanoUsd: amountOf(before.costNanoUsd + last.costNanoUsd),
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

/** The outcome of an attempt: `ok`, an HTTP status, or the class of its failure. */
export function outcomeWord(failure: Failure | undefined, status: number): string {
  if (status >= 400) return String(status);
  return failure ? failure.class : 'ok';
}

/** `attempts=2 (openai 429, azure ok)`, for the header `x-service-route`. */
function attemptsText(entries: readonly Pick<AttemptEntry, 'provider' | 'model' | 'outcome'>[]): string {
  const providers = new Set(entries.map(({ provider }) => provider));
  const isPlain = providers.size === entries.length;
  const words = entries.map(
    ({ provider, model, outcome }) => `${isPlain ? provider : `${provider}/${model}`} ${outcome}`,
  );
  return `attempts=${entries.length} (${words.join(', ')})`;
}

/** Attempt history including the running attempt, which counts as healthy until it fails. */
export function historyText(
  { context, why, history, target }: Route,
  result: AttemptResult | undefined,
): string {
  const { provider, model } = target;
  const outcome = result ? outcomeWord(result.failure, result.relay.status) : 'ok';
  const text = attemptsText([...(history?.entries ?? []), { provider: provider.name, model, outcome }]);
  return context.tier ? `${why}; ${text}` : text;
}

function sumOf(a: TokenUsage, b: TokenUsage): TokenUsage {
  const keys = Object.keys(a) as (keyof TokenUsage)[];
  return Object.fromEntries(keys.map((key) => [key, a[key] + b[key]])) as unknown as TokenUsage;
}
