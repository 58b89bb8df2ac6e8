import type { Rate } from '../../pricing/rate.ts';
import type { StoredPrice } from '../../store/accounts/prices.ts';
import { tokens } from '../../terminal/numbers.ts';
import { type Column, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import type { KnownPrice } from './known-prices.ts';
import { feeText, feeUsd, perMillion, usdPerMillion } from './read.ts';

/** The prices that the user set. */
export function priceTable(prices: StoredPrice[], terminal: Terminal): string {
  const columns: Column<StoredPrice>[] = [
    { header: 'model', value: nameOf, shrinks: true },
    { header: 'input', value: (price) => perMillion(price.inputPicoUsd), align: 'right' },
    { header: 'cached input', value: (price) => perMillion(price.cachedInputPicoUsd), align: 'right' },
    { header: 'cache write', value: (price) => perMillion(price.cacheWritePicoUsd), align: 'right' },
    { header: 'output', value: (price) => perMillion(price.outputPicoUsd), align: 'right' },
    ...(prices.some(({ requestPicoUsd }) => requestPicoUsd)
      ? [column<StoredPrice>('per request', (price) => feeText(price.requestPicoUsd))]
      : []),
  ];
  const title = terminal.palette.bold('Prices that you set, in dollars per million tokens');
  return [title, '', ...table(prices, columns, { terminal })].join('\n');
}

/** The prices in force of a model at each provider, with their sources. */
export function knownTable(prices: KnownPrice[], terminal: Terminal): string {
  const columns: Column<KnownPrice>[] = [
    { header: 'provider', value: ({ provider }) => provider },
    { header: 'input', value: ({ card }) => rateText(card.input), align: 'right' },
    { header: 'cached input', value: ({ card }) => rateText(card.cachedInput), align: 'right' },
    { header: 'cache write', value: ({ card }) => rateText(card.cacheWrite), align: 'right' },
    { header: 'output', value: ({ card }) => rateText(card.output), align: 'right' },
    ...(prices.some(({ card }) => card.perRequestPicoUsd > 0n)
      ? [column<KnownPrice>('per request', ({ card }) => feeText(Number(card.perRequestPicoUsd)))]
      : []),
    { header: 'source', value: ({ card }) => card.source, shrinks: true },
  ];
  const [first] = prices;
  const title = terminal.palette.bold(`Price of ${first?.model}, in dollars per million tokens`);
  return [title, '', ...table(prices, columns, { terminal }), ...tierLines(prices)].join('\n');
}

function column<T>(header: string, value: (row: T) => string): Column<T> {
  return { header, value, align: 'right' };
}

function rateText({ picoUsd, tiers }: Rate): string {
  return `${perMillion(Number(picoUsd))}${tiers.length > 0 ? '*' : ''}`;
}

function tierLines(prices: KnownPrice[]): string[] {
  const lines = prices.flatMap(({ provider, card }) =>
    card.input.tiers.map(({ overTokens, picoUsd }) => {
      const output = card.output.tiers.find((tier) => tier.overTokens === overTokens)?.picoUsd;
      const rest = output === undefined ? '' : `, output ${perMillion(Number(output))}`;
      return `* ${provider}, over ${tokens(overTokens)} input tokens: input ${perMillion(Number(picoUsd))}${rest}`;
    }),
  );
  return lines.length > 0 ? ['', ...lines] : [];
}

export function nameOf({ provider, model }: Pick<StoredPrice, 'provider' | 'model'>): string {
  return provider === '' ? model : `${provider}/${model}`;
}

export function priceJson(price: StoredPrice): Record<string, unknown> {
  return {
    provider: price.provider === '' ? null : price.provider,
    model: price.model,
    input_usd_per_million: usdPerMillion(price.inputPicoUsd),
    output_usd_per_million: usdPerMillion(price.outputPicoUsd),
    cached_input_usd_per_million: usdPerMillion(price.cachedInputPicoUsd),
    cache_write_usd_per_million: usdPerMillion(price.cacheWritePicoUsd),
    usd_per_request: feeUsd(price.requestPicoUsd),
  };
}

export function knownJson({ provider, model, card }: KnownPrice): Record<string, unknown> {
  return {
    provider,
    model,
    input_usd_per_million: usdPerMillion(Number(card.input.picoUsd)),
    output_usd_per_million: usdPerMillion(Number(card.output.picoUsd)),
    cached_input_usd_per_million: usdPerMillion(Number(card.cachedInput.picoUsd)),
    cache_write_usd_per_million: usdPerMillion(Number(card.cacheWrite.picoUsd)),
    usd_per_request: feeUsd(Number(card.perRequestPicoUsd)),
    tiers: card.input.tiers.map(({ overTokens, picoUsd }) => ({
      over_tokens: overTokens,
      input_usd_per_million: usdPerMillion(Number(picoUsd)),
    })),
    source: card.source,
  };
}
