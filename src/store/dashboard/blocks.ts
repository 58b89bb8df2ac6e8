import type { Db } from '../database/open.ts';

/** The requests that one budget refused. */
export interface BudgetBlocks {
  /** As `web/daily`. */
  budget: string;
  count: number;
  firstAt: number;
  lastAt: number;
  /** What the last one asked for. */
  model: string;
}

export interface Blocks {
  /** Most refusals first. */
  budgets: BudgetBlocks[];
  /** The budget that refused a request, by the request's id as people see it. */
  budgetOf(requestId: string): string | undefined;
}

interface EventRow {
  sequence: number;
  createdAt: number;
  budget: string;
  requestId: string;
  model: string;
}

/** How many of a window's events are looked at when it is opened, and how many requests are remembered. */
const LOOKED_AT = 20_000;
const REMEMBERED = 2_000;

/** Reads who refused what since a time. Events are only ever added, so each look reads but the new ones. */
export function createBlocksReader(db: Db): (since: number) => Blocks {
  const newest = db.prepare<[], number>('SELECT coalesce(max(sequence), 0) FROM events').pluck();
  const select = db.prepare<[number, number], EventRow>(
    `SELECT sequence, created_at AS createdAt, data ->> '$.budget_id' AS budget,
     data ->> '$.request_id' AS requestId, data ->> '$.model' AS model
     FROM events WHERE sequence > ? AND created_at >= ? AND type = 'request.blocked' ORDER BY sequence`,
  );
  let knownSince = -1;
  let last = 0;
  const budgets = new Map<string, BudgetBlocks>();
  const ofRequest = new Map<string, string>();

  function add({ createdAt, budget, requestId, model }: EventRow): void {
    const known = budgets.get(budget);
    budgets.set(budget, {
      budget,
      count: (known?.count ?? 0) + 1,
      firstAt: known?.firstAt ?? createdAt,
      lastAt: createdAt,
      model,
    });
    ofRequest.set(requestId, budget);
    const [oldest] = ofRequest.keys();
    if (ofRequest.size > REMEMBERED && oldest !== undefined) ofRequest.delete(oldest);
  }

  return (since) => {
    if (since !== knownSince) {
      knownSince = since;
      last = Math.max(0, (newest.get() ?? 0) - LOOKED_AT);
      budgets.clear();
    }
    const rows = select.all(last, since);
    for (const row of rows) add(row);
    last = rows.at(-1)?.sequence ?? last;
    return {
      budgets: [...budgets.values()].sort((a, b) => b.count - a.count || b.lastAt - a.lastAt),
      budgetOf: (requestId) => ofRequest.get(requestId),
    };
  };
}
