import type { Dialect } from '../../providers/dialects/dialect.ts';
import { NO_DIALECT } from '../../providers/dialects/dialects.ts';
import { learntOf, type Manner, mannerName, mannersIn, REMEMBERED_MS } from '../../providers/manners.ts';
import type { Target } from './resolver.ts';

/** What a provider's refusals have told of it, by provider and model, beside its dialect. */
export type ProviderManners = ReturnType<typeof createProviderManners>;

/** More than the models that anyone uses. */
const MAX_MANNERS = 500;

interface MannersOptions {
  now: () => number;
  /** The last snapshot, of any form. */
  saved?: unknown;
  onChange?: () => void;
}

const EVERY_MODEL = /./;

export function createProviderManners({ now, saved, onChange }: MannersOptions) {
  const seen = new Map<string, number>(mannersIn(saved));

  const isKnown = ({ provider, model }: Target, manner: Manner): boolean =>
    seen.size > 0 &&
    now() - (seen.get(mannerName(provider.name, model, manner)) ?? -Infinity) < REMEMBERED_MS;

  return {
    /** Remembers a refusal. */
    learn({ provider, model }: Target, manner: Manner): void {
      const name = mannerName(provider.name, model, manner);
      seen.delete(name);
      seen.set(name, now());
      for (const [oldest] of seen) {
        if (seen.size <= MAX_MANNERS) break;
        seen.delete(oldest);
      }
      onChange?.();
    },
    refuses: (target: Target, field: string): boolean =>
      isKnown(target, { refuses: field }) || target.provider.dialect?.refuses?.includes(field) === true,
    needsResponses: (target: Target): boolean => isKnown(target, { needs: 'responses' }),
    /** The provider's dialect with what was learnt. */
    dialectOf({ provider, model }: Target): Dialect {
      const { dialect = NO_DIALECT } = provider;
      const learnt =
        seen.size === 0 ? [] : learntOf(provider.name, seen, now()).filter((each) => each.model === model);
      if (learnt.length === 0) return dialect;
      const refused = learnt.flatMap(({ field }) => field ?? []);
      const needs = refused.length < learnt.length;
      return {
        ...dialect,
        ...(refused.length > 0 && { refuses: [...(dialect.refuses ?? []), ...refused] }),
        ...(needs && { responses: { always: EVERY_MODEL, withTools: EVERY_MODEL } }),
      };
    },
    /** What is remembered, the latest last, to be saved. */
    snapshot: (): Record<string, number> =>
      Object.fromEntries([...seen].filter(([, at]) => now() - at < REMEMBERED_MS)),
  };
}
