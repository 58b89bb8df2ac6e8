import { messageOf } from '../../errors.ts';
import { formatRequestId, type RequestId } from '../../ids.ts';
import type { DistrustedBound } from '../../store/budgets/distrusted-bounds.ts';
import type { InputBound } from './input-bound.ts';
import type { Target } from './resolver.ts';

/** Which bounds of the input tokens may be used for a hold, by provider and model. */
export interface BoundTrust {
  isTrusted(target: Target, bound: InputBound): boolean;
  /** Switches a bound off, durably, after a provider has reported more input than it allowed. */
  distrust(target: Target, bound: InputBound, requestId: RequestId): void;
  /** Reads the stored bounds again: a person may have switched them on. */
  reload(): void;
}

export interface BoundTrustOptions {
  read: () => DistrustedBound[];
  save: (bound: DistrustedBound) => Promise<void>;
  now: () => number;
  warn: (message: string) => void;
}

/** The bound by bytes has no alternative, so it is always in use. */
export function createBoundTrust({ read, save, now, warn }: BoundTrustOptions): BoundTrust {
  let distrusted = new Set<string>();

  function reload(): void {
    distrusted = new Set(read().map(({ provider, model, bound }) => keyOf(provider, model, bound)));
  }

  reload();
  return {
    reload,
    isTrusted: ({ provider, model }, bound) =>
      distrusted.size === 0 || !distrusted.has(keyOf(provider.name, model, bound)),
    distrust({ provider, model }, bound, requestId) {
      const key = keyOf(provider.name, model, bound);
      if (distrusted.has(key)) return;
      distrusted.add(key);
      warn(
        `${provider.name}/${model} reported more input tokens for ${formatRequestId(requestId)} than its bound (${bound}) allowed. The bound is off for 30 days: gw doctor`,
      );
      void save({ provider: provider.name, model, bound, at: now(), requestId }).catch((error: unknown) =>
        warn(`a bound that was switched off could not be saved: ${messageOf(error)}`),
      );
    },
  };
}

const keyOf = (provider: string, model: string, bound: string): string => `${bound} ${provider}/${model}`;
