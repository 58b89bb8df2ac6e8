import { formatUsd, usdFields, usdNumber } from '../../money.ts';
import type { Reader } from '../../operations/registry.ts';
import type { PriceInForceView } from '../../operations/schemas/prices.ts';
import type { RequestView } from '../../operations/schemas/requests.ts';
import { count, plural } from '../../terminal/numbers.ts';
import { type Column, right } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { listText } from '../print-list.ts';

/** Cost that the ledger booked for a model, and the cost of the same tokens at today's prices. */
interface BookedPrice {
  model: string;
  requests: number;
  bookedNanoUsd: number;
  /** Undefined: the model has no price today. */
  todayNanoUsd: number | undefined;
}

const PAGE = 1_000;

/** Reads the requests since `since`, newest first, and prices the tokens of each. */
export async function bookedPrices(
  reader: Reader,
  filter: { project_id?: string | undefined; since: string },
): Promise<BookedPrice[]> {
  const prices = new Map<string, PriceInForceView | undefined>();
  const models = new Map<string, BookedPrice>();
  for (let cursor: string | undefined; ; ) {
    const page = await reader.requests({ ...filter, limit: PAGE, cursor });
    for (const request of page) {
      if (!isBooked(request)) continue;
      const model = `${request.provider}/${request.model}`;
      if (!prices.has(model)) prices.set(model, await priceOf(reader, model));
      const price = prices.get(model);
      const row = models.get(model) ?? { model, requests: 0, bookedNanoUsd: 0, todayNanoUsd: price && 0 };
      models.set(model, row);
      row.requests++;
      row.bookedNanoUsd += request.cost_nano_usd;
      if (price && row.todayNanoUsd !== undefined) row.todayNanoUsd += costAt(request, price);
    }
    const last = page.at(-1);
    if (page.length < PAGE || !last) break;
    cursor = last.id;
  }
  return [...models.values()].sort((a, b) => differenceOf(b) - differenceOf(a));
}

/** Without refused ones, those of a subscription, and imported ones, which gw has not booked. */
function isBooked({ source, flags, provider, input_tokens, output_tokens }: RequestView): boolean {
  return (
    source === 'gw' && provider !== '' && input_tokens + output_tokens > 0 && !flags.includes('not_billed')
  );
}

async function priceOf(reader: Reader, model: string): Promise<PriceInForceView | undefined> {
  try {
    return (await reader.pricesInForce({ model }))[0];
  } catch (error) {
    if ((error as { code?: unknown }).code === 'price_not_found') return undefined;
    throw error;
  }
}

/** The tokens of a request at a price, in the tier of its length. */
function costAt(request: RequestView, price: PriceInForceView): number {
  const { input_tokens: input, cached_input_tokens: cached, cache_write_tokens: written } = request;
  const tier = price.tiers.filter(({ over_tokens }) => input > over_tokens).at(-1);
  const rate = (name: keyof NonNullable<typeof tier> & keyof PriceInForceView) =>
    Number(tier?.[name] ?? price[name] ?? price.input_usd_per_million ?? 0);
  const perMillion =
    (input - cached - written) * rate('input_usd_per_million') +
    cached * rate('cached_input_usd_per_million') +
    written * rate('cache_write_usd_per_million') +
    request.output_tokens * rate('output_usd_per_million');
  return Math.round(perMillion * 1_000 + (price.usd_per_request ?? 0) * 1e9);
}

function differenceOf({ bookedNanoUsd, todayNanoUsd = bookedNanoUsd }: BookedPrice): number {
  return Math.abs(todayNanoUsd - bookedNanoUsd);
}

/** The models, those whose price differs most first. */
export function bookedTable(rows: BookedPrice[], since: string, terminal: Terminal): string {
  const columns: Column<BookedPrice>[] = [
    { header: 'model', value: ({ model }) => model, shrinks: true },
    right('requests', ({ requests }) => count(requests)),
    right('booked', ({ bookedNanoUsd }) => formatUsd(bookedNanoUsd)),
    right('today', ({ todayNanoUsd }) => (todayNanoUsd === undefined ? 'no price' : formatUsd(todayNanoUsd))),
    { header: 'difference', value: differenceText, align: 'right', style: 'bold' },
  ];
  const requests = rows.reduce((sum, row) => sum + row.requests, 0);
  return listText(rows, columns, terminal, {
    title: `What was booked since ${since}, and its tokens at today's prices`,
    below: [
      `${plural(requests, 'request')}. Booked amounts include fees of tools, audio and surcharges, and what a provider itself reported; recorded costs stay as they are.`,
    ],
  });
}

function differenceText({ bookedNanoUsd, todayNanoUsd }: BookedPrice): string {
  if (todayNanoUsd === undefined) return '-';
  const difference = todayNanoUsd - bookedNanoUsd;
  if (difference === 0) return formatUsd(0);
  return `${difference < 0 ? '-' : '+'}${formatUsd(Math.abs(difference))}`;
}

/** The JSON form: a list. */
export function bookedJson(rows: readonly BookedPrice[]): object[] {
  return rows.map(({ model, requests, bookedNanoUsd, todayNanoUsd }) => ({
    model,
    requests,
    ...usdFields('booked', bookedNanoUsd),
    today_usd: todayNanoUsd === undefined ? null : usdNumber(todayNanoUsd),
    today_nano_usd: todayNanoUsd ?? null,
    difference_nano_usd: todayNanoUsd === undefined ? null : todayNanoUsd - bookedNanoUsd,
  }));
}
