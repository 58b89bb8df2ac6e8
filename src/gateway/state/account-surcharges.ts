import { createHash } from 'node:crypto';
import { fields, isStated } from '../../pricing/payload-fields.ts';
import { factorOf } from '../../pricing/service-factors.ts';
import type { Provider } from '../../providers/registry.ts';
import { reportedFactor, type Surcharges } from '../../wire/request/surcharges.ts';
import type { Target } from './resolver.ts';

/** The price of a target as a factor of the listed price, with the surcharges that the provider account has by default. */
export type AccountSurcharges = ReturnType<typeof createAccountSurcharges>;

const LISTED = 1;
/** An Anthropic workspace may default to inference in one country, at 1.1 times the price. */
const ANTHROPIC_FACTOR = 1.1;
/** The field with which a request overrides the account's default. */
const OVERRIDE_FIELD: Readonly<Record<Provider['wire'], string>> = {
  openai: 'service_tier',
  anthropic: 'inference_geo',
  gemini: 'serviceTier',
};
const DAY_MS = 86_400_000;
/** Bounds the memory, since model names come from clients. */
const MAX_REMEMBERED = 1_000;

/**
 * An account may default to a dearer service tier or region. gw asks OpenAI and Azure for their default tier
 * (build-request.ts), and learns other tiers from the answers: requests sent before the first answer may cost
 * more than their holds. It can't ask Anthropic for a region, because a workspace may forbid it, so it holds the dearer
 * price until an answer to the same credential shows the other; a credential belongs to one workspace. Workspaces can
 * be changed, so that is forgotten after a day, and as soon as an answer differs.
 */
export function createAccountSurcharges(now: () => number) {
  const tiers = new Map<string, number>();
  const regions = createRegions(now);
  return {
    /** The price of a request. The account's default applies on top of the request's own surcharges. */
    of(target: Target, surcharges?: Surcharges): number {
      const { provider, model } = target;
      const accountFactor = isAnthropic(provider)
        ? regions.factorOf(target)
        : ((tiers.size > 0 ? tiers.get(`${credentialOf(provider)} ${model}`) : undefined) ?? LISTED);
      if (!surcharges) return accountFactor;
      const factor = factorOf(surcharges.terms, model);
      return isOverridden(provider, surcharges) ? factor : factor * accountFactor;
    },
    /** Remembers what an answer's usage reports about the account's default, unless the request overrode it. */
    learn(target: Target, surcharges: Surcharges | undefined, usage: unknown) {
      const { provider, model } = target;
      if (isOverridden(provider, surcharges)) return;
      if (isAnthropic(provider)) {
        regions.learn(target, fields(usage).inference_geo);
        return;
      }
      if (tiers.size === 0 && !isStated(fields(usage)[OVERRIDE_FIELD[provider.wire]])) return;
      const factor = reportedFactor(OVERRIDE_FIELD[provider.wire], usage, model) ?? LISTED;
      const key = `${credentialOf(provider)} ${model}`;
      // A discount is no reason to hold less than the listed price.
      if (factor > LISTED) remember(tiers, key, factor);
      else tiers.delete(key);
    },
  };
}

function isAnthropic({ name }: Provider): boolean {
  return name === 'anthropic';
}

function isOverridden({ wire }: Provider, surcharges: Surcharges | undefined): boolean {
  return surcharges !== undefined && Object.hasOwn(surcharges.terms, OVERRIDE_FIELD[wire]);
}

/** Until when the region of each of Anthropic's workspaces is taken for `global`. */
function createRegions(now: () => number) {
  const globalUntil = new Map<string, number>();
  /** The models that have no regions. */
  const noneUntil = new Map<string, number>();
  return {
    factorOf({ provider, model }: Target): number {
      if (globalUntil.size === 0 && noneUntil.size === 0) return ANTHROPIC_FACTOR;
      const credential = credentialOf(provider);
      const untilMs = Math.max(
        globalUntil.get(credential) ?? 0,
        noneUntil.get(`${credential} ${model}`) ?? 0,
      );
      return now() < untilMs ? LISTED : ANTHROPIC_FACTOR;
    },
    learn({ provider, model }: Target, region: unknown): void {
      if (typeof region !== 'string') return;
      const credential = credentialOf(provider);
      const key = `${credential} ${model}`;
      const untilMs = now() + DAY_MS;
      if (region === 'not_available') {
        remember(noneUntil, key, untilMs);
        return;
      }
      noneUntil.delete(key);
      if (region === 'global') remember(globalUntil, credential, untilMs);
      else globalUntil.delete(credential);
    },
  };
}

function remember(map: Map<string, number>, key: string, value: number): void {
  if (map.size >= MAX_REMEMBERED) map.clear();
  map.set(key, value);
}

const credentials = new WeakMap<Provider, string>();

/** Identifies the provider's address and credential by their hash. */
function credentialOf(provider: Provider): string {
  const known = credentials.get(provider);
  if (known !== undefined) return known;
  const { name, origin, authHeaders } = provider;
  const hash = createHash('sha256')
    .update(JSON.stringify([name, origin, authHeaders]))
    .digest('hex');
  credentials.set(provider, hash);
  return hash;
}
