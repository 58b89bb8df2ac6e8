import type { Provider } from '../../providers/registry.ts';
import type { Surcharges } from '../../wire/request/surcharges.ts';
import type { Target } from './resolver.ts';

/** The price of a target in tenths of the listed price, with the surcharges that the provider account has by default. */
export interface AccountSurcharges {
  /** The price of a request. The account's default applies on top of the request's own surcharges. */
  of(target: Target, surcharges?: Surcharges): number;
  /** Remembers the price of an answer to a request without surcharges of its own. */
  learn(target: Target, tenths: number): void;
}

const LISTED_TENTHS = 10;
/** An Anthropic workspace may default to inference in one country, at 1.1 times the price. */
const ANTHROPIC_TENTHS = 11;
/** The field with which a request overrides the account's default. */
const OVERRIDE_FIELD: Readonly<Record<Provider['wire'], string>> = {
  openai: 'service_tier',
  anthropic: 'inference_geo',
};
/** Bounds the memory, since model names come from clients. */
const MAX_REMEMBERED = 1_000;

/**
 * An account may default to a dearer service tier or region, which gw learns from the first answer. gw asks OpenAI and
 * Azure for their default tier (default-service-tier.ts). It can't ask Anthropic for a region, because a workspace may
 * forbid it, so it holds the dearer price until an answer shows another. At other providers, and if the user leaves the
 * tier to the account, requests sent before the first answer may cost more than their holds.
 */
export function createAccountSurcharges(): AccountSurcharges {
  const tenthsByTarget = new Map<string, number>();
  const keyOf = ({ provider, model }: Target) => `${provider.name}/${model}`;
  return {
    of(target, surcharges) {
      const learned = tenthsByTarget.size > 0 ? tenthsByTarget.get(keyOf(target)) : undefined;
      const accountTenths = learned ?? initialTenths(target);
      if (!surcharges) return accountTenths;
      const isOverridden = Object.hasOwn(surcharges.byField, OVERRIDE_FIELD[target.provider.wire]);
      return isOverridden
        ? surcharges.priceTenths
        : Math.ceil((surcharges.priceTenths * accountTenths) / LISTED_TENTHS);
    },
    learn(target, tenths) {
      // A discount is no reason to hold less than the listed price.
      const heldTenths = Math.max(tenths, LISTED_TENTHS);
      if (heldTenths === initialTenths(target)) {
        if (tenthsByTarget.size > 0) tenthsByTarget.delete(keyOf(target));
        return;
      }
      if (tenthsByTarget.size >= MAX_REMEMBERED) tenthsByTarget.clear();
      tenthsByTarget.set(keyOf(target), heldTenths);
    },
  };
}

function initialTenths({ provider }: Target): number {
  return provider.name === 'anthropic' ? ANTHROPIC_TENTHS : LISTED_TENTHS;
}
