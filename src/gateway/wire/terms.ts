import type { Fields } from './fields.ts';

/** What a request asks for that its provider charges otherwise than by the price of the model. */
export interface Terms {
  /** The prices are so many tenths of the listed ones. */
  tenths: number;
  /** A field by which another model may answer, or something else be charged for that has no price here. */
  unknown: string | undefined;
}

/**
 * The dearest factors in use, in tenths. OpenAI's priority or fast tier (up to 2.5 times) and ultrafast (6 times):
 * https://developers.openai.com/api/docs/guides/fast-mode; Anthropic's fast mode (up to 6 times) and inference in one
 * country (1.1 times): https://platform.claude.com/docs/en/build-with-claude/fast-mode
 */
const FACTORS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  service_tier: {
    ...{ auto: 10, default: 10, flex: 10, standard: 10, standard_only: 10, on_demand: 10 },
    ...{ priority: 25, fast: 25, ultrafast: 60 },
  },
  speed: { standard: 10, fast: 60 },
  inference_geo: { global: 10, us: 11 },
};

/** Other models to answer in the asked one's stead (OpenRouter, Anthropic). */
const UNPRICED = ['models', 'fallbacks'];

/** The fields that are read here. */
export const TERM_FIELDS: readonly string[] = [...Object.keys(FACTORS), ...UNPRICED];

/** Undefined where the listed prices hold. */
export function termsOf(fields: Fields): Terms | undefined {
  let terms: Terms | undefined;
  for (const [field, factors] of Object.entries(FACTORS)) {
    const value = fields.read(field);
    if (value === undefined) continue;
    const known = typeof value === 'string' && Object.hasOwn(factors, value) ? factors[value] : undefined;
    if (known === 10) continue;
    const { tenths, unknown } = terms ?? { tenths: 10, unknown: undefined };
    terms = {
      tenths: Math.ceil((tenths * (known ?? 10)) / 10),
      unknown: known === undefined ? field : unknown,
    };
  }
  const unpriced = UNPRICED.find((field) => !isEmpty(fields.read(field)));
  return unpriced === undefined ? terms : { tenths: terms?.tenths ?? 10, unknown: unpriced };
}

function isEmpty(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0);
}
