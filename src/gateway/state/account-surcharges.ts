import type { Provider } from '../../providers/registry.ts';
import type { Surcharges } from '../../wire/request/surcharges.ts';
import type { Target } from './resolve.ts';

/** At how many tenths of the listed prices a target answers requests, as its answers to those without terms tell. */
export interface AccountSurcharges {
  /** With the terms of a request, if it has any: the default may come on top of them. */
  of(target: Target, surcharges?: Surcharges): number;
  learn(target: Target, tenths: number): void;
}

const LISTED = 10;
/** A workspace may have its requests answered in one country unless they say otherwise, at 1.1 times the price. */
const ANTHROPIC = 11;
/** The field that a request names to have none of the default. */
const FIELD: Readonly<Record<Provider['wire'], string>> = {
  openai: 'service_tier',
  anthropic: 'inference_geo',
};
/** Names of models come from clients. */
const MAX_REMEMBERED = 1_000;

/**
 * An account may have a dearer tier or place by default, of which nobody knows before the first answer. OpenAI and Azure
 * are asked for their default tier (pin-tier.ts); Anthropic can't be asked for any place, since a workspace may forbid
 * it, so it is held for as the dearer until an answer tells. At a provider of one's own, and where the user leaves the
 * tier to the account, what was sent before the first answer may cost more than was held for it.
 */
export function createAccountSurcharges(): AccountSurcharges {
  const told = new Map<string, number>();
  const keyOf = ({ provider, model }: Target) => `${provider.name}/${model}`;
  return {
    of(target, surcharges) {
      const byDefault = (told.size > 0 ? told.get(keyOf(target)) : undefined) ?? assumed(target);
      if (!surcharges) return byDefault;
      const isNamed = Object.hasOwn(surcharges.byField, FIELD[target.provider.wire]);
      return isNamed ? surcharges.priceTenths : Math.ceil((surcharges.priceTenths * byDefault) / LISTED);
    },
    learn(target, tenths) {
      // A lesser price is no reason to hold less.
      const most = Math.max(tenths, LISTED);
      if (most === assumed(target)) {
        if (told.size > 0) told.delete(keyOf(target));
        return;
      }
      if (told.size >= MAX_REMEMBERED) told.clear();
      told.set(keyOf(target), most);
    },
  };
}

function assumed({ provider }: Target): number {
  return provider.name === 'anthropic' ? ANTHROPIC : LISTED;
}
