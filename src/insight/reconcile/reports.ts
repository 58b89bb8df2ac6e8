import { z } from 'zod';
import { NANO_PER_USD, type NanoUsd } from '../../money.ts';

/** Inclusive UTC days, YYYY-MM-DD. */
export interface Days {
  from: string;
  to: string;
}

interface ReportPage<T> {
  lines: T[];
  /** Undefined on the last page. */
  next?: string | undefined;
}

export interface Report<T> {
  path(days: Days, page: string | undefined): string;
  /** Throws if the page isn't in the documented format. */
  read(page: unknown): ReportPage<T>;
}

/** A provider's cost report over HTTP, and the columns of its CSV export. */
export interface CostReport extends Report<BillLine> {
  /** Default origin of the report. */
  origin: string;
  /** Kind of key that may read the report, for messages. */
  key: string;
  headers(key: string): string[];
  /** The usage report, read with the same key. */
  usage: Report<UsageLine>;
  /** Number of past days that the report covers; undefined if unlimited. */
  pastDays?: number;
  columns: CsvColumns;
}

/** Names of columns, in order of preference. */
export interface CsvColumns {
  day: readonly string[];
  model: readonly string[];
  amount: readonly string[];
}

/** The next page. Throws if it is missing, because an incomplete report would look like unbilled requests. */
function nextOf(hasMore: boolean, next: string | null | undefined): string | undefined {
  if (!hasMore) return undefined;
  if (next) return next;
  throw new BillError('the report says that it has more pages, but not where');
}

const TIMES = { start_time: z.number(), starting_at: z.string() };

/** Reads pages of UTC days, each with its results. `time` is the field with the start of the day. */
function readDays<Result, Line extends object>(
  time: keyof typeof TIMES,
  result: z.ZodType<Result>,
  lineOf: (result: Result) => Line,
) {
  const Day = z.object({ [time]: TIMES[time], results: z.array(result) });
  const Page = z.object({ data: z.array(Day), has_more: z.boolean(), next_page: z.string().nullish() });
  return (page: unknown): ReportPage<Line & { day: string }> => {
    const { data, has_more, next_page } = Page.parse(page);
    const lines = data.flatMap(({ results, ...start }) =>
      (results as Result[]).map((each) => ({
        day: dayOf(start[time] as string | number) ?? '',
        ...lineOf(each),
      })),
    );
    return { lines, next: nextOf(has_more, next_page) };
  };
}

const bearer = (key: string) => ['authorization', `Bearer ${key}`];

const startOf = (day: string) => Date.parse(`${day}T00:00:00Z`);
const DAY_MS = 86_400_000;

/** Both of OpenAI's reports take the same parameters for days. */
const openAiPath = (name: string, days: Days, rest: Record<string, string>, page: string | undefined) => {
  const query = new URLSearchParams({
    start_time: String(startOf(days.from) / 1_000),
    end_time: String((startOf(days.to) + DAY_MS) / 1_000),
    bucket_width: '1d',
    ...rest,
    ...(page === undefined ? {} : { page }),
  });
  return `/v1/organization/${name}?${query}`;
};

/** https://platform.openai.com/docs/api-reference/usage/completions: the input includes cached tokens. */
const openAiUsage: Report<UsageLine> = {
  path: (days, page) => openAiPath('usage/completions', days, { group_by: 'model', limit: '31' }, page),
  read: readDays(
    'start_time',
    z.object({ input_tokens: z.number(), output_tokens: z.number(), model: z.string().nullish() }),
    ({ input_tokens, output_tokens, model }) => ({
      model: model ?? 'other',
      inputTokens: input_tokens,
      outputTokens: output_tokens,
    }),
  ),
};

/** https://platform.openai.com/docs/api-reference/usage/costs: buckets of UTC days, amounts in dollars. */
const openai: CostReport = {
  origin: 'https://api.openai.com',
  key: 'an admin key (sk-admin-...)',
  headers: bearer,
  path: (days, page) => openAiPath('costs', days, { group_by: 'line_item', limit: '180' }, page),
  usage: openAiUsage,
  read: readDays(
    'start_time',
    z.object({
      amount: z.object({ value: z.union([z.number(), z.string()]), currency: z.string() }),
      line_item: z.string().nullish(),
    }),
    ({ amount, line_item }) => {
      checkCurrency(amount.currency);
      const model = line_item ? modelOfLineItem(line_item) : 'other';
      return { model, nanoUsd: amountOf(amount.value) };
    },
  ),
  columns: {
    day: ['start_time_iso', 'start_time', 'usage_date_utc', 'date'],
    model: ['line_item', 'model'],
    amount: ['amount_value', 'cost_usd', 'amount'],
  },
};

const anthropicPath = (name: string, { from, to }: Days, groupBy: string, page: string | undefined) => {
  const query = new URLSearchParams({
    starting_at: `${from}T00:00:00Z`,
    ending_at: new Date(startOf(to) + DAY_MS).toISOString().replace('.000Z', 'Z'),
    bucket_width: '1d',
    'group_by[]': groupBy,
    limit: '31',
    ...(page === undefined ? {} : { page }),
  });
  return `/v1/organizations/${name}?${query}`;
};

/** https://platform.claude.com/docs/en/api/admin/usage_report/retrieve_messages: the input is split into parts. */
const anthropicUsage: Report<UsageLine> = {
  path: (days, page) => anthropicPath('usage_report/messages', days, 'model', page),
  read: readDays(
    'starting_at',
    z.object({
      uncached_input_tokens: z.number(),
      cache_read_input_tokens: z.number(),
      cache_creation: z.record(z.string(), z.number()).nullish(),
      output_tokens: z.number(),
      model: z.string().nullish(),
    }),
    ({ uncached_input_tokens, cache_read_input_tokens, cache_creation, output_tokens, model }) => ({
      model: model ?? 'other',
      inputTokens: [
        uncached_input_tokens,
        cache_read_input_tokens,
        ...Object.values(cache_creation ?? {}),
      ].reduce((sum, tokens) => sum + tokens, 0),
      outputTokens: output_tokens,
    }),
  ),
};

/** https://platform.claude.com/docs/en/api/admin/cost_report: buckets of UTC days, amounts in cents as decimal text. */
const anthropic: CostReport = {
  origin: 'https://api.anthropic.com',
  key: 'an admin key (sk-ant-admin...)',
  headers: (key) => ['x-api-key', key, 'anthropic-version', '2023-06-01'],
  path: (days, page) => anthropicPath('cost_report', days, 'description', page),
  usage: anthropicUsage,
  read: readDays(
    'starting_at',
    z.object({
      amount: z.string(),
      currency: z.string(),
      model: z.string().nullish(),
      description: z.string().nullish(),
      cost_type: z.string().nullish(),
    }),
    ({ amount, currency, model, description, cost_type }) => {
      checkCurrency(currency);
      return { model: model || description || cost_type || 'other', nanoUsd: amountOf(amount, 100) };
    },
  ),
  columns: { day: ['usage_date_utc', 'date'], model: ['model', 'cost_type'], amount: ['cost_usd'] },
};

const OpenRouterPage = z.object({
  data: z.array(
    z.object({
      date: z.string(),
      model: z.string(),
      usage: z.number(),
      prompt_tokens: z.number().default(0),
      completion_tokens: z.number().default(0),
    }),
  ),
});

/** https://openrouter.ai/docs/api/api-reference/analytics/get-user-activity: credits spent, in dollars, by UTC day. */
const openrouter: CostReport = {
  origin: 'https://openrouter.ai',
  key: 'a management key',
  headers: bearer,
  path: () => '/api/v1/activity',
  usage: {
    path: () => '/api/v1/activity',
    read(page) {
      const lines = OpenRouterPage.parse(page).data.map(({ date, model, ...counts }) => ({
        day: dayOf(date) ?? '',
        model,
        inputTokens: counts.prompt_tokens,
        outputTokens: counts.completion_tokens,
      }));
      return { lines };
    },
  },
  read(page) {
    const lines = OpenRouterPage.parse(page).data.map(({ date, model, usage }) => ({
      day: dayOf(date) ?? '',
      model,
      nanoUsd: amountOf(usage),
    }));
    return { lines };
  },
  pastDays: 30,
  columns: {
    day: ['created_at', 'date'],
    model: ['model_permaslug', 'model'],
    amount: ['cost_total', 'usage'],
  },
};

/** By preset name of the provider. */
export const COST_REPORTS: Readonly<Record<string, CostReport>> = { anthropic, openai, openrouter };

/** A provider's charge for a model on a UTC day. */
export interface BillLine {
  /** UTC, YYYY-MM-DD. */
  day: string;
  /** The provider's model name, or its name for another item, such as "web search tool calls". */
  model: string;
  nanoUsd: NanoUsd;
}

/** A provider's token counts for a model on a UTC day. */
export interface UsageLine extends Pick<BillLine, 'day' | 'model'> {
  /** Includes cached input and cache writes. */
  inputTokens: number;
  outputTokens: number;
}

/** A report that the provider refused, or that isn't in the documented format. The message is for the user. */
export class BillError extends Error {
  override readonly name = 'BillError';
}

const DECIMAL = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/** Converts a number or decimal text in dollars, or in a fraction of them (`perUsd` 100: cents), to nano-USD. */
export function amountOf(value: unknown, perUsd = 1): NanoUsd {
  const text = typeof value === 'string' ? value.trim().replace(/^(-?)\$/, '$1') : value;
  const amount = typeof text === 'string' && DECIMAL.test(text) ? Number(text) : text;
  const nano = typeof amount === 'number' ? Math.round((amount * NANO_PER_USD) / perUsd) : Number.NaN;
  if (Number.isSafeInteger(nano)) return nano;
  throw new BillError(`${JSON.stringify(value)} is not an amount in dollars`);
}

/** Throws for any currency except US dollars, the ledger's currency. */
export function checkCurrency(currency: unknown): void {
  if (typeof currency === 'string' && currency !== '' && currency.toLowerCase() !== 'usd')
    throw new BillError(`the report is in ${JSON.stringify(currency)}; gw's ledger is in US dollars`);
}

/**
 * The model in an OpenAI line item, such as "gpt-5.5-2026-04-23, cached input" or "priority | gpt-5.5, output, long
 * context". Items without a model stay unchanged.
 */
export function modelOfLineItem(item: string): string {
  const [head = '', kind] = item.replace(/^[\w ]+ \| /, '').split(',');
  return kind === undefined ? item : (head.trim().split(' ')[0] ?? item);
}

/** The UTC day of a date, a time with or without a zone, or seconds since 1970. Undefined for anything else. */
export function dayOf(time: string | number): string | undefined {
  const text = String(time).trim();
  if (/^\d{4}-\d{2}-\d{2}([T ][\d:.]*)?( ?UTC)?$/i.test(text)) return text.slice(0, 10);
  const ms = /^\d{9,11}(\.\d+)?$/.test(text)
    ? Number(text) * 1_000
    : /^\d{4}-/.test(text)
      ? Date.parse(text)
      : Number.NaN;
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString().slice(0, 10);
}
