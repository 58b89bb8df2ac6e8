import { messageOf } from '../../errors.ts';
import { formatRequestId, type RequestId } from '../../ids.ts';
import { type DistrustedBound, describeExcess } from '../../store/budgets/distrusted-bounds.ts';
import type { Target } from './resolver.ts';

/**
 * How the input tokens of a hold were bounded: by the bytes of the request, by an exact count, by what an earlier
 * request was reported at and the bytes that it did not have, or by the provider's own count.
 */
export type InputBound = 'bytes' | 'exact' | 'edit' | 'provider_count';

/**
 * A bound of a hold that can be switched off: one of the input; `output`, the limit in the request; `maximum`, the output
 * that the model has at most without one; `code`, what a round of code adds to the context; or `free`, that an endpoint (in
 * place of a model) costs nothing.
 */
type SwitchedBound = InputBound | 'output' | 'maximum' | 'code' | 'free';

/** Which bounds may be used for a hold, by provider and model. */
export type BoundTrust = ReturnType<typeof createBoundTrust>;

interface BoundTrustOptions {
  read: () => DistrustedBound[];
  save: (bound: DistrustedBound) => Promise<void>;
  now: () => number;
  warn: (message: string) => void;
}

/** A price is stored as `price x1.4`: what was paid, by the dearest listed price. */
const PRICE = /^price x(\d+(?:\.\d)?)$/;

/** The bound by bytes has no alternative, so it is always in use. */
export function createBoundTrust({ read, save, now, warn }: BoundTrustOptions) {
  let distrusted = new Set<string>();
  let prices = new Map<string, number>();

  /** Reads the stored bounds again: a person may have switched them on. */
  function reload(): void {
    distrusted = new Set();
    prices = new Map();
    for (const { provider, model, bound } of read()) add(`${provider}/${model}`, bound);
  }

  /** False if it was known. */
  function add(name: string, bound: string): boolean {
    const [, times] = PRICE.exec(bound) ?? [];
    if (times === undefined) return distrusted.size < distrusted.add(`${bound} ${name}`).size;
    const tenths = Math.round(Number(times) * 10);
    if (tenths <= (prices.get(name) ?? 0)) return false;
    prices.set(name, tenths);
    return true;
  }

  function switchOff({ provider, model }: Target, bound: string, requestId: RequestId): void {
    const name = `${provider.name}/${model}`;
    if (!add(name, bound)) return;
    warn(
      `${name} ${describeExcess(bound)} (${formatRequestId(requestId)}). Holds are larger for 30 days: gw doctor`,
    );
    void save({ provider: provider.name, model, bound, at: now(), requestId }).catch((error: unknown) =>
      warn(`a bound that was switched off could not be saved: ${messageOf(error)}`),
    );
  }

  reload();
  return {
    reload,
    isTrusted: ({ provider, model }: Target, bound: SwitchedBound): boolean =>
      distrusted.size === 0 || !distrusted.has(`${bound} ${provider.name}/${model}`),
    /** Switches a bound off, durably, after a provider has reported more than it allowed. */
    distrust: switchOff,
    /** The least that a hold takes the listed prices for, in tenths of them; undefined while none was exceeded. */
    priceTenths: ({ provider, model }: Target): number | undefined =>
      prices.size === 0 ? undefined : prices.get(`${provider.name}/${model}`),
    /** Raises the prices of holds, durably, after an answer has cost more than the dearest that could apply to it. */
    raisePrice: (target: Target, tenths: number, requestId: RequestId) =>
      switchOff(target, `price x${tenths / 10}`, requestId),
  };
}
