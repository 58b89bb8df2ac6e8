import { type PriceCard, scaleCard } from './price-card.ts';

/** A provider's regional endpoints, which cost a tenth more. */
interface Region {
  origin: RegExp;
  models: RegExp;
}

/**
 * https://developers.openai.com/api/docs/guides/data-residency (models since March 2026) and
 * https://docs.x.ai/developers/advanced-api-usage/regions
 */
const REGIONS: ReadonlyMap<string, Region> = new Map([
  ['openai', { origin: /^https:\/\/[a-z]+\.api\.openai\.com$/, models: /gpt-(5\.([4-9]|\d\d)|[6-9]|\d\d)/ }],
  ['xai', { origin: /^https:\/\/[a-z]+\.api\.x\.ai$/, models: /./ }],
]);

const FACTOR = 1.1;

/** The prices of a model at a regional endpoint. The user's own prices are not changed. */
export function regionalCard(
  card: PriceCard | undefined,
  { name, origin }: { name: string; origin: string },
  model: string,
): PriceCard | undefined {
  const region = REGIONS.get(name);
  if (!card || !region?.origin.test(origin) || !region.models.test(model)) return card;
  return card.source.startsWith('override ') ? card : scaleCard(card, FACTOR);
}
