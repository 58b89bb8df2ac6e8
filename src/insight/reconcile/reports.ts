import { z } from 'zod';
import {
  amountOf,
  BillError,
  type BillLine,
  checkCurrency,
  dayOf,
  modelOfLineItem,
  type UsageLine,
} from './bill.ts';

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

const pages = { has_more: z.boolean(), next_page: z.string().nullish() };

/** The next page. Throws if it is missing, because an incomplete report would look like unbilled requests. */
function nextOf(hasMore: boolean, next: string | null | undefined): string | undefined {
  if (!hasMore) return undefined;
  if (next) return next;
  throw new BillError('the report says that it has more pages, but not where');
}

const bearer = (key: string) => ['authorization', `Bearer ${key}`];
const startOf = (day: string) => Date.parse(`${day}T00:00:00Z`);
const DAY_MS = 86_400_000;

const OpenAiPage = z.object({
  data: z.array(
    z.object({
      start_time: z.number(),
      results: z.array(
        z.object({
          amount: z.object({ value: z.union([z.number(), z.string()]), currency: z.string() }),
          line_item: z.string().nullish(),
        }),
      ),
    }),
  ),
  ...pages,
});

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

const OpenAiUsagePage = z.object({
  data: z.array(
    z.object({
      start_time: z.number(),
      results: z.array(
        z.object({ input_tokens: z.number(), output_tokens: z.number(), model: z.string().nullish() }),
      ),
    }),
  ),
  ...pages,
});

/** https://platform.openai.com/docs/api-reference/usage/completions: the input includes cached tokens. */
const openAiUsage: Report<UsageLine> = {
  path: (days, page) => openAiPath('usage/completions', days, { group_by: 'model', limit: '31' }, page),
  read(page) {
    const { data, has_more, next_page } = OpenAiUsagePage.parse(page);
    const lines = data.flatMap(({ start_time, results }) =>
      results.map(({ input_tokens, output_tokens, model }) => ({
        day: dayOf(start_time) ?? '',
        model: model ?? 'other',
        inputTokens: input_tokens,
        outputTokens: output_tokens,
      })),
    );
    return { lines, next: nextOf(has_more, next_page) };
  },
};

/** https://platform.openai.com/docs/api-reference/usage/costs: buckets of UTC days, amounts in dollars. */
const openai: CostReport = {
  origin: 'https://api.openai.com',
  key: 'an admin key (sk-admin-...)',
  headers: bearer,
  path: (days, page) => openAiPath('costs', days, { group_by: 'line_item', limit: '180' }, page),
  usage: openAiUsage,
  read(page) {
    const { data, has_more, next_page } = OpenAiPage.parse(page);
    const lines = data.flatMap(({ start_time, results }) =>
      results.map(({ amount, line_item }) => {
        checkCurrency(amount.currency);
        return {
          day: dayOf(start_time) ?? '',
          model: line_item ? modelOfLineItem(line_item) : 'other',
          nanoUsd: amountOf(amount.value),
        };
      }),
    );
    return { lines, next: nextOf(has_more, next_page) };
  },
  columns: {
    day: ['start_time_iso', 'start_time', 'usage_date_utc', 'date'],
    model: ['line_item', 'model'],
    amount: ['amount_value', 'cost_usd', 'amount'],
  },
};

const AnthropicPage = z.object({
  data: z.array(
    z.object({
      starting_at: z.string(),
      results: z.array(
        z.object({
          amount: z.string(),
          currency: z.string(),
          model: z.string().nullish(),
          description: z.string().nullish(),
          cost_type: z.string().nullish(),
        }),
      ),
    }),
  ),
  ...pages,
});

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

const AnthropicUsagePage = z.object({
  data: z.array(
    z.object({
      starting_at: z.string(),
      results: z.array(
        z.object({
          uncached_input_tokens: z.number(),
          cache_read_input_tokens: z.number(),
          cache_creation: z.record(z.string(), z.number()).nullish(),
          output_tokens: z.number(),
          model: z.string().nullish(),
        }),
      ),
    }),
  ),
  ...pages,
});

/** https://platform.claude.com/docs/en/api/admin/usage_report/retrieve_messages: the input is split into parts. */
const anthropicUsage: Report<UsageLine> = {
  path: (days, page) => anthropicPath('usage_report/messages', days, 'model', page),
  read(page) {
    const { data, has_more, next_page } = AnthropicUsagePage.parse(page);
    const lines = data.flatMap(({ starting_at, results }) =>
      results.map((counts) => ({
        day: dayOf(starting_at) ?? '',
        model: counts.model ?? 'other',
        inputTokens: [
          counts.uncached_input_tokens,
          counts.cache_read_input_tokens,
          ...Object.values(counts.cache_creation ?? {}),
        ].reduce((sum, tokens) => sum + tokens, 0),
        outputTokens: counts.output_tokens,
      })),
    );
    return { lines, next: nextOf(has_more, next_page) };
  },
};

/** https://platform.claude.com/docs/en/api/admin/cost_report: buckets of UTC days, amounts in cents as decimal text. */
const anthropic: CostReport = {
  origin: 'https://api.anthropic.com',
  key: 'an admin key (sk-ant-admin...)',
  headers: (key) => ['x-api-key', key, 'anthropic-version', '2023-06-01'],
  path: (days, page) => anthropicPath('cost_report', days, 'description', page),
  usage: anthropicUsage,
  read(page) {
    const { data, has_more, next_page } = AnthropicPage.parse(page);
    const lines = data.flatMap(({ starting_at, results }) =>
      results.map(({ amount, currency, model, description, cost_type }) => {
        checkCurrency(currency);
        return {
          day: dayOf(starting_at) ?? '',
          model: model || description || cost_type || 'other',
          nanoUsd: amountOf(amount, 100),
        };
      }),
    );
    return { lines, next: nextOf(has_more, next_page) };
  },
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
