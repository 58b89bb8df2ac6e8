import { type PriceCard, scaleCard } from './price-card.ts';

/** Price of a service option, as a factor of the list price. */
export interface ServiceFactor {
  factor: number;
  /** False if no price page names the model. The factor is then the option's highest, so that no cap is exceeded. */
  isKnown: boolean;
}

type ByModel = readonly (readonly [models: RegExp, factor: number])[];

/** Matches all models. */
const ANY = /./;
const LISTED: ByModel = [[ANY, 1]];

/** https://openai.com/api-priority-processing/ and developers.openai.com/api/docs/pricing, November 2026. */
const PRIORITY: ByModel = [
  [/^gpt-5\.5(-\d{4}|$)/, 2.5],
  [/^gpt-5(\.[1245])?(-codex|-chat-latest)?(-\d{4}-\d\d-\d\d)?$/, 2],
  [/^gpt-5\.4-mini/, 2],
  [/^gpt-5-mini/, 1.8],
  [/^gpt-4\.1-nano/, 2],
  [/^(gpt-4\.1|o3)(-mini)?(-\d{4}-\d\d-\d\d)?$/, 1.75],
  [/^gpt-4o-2024-05-13$/, 1.75],
  [/^gpt-4o(-2024-(08-06|11-20))?$/, 1.7],
  [/^gpt-4o-mini(-\d{4}-\d\d-\d\d)?$/, 5 / 3],
  [/^o4-mini(-\d{4}-\d\d-\d\d)?$/, 20 / 11],
];

/** https://platform.claude.com/docs/en/build-with-claude/fast-mode, November 2026. */
const CLAUDE_FAST: ByModel = [
  [/^claude-opus-(4-8|5)(-\d{8})?$/, 2],
  [/^claude-opus-4-[67](-\d{8})?$/, 6],
];

/** `most` applies to models that the list lacks. */
interface Option {
  models: ByModel;
  most: number;
}

/**
 * Factors by field and value. OpenAI's ultrafast costs up to 6 times the list price
 * (https://developers.openai.com/api/docs/guides/fast-mode), Anthropic's inference in one country 1.1 times
 * (https://platform.claude.com/docs/en/about-claude/pricing).
 */
const FACTORS: Readonly<Record<string, Readonly<Record<string, Option>>>> = {
  service_tier: {
    ...each(['auto', 'default', 'flex', 'standard', 'standard_only', 'on_demand'], LISTED, 1),
    ...each(['priority', 'fast'], PRIORITY, 2.5),
    ultrafast: { models: [], most: 6 },
  },
  speed: {
    standard: { models: LISTED, most: 1 },
    fast: { models: CLAUDE_FAST, most: 6 },
  },
  // Vertex AI's "Priority PayGo" costs more, by an amount that its documents leave to a page of prices:
  // https://docs.cloud.google.com/vertex-ai/generative-ai/docs/priority-paygo
  traffic_type: {
    priority: { models: [], most: 1.8 },
  },
  inference_geo: {
    ...each(['global', 'not_available'], LISTED, 1),
    us: { models: [[ANY, 1.1]], most: 1.1 },
  },
};

function each(values: readonly string[], models: ByModel, most: number): Record<string, Option> {
  return Object.fromEntries(values.map((value) => [value, { models, most }]));
}

/** Request and response fields that state a service option. */
export const SERVICE_FIELDS: readonly string[] = Object.keys(FACTORS);

/** An option's factor for a model, with or without a provider prefix; undefined for unknown options. */
export function serviceFactor(field: string, value: unknown, model: string): ServiceFactor | undefined {
  const values = FACTORS[field];
  const option =
    values && typeof value === 'string' && Object.hasOwn(values, value) ? values[value] : undefined;
  if (!option) return undefined;
  const name = model.slice(model.lastIndexOf('/') + 1);
  const factor = option.models.find(([models]) => models.test(name))?.[1];
  return { factor: factor ?? option.most, isKnown: factor !== undefined };
}

/** The product of the options' factors for a model, by field and value. Unknown options count as 1, the list price. */
export function factorOf(options: Readonly<Record<string, string>>, model: string): number {
  return Object.entries(options).reduce(
    (product, [field, value]) => product * (serviceFactor(field, value, model)?.factor ?? 1),
    1,
  );
}

/** The options that change a model's price, with their factors. */
export function servicePrices(model: string): { field: string; value: string; factor: number }[] {
  return SERVICE_FIELDS.flatMap((field) =>
    Object.keys(FACTORS[field] ?? {}).flatMap((value) => {
      const price = serviceFactor(field, value, model);
      const isOffered = field !== 'inference_geo' || /claude/.test(model);
      return isOffered && price?.isKnown && price.factor !== 1
        ? [{ field, value, factor: price.factor }]
        : [];
    }),
  );
}

/**
 * What batches cost, as a factor of the list price: https://developers.openai.com/api/docs/guides/batch,
 * https://learn.microsoft.com/azure/ai-foundry/openai/how-to/batch and
 * https://platform.claude.com/docs/en/build-with-claude/batch-processing, November 2026.
 */
const BATCHES: ReadonlyMap<string, number> = new Map([
  ['openai', 0.5],
  ['azure', 0.5],
  ['anthropic', 0.5],
]);

/** Factor of the list price of a batch, by the provider that sells it. */
export const batchFactor = (seller: string): number => BATCHES.get(seller) ?? 1;

/** A provider's regional endpoints, which cost 10 % more. */
interface Region {
  /** Of the base URL. */
  address: RegExp;
  models: RegExp;
}

/**
 * https://developers.openai.com/api/docs/guides/data-residency (models since March 2026),
 * https://docs.x.ai/developers/advanced-api-usage/regions and
 * https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai (Claude 4.5 and later)
 */
const REGIONS: ReadonlyMap<string, Region> = new Map([
  [
    'openai',
    { address: /^https:\/\/[a-z]+\.api\.openai\.com(?:\/|$)/, models: /gpt-(5\.([4-9]|\d\d)|[6-9]|\d\d)/ },
  ],
  ['xai', { address: /^https:\/\/[a-z]+\.api\.x\.ai(?:\/|$)/, models: /./ }],
  ['vertex', { address: /\/locations\/(?!global\/)/, models: /claude-(?:[a-z]+-(?:4-[5-9]|[5-9]|\d\d))/ }],
]);

const REGION_FACTOR = 1.1;

interface RegionalProvider {
  name: string;
  knownAs?: string;
  origin: string;
  basePath?: string;
}

/** A model's prices at a regional endpoint. The user's own prices are unchanged. */
export function regionalCard(
  card: PriceCard | undefined,
  { name, knownAs = name, origin, basePath = '' }: RegionalProvider,
  model: string,
): PriceCard | undefined {
  const region = REGIONS.get(knownAs);
  if (!card || !region?.address.test(origin + basePath) || !region.models.test(model)) return card;
  return card.source.startsWith('override ') ? card : scaleCard(card, REGION_FACTOR);
}
