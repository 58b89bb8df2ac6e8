import { isObject } from '../../json/object.ts';
import type { Dialect } from '../../providers/dialects/dialect.ts';
import { NO_DIALECT } from '../../providers/dialects/dialects.ts';
import type { Target } from './resolver.ts';

/** What a provider's refusals have told of it, by provider and model, beside its dialect. */
export type ProviderManners = ReturnType<typeof createProviderManners>;

/** It refuses a field of a request that gw adds, or serves a model by /v1/responses alone. */
type Manner = { refuses: string } | { needs: 'responses' };

/** How long a refusal is remembered: the provider may be updated. */
const REMEMBERED_MS = 86_400_000;
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
  /** When each was last seen, UTC milliseconds, by name: `mistral/m refuses user`. */
  const seen = new Map<string, number>(isObject(saved) ? entriesOf(saved) : []);

  const nameOf = ({ provider, model }: Target, manner: Manner): string => {
    const what = 'refuses' in manner ? `refuses ${manner.refuses}` : `needs ${manner.needs}`;
    return `${provider.name}/${model} ${what}`;
  };
  const isKnown = (name: string): boolean => now() - (seen.get(name) ?? -Infinity) < REMEMBERED_MS;

  return {
    /** Remembers a refusal. */
    learn(target: Target, manner: Manner): void {
      const name = nameOf(target, manner);
      seen.delete(name);
      seen.set(name, now());
      for (const [oldest] of seen) {
        if (seen.size <= MAX_MANNERS) break;
        seen.delete(oldest);
      }
      onChange?.();
    },
    refuses: (target: Target, field: string): boolean =>
      (seen.size > 0 && isKnown(nameOf(target, { refuses: field }))) ||
      target.provider.dialect?.refuses?.includes(field) === true,
    needsResponses: (target: Target): boolean =>
      seen.size > 0 && isKnown(nameOf(target, { needs: 'responses' })),
    /** The provider's dialect with what was learnt. */
    dialectOf(target: Target): Dialect {
      const { dialect = NO_DIALECT } = target.provider;
      if (seen.size === 0) return dialect;
      const start = `${target.provider.name}/${target.model} `;
      const learnt = [...seen.keys()].filter((name) => name.startsWith(start) && isKnown(name));
      const refuses = learnt.flatMap((name) => name.split(`${start}refuses `)[1] ?? []);
      const needs = learnt.includes(`${start}needs responses`);
      return {
        ...dialect,
        ...(refuses.length > 0 && { refuses: [...(dialect.refuses ?? []), ...refuses] }),
        ...(needs && { responses: { always: EVERY_MODEL, withTools: EVERY_MODEL } }),
      };
    },
    /** What is remembered, the latest last, to be saved. */
    snapshot: (): Record<string, number> => Object.fromEntries([...seen].filter(([name]) => isKnown(name))),
  };
}

const entriesOf = (saved: Record<string, unknown>): [string, number][] =>
  Object.entries(saved).filter((entry): entry is [string, number] => typeof entry[1] === 'number');
