import { namesIn, partsOf } from './aliases.ts';
import { SettingError } from './setting-error.ts';

/** The two tiers behind a requested model. */
export interface ModelTiers {
  /** Models of the strong tier, in alias syntax: `a, b | c`. */
  strong: string;
  /** The cheaper tier. */
  weak: { name: string; models: string };
  /** Target share of requests for the strong tier, in [0,1]. Undefined if not set. */
  share: number | undefined;
  /** Whether requests may go to a stronger model than they name. */
  up: boolean;
}

const EXAMPLE = '"strong: openai/gpt-5; fast: openai/gpt-5-mini; share=30%"';
const TIER = /^([a-z][a-z0-9_-]{0,19})\s*:(.*)$/is;
const STRONG = 'strong';

/**
 * Parses the tiers of a model, such as `strong: openai/gpt-5, anthropic/claude-opus-4-1; fast: openai/gpt-5-mini;
 * share=30%`. Requests for a model of the cheaper tier go to the strong tier only if the text contains `up`. Throws
 * SettingError.
 */
export function parseTiers(text: string, model: string): ModelTiers {
  const tiersByName = new Map<string, string>();
  let share: number | undefined;
  let up = false;
  for (const part of partsOf(text, ';')) {
    const [, name = '', models = ''] = TIER.exec(part) ?? [];
    if (name !== '') addTier(tiersByName, name.toLowerCase(), models.trim());
    else if (part.toLowerCase() === 'up') up = true;
    else if (/^share\s*=/i.test(part)) share = parseShare(part.slice(part.indexOf('=') + 1));
    else
      throw new SettingError(
        `"${part}" is neither a tier nor share=PERCENT nor up. An example is ${EXAMPLE}`,
      );
  }
  const tiers = { ...twoOf(tiersByName), share, up };
  if (!up && namesIn(tiers.weak.models).some((name) => isName(name, model))) {
    throw new SettingError(
      `${model} is of the tier ${tiers.weak.name}: requests for it would go to a stronger model than they ask for. To allow that, add: up`,
    );
  }
  return tiers;
}

/** Parses a share of requests, `30%` or `0.3`, to a number in [0,1]. Throws SettingError. */
export function parseShare(value: unknown): number {
  const [, number = '', percent] = /^(\d+(?:\.\d+)?)\s*(%?)$/.exec(String(value).trim()) ?? [];
  const share = number === '' ? Number.NaN : Number(number) / (percent === '%' ? 100 : 1);
  if (share >= 0 && share <= 1) return share;
  throw new SettingError(`${JSON.stringify(value)} is no share; examples are 30% and 0.3`);
}

function addTier(tiersByName: Map<string, string>, name: string, models: string): void {
  if (tiersByName.has(name)) throw new SettingError(`the tier ${name} stands twice`);
  if (namesIn(models).length === 0)
    throw new SettingError(`the tier ${name} has no model. An example is ${EXAMPLE}`);
  tiersByName.set(name, models);
}

function twoOf(tiersByName: Map<string, string>): Pick<ModelTiers, 'strong' | 'weak'> {
  const strong = tiersByName.get(STRONG);
  const [other, third] = [...tiersByName.keys()].filter((name) => name !== STRONG);
  if (strong === undefined)
    throw new SettingError(
      `no tier is called ${STRONG}, which the dearer one has to be. An example is ${EXAMPLE}`,
    );
  if (other === undefined)
    throw new SettingError(
      `with the tier ${STRONG} alone there is nothing to choose. An example is ${EXAMPLE}`,
    );
  if (third !== undefined)
    throw new SettingError(`gw decides between two tiers; besides ${STRONG} there are ${other} and ${third}`);
  const models = tiersByName.get(other) ?? '';
  const both = namesIn(models).find((name) => namesIn(strong).includes(name));
  if (both !== undefined) throw new SettingError(`${both} is of both tiers`);
  return { strong, weak: { name: other, models } };
}

/** Whether two names mean the same model, with or without the provider. */
export function isName(name: string, model: string): boolean {
  return name === model || name.endsWith(`/${model}`) || model.endsWith(`/${name}`);
}
