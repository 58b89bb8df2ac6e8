/** What the providers of the campaign bill, in dollars per million tokens. */
export interface Price {
  input: number;
  output: number;
}

export const CHEAP: Price = { input: 1, output: 2 };
export const DEAR: Price = { input: 2_000, output: 4_000 };
export const FREE: Price = { input: 0, output: 0 };

/** Models by name, without their provider. What a provider is asked for and doesn't know is its dearest. */
export const PRICES: Readonly<Record<string, Price>> = {
  cheap: CHEAP,
  'gpt-cheap': CHEAP,
  'claude-cheap': CHEAP,
  free: FREE,
  dear: DEAR,
  'gpt-dear': DEAR,
  'claude-dear': DEAR,
};

/** The name without what names its provider. */
export const baseName = (model: string): string => model.slice(model.lastIndexOf('/') + 1);

export const priceOf = (model: string): Price => PRICES[baseName(model)] ?? DEAR;

/** The dearest of some models; the first of equals. */
export function dearestOf(models: readonly string[]): string {
  return models.reduce((a, b) => (priceOf(b).output > priceOf(a).output ? b : a), models[0] ?? 'dear');
}
