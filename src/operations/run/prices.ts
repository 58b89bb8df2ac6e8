import { badRequest, notFound } from '../../errors.ts';
import * as store from '../../store/accounts/prices.ts';
import type { Input } from '../operation.ts';
import { viewPrice, viewPriceInForce } from '../price-views.ts';
import type * as described from '../schemas/prices.ts';
import type { Sources } from '../sources.ts';

const PICO_PER_USD_PER_MILLION = 1_000_000;
const PICO_PER_USD = 1_000_000_000_000;

export async function prices({ db }: Pick<Sources, 'db'>): Promise<described.PriceView[]> {
  return (await store.listPrices(db)).map(viewPrice);
}

export async function setPrice({ db, change, now }: Sources, price: Input<typeof described.setPrice>) {
  const rates = {
    cachedInputPicoUsd: picoUsd(price.cached_input_usd_per_million),
    cacheWritePicoUsd: picoUsd(price.cache_write_usd_per_million),
    cacheWrite1hPicoUsd: picoUsd(price.cache_write_1h_usd_per_million),
    requestPicoUsd: picoUsd(price.usd_per_request, PICO_PER_USD),
    imagePicoUsd: picoUsd(price.usd_per_image, PICO_PER_USD),
    secondPicoUsd: picoUsd(price.usd_per_second, PICO_PER_USD),
    characterPicoUsd: picoUsd(price.usd_per_million_characters),
  };
  checkPrice(price);
  const stored = {
    provider: price.provider ?? '',
    model: price.model,
    inputPicoUsd: picoUsd(price.input_usd_per_million),
    outputPicoUsd: picoUsd(price.output_usd_per_million),
    ...rates,
  };
  await change(() => store.setPrice(db, stored, now()));
  return price;
}

/** Throws GwError 400 for a price of input without output, or of nothing. */
function checkPrice(price: Input<typeof described.setPrice>): void {
  const [input, output] = [price.input_usd_per_million ?? null, price.output_usd_per_million ?? null];
  const isOfMedia = [price.usd_per_image, price.usd_per_second, price.usd_per_million_characters].some(
    (each) => each != null,
  );
  if ((input === null) !== (output === null) || (input === null && !isOfMedia))
    throw badRequest(
      'a price has input_usd_per_million and output_usd_per_million, or one of usd_per_image, usd_per_second and usd_per_million_characters',
      input === null ? 'input_usd_per_million' : 'output_usd_per_million',
      'missing_required_parameter',
    );
}

export async function removePrice(
  { db, change }: Sources,
  { provider = '', model }: Input<typeof described.removePrice>,
) {
  return { object: 'price.deleted', deleted: await change(() => store.removePrice(db, provider, model)) };
}

/** The price in force of a model at its provider, or at each that sells it. Throws GwError 404. */
export async function pricesInForce(
  { catalog, settings, registry }: Sources,
  { model }: Input<typeof described.pricesInForce>,
): Promise<described.PriceInForceView[]> {
  // Loads the bundled price table, which is large.
  const known = await import('../known-prices.ts');
  const { didYouMean } = await import('../../providers/nearest-names.ts');
  const { libraryModelNames } = await import('../../pricing/library.ts');
  const configured = Object.keys(settings().providers);
  const found = known.pricesInForce(model, { catalog: await catalog(), configured });
  if (found.length > 0) return found.map(viewPriceInForce);
  const [provider = '', ...rest] = model.split('/');
  const sellers = [...(await registry()).providers.keys()];
  const hint =
    rest.length > 0 && sellers.includes(provider)
      ? didYouMean(rest.join('/'), libraryModelNames(provider))
      : didYouMean(model, sellers.concat('openai', 'anthropic', 'google').flatMap(libraryModelNames));
  throw notFound(
    `no known price for "${model}".${hint} To set it: gw prices set ${model} --input X --output Y`,
    'price_not_found',
    'model',
  );
}

/** Undefined without an amount. */
function picoUsd(usd: number | null | undefined, factor = PICO_PER_USD_PER_MILLION): number | undefined {
  return usd == null ? undefined : Math.round(usd * factor);
}
