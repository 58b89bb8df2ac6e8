import { formatUsd, NANO_PER_USD } from '../../money.ts';
import type { PriceInForceView, PriceView } from '../../reading/schemas.ts';
import { tokens } from '../../terminal/numbers.ts';
import { type Column, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';

/** The names of the rates, in dollars per million tokens. */
type RateName = Extract<keyof PriceInForceView['tiers'][number], `${string}_per_million`>;

/** The prices that the user set. */
export function priceTable(prices: PriceView[], terminal: Terminal): string {
  const columns: Column<PriceView>[] = [
    { header: 'model', value: nameOf, shrinks: true },
    ...rateColumns<PriceView>((price, name) => usdText(price[name])),
    ...(prices.some(({ usd_per_request }) => usd_per_request) ? [feeColumn] : []),
  ];
  const title = terminal.palette.bold('Prices that you set, in dollars per million tokens');
  return [title, '', ...table(prices, columns, { terminal })].join('\n');
}

/** The prices in force of a model at each provider, with their sources. */
export function knownTable(prices: PriceInForceView[], terminal: Terminal): string {
  const columns: Column<PriceInForceView>[] = [
    { header: 'provider', value: ({ provider }) => provider },
    ...rateColumns<PriceInForceView>((price, name) => {
      const rises = price.tiers.some((tier) => tier[name] !== null);
      return `${usdText(price[name])}${rises ? '*' : ''}`;
    }),
    ...(prices.some(({ usd_per_request }) => usd_per_request) ? [feeColumn] : []),
    { header: 'source', value: ({ source }) => source, shrinks: true },
  ];
  const [first] = prices;
  const title = terminal.palette.bold(`Price of ${first?.model}, in dollars per million tokens`);
  return [
    title,
    '',
    ...table(prices, columns, { terminal }),
    ...tierLines(prices),
    ...serviceLines(prices),
  ].join('\n');
}

function rateColumns<T>(text: (price: T, name: RateName) => string): Column<T>[] {
  const column = (header: string, name: RateName): Column<T> => ({
    header,
    value: (price) => text(price, name),
    align: 'right',
  });
  return [
    column('input', 'input_usd_per_million'),
    column('cached input', 'cached_input_usd_per_million'),
    column('cache write', 'cache_write_usd_per_million'),
    column('output', 'output_usd_per_million'),
  ];
}

const feeColumn: Column<Pick<PriceView, 'usd_per_request'>> = {
  header: 'per request',
  value: ({ usd_per_request }) => usdText(usd_per_request),
  align: 'right',
};

function usdText(usd: number | null): string {
  return usd === null ? '-' : formatUsd(Math.round(usd * NANO_PER_USD));
}

function tierLines(prices: PriceInForceView[]): string[] {
  const lines = prices.flatMap(({ provider, tiers }) =>
    tiers.map(({ over_tokens, input_usd_per_million: input, output_usd_per_million: output }) => {
      const rest = output === null ? '' : `, output ${usdText(output)}`;
      return `* ${provider}, over ${tokens(over_tokens)} input tokens: input ${usdText(input)}${rest}`;
    }),
  );
  return lines.length > 0 ? ['', ...lines] : [];
}

function serviceLines([price]: PriceInForceView[]): string[] {
  const lines = (price?.service_prices ?? []).map(
    ({ field, value, factor }) => `${field} ${value}: ${Number(factor.toFixed(3))} times these prices`,
  );
  return lines.length > 0 ? ['', ...lines] : [];
}

export function nameOf({ provider, model }: Record<'provider' | 'model', string | null>): string {
  return provider ? `${provider}/${model}` : `${model}`;
}
