import type { BudgetView } from '../../operations/schemas/budgets.ts';
import type { RequestView } from '../../operations/schemas/requests.ts';
import type { UsageViewRow } from '../../operations/schemas/usage.ts';
import type { FeedRow } from '../../store/dashboard/feed.ts';
import { shareOf } from '../../terminal/budget-words.ts';

/** What rows are in the order of: numbers the largest first, names from A to Z. */
type Key<Row> = (row: Row) => number | string;

const REQUESTS = {
  time: ({ id }) => id,
  cost: ({ costNanoUsd }) => costNanoUsd,
  tokens: ({ inputTokens, outputTokens }) => inputTokens + outputTokens,
  took: ({ durationMs }) => durationMs,
  model: ({ model }) => model,
  project: ({ project }) => project,
} satisfies Record<string, Key<FeedRow>>;

const BUDGETS = {
  // Full ones, then those that will run out, soonest first, then the fullest.
  urgency: ({ exceeded, reached_at }) =>
    exceeded
      ? Number.MAX_SAFE_INTEGER
      : reached_at === null
        ? -Number.MAX_SAFE_INTEGER
        : -Date.parse(reached_at),
  spent: ({ spent_nano_usd }) => spent_nano_usd,
  left: ({ left_nano_usd }) => left_nano_usd,
  cap: ({ cap_nano_usd }) => cap_nano_usd,
  name: ({ id }) => id,
} satisfies Record<string, Key<BudgetView>>;

const SESSIONS = {
  cost: ({ cost_nano_usd }) => cost_nano_usd,
  requests: ({ requests }) => requests,
  name: ({ session = '' }) => session,
} satisfies Record<string, Key<UsageViewRow>>;

const SESSION_REQUESTS = {
  time: ({ created_at }) => Date.parse(created_at),
  cost: ({ cost_nano_usd }) => cost_nano_usd,
  tokens: ({ input_tokens, output_tokens }) => input_tokens + output_tokens,
  model: ({ model }) => model,
} satisfies Record<string, Key<RequestView>>;

export type Sort = keyof typeof REQUESTS;
export type BudgetSort = keyof typeof BUDGETS;
export type SessionSort = keyof typeof SESSIONS;
export type SessionRequestSort = keyof typeof SESSION_REQUESTS;

const namesOf = <Name extends string>(keys: Record<Name, unknown>) => Object.keys(keys) as Name[];
export const SORTS = namesOf(REQUESTS);
export const BUDGET_SORTS = namesOf(BUDGETS);
export const SESSION_SORTS = namesOf(SESSIONS);
export const SESSION_REQUEST_SORTS = namesOf(SESSION_REQUESTS);

/** Rows of one order have the order in which they came. */
function sorted<Row>(rows: readonly Row[], key: Key<Row>): Row[] {
  return rows.toSorted((a, b) => {
    const [of, other] = [key(a), key(b)];
    if (of === other) return 0;
    return typeof of === 'number' ? Number(other) - of : of < other ? -1 : 1;
  });
}

export const sortedBudgets = (budgets: readonly BudgetView[], sort: BudgetSort): BudgetView[] =>
  sorted(sorted(budgets, shareOf), BUDGETS[sort]);

export const sortedEntries = <Entry extends { row: FeedRow }>(
  entries: readonly Entry[],
  sort: Sort,
): Entry[] => sorted(entries, ({ row }) => REQUESTS[sort](row));

export const sortedSessions = (rows: readonly UsageViewRow[], sort: SessionSort): UsageViewRow[] =>
  sorted(rows, SESSIONS[sort]);

export const sortedSessionRequests = (
  rows: readonly RequestView[],
  sort: SessionRequestSort,
): RequestView[] => sorted(rows, SESSION_REQUESTS[sort]);
