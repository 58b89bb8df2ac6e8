import { requestIdAt } from '../../ids.ts';
import type { Db } from '../database/open.ts';
import { newestFrom } from '../database/sql-parts.ts';
import { OUTCOMES } from '../ledger/record.ts';

/** The requests that one budget blocked. */
export interface BudgetBlocks {
  /** As `web/daily`. */
  budget: string;
  count: number;
  firstAt: number;
  lastAt: number;
  /** The model that the last one requested. */
  model: string;
}

export interface Blocks {
  /** Most blocked requests first. */
  budgets: BudgetBlocks[];
  /** The budget that blocked a request, by the request's public id. */
  budgetOf(requestId: string): string | undefined;
}

interface EventRow {
  sequence: number;
  createdAt: number;
  budget: string;
  requestId: string;
  model: string;
}

interface Folded {
  budget: string;
  more: number;
  lastAt: number;
}

/** How many events and records are searched when a window is opened. */
const MAX_SEARCHED = 20_000;
/** How many requests are cached. */
const MAX_CACHED = 2_000;

/** Reads the requests blocked since a time. Events are only appended, so each call reads the new ones alone. */
export function createBlocksReader(db: Db): (since: number) => Blocks {
  const newest = db.prepare<[], number>('SELECT coalesce(max(sequence), 0) FROM events').pluck();
  const select = db.prepare<[number, number], EventRow>(`
    SELECT sequence, created_at AS createdAt, data ->> '$.budget_id' AS budget,
    data ->> '$.request_id' AS requestId, data ->> '$.model' AS model
    FROM events WHERE sequence > ? AND created_at >= ? AND type = 'request.blocked' ORDER BY sequence`);
  // Refusals that share a record share its event.
  const folded = db.prepare<[number, number], Folded>(`
    SELECT detail ->> '$.budget' AS budget, sum(folded) AS more, max(at + folded_ms) AS lastAt FROM request_log
    WHERE id >= ? AND at >= ? AND id >= ${newestFrom(MAX_SEARCHED)} AND outcome = ${OUTCOMES.blocked} AND folded > 0
    GROUP BY 1`);
  let lastSince = -1;
  let last = 0;
  const budgets = new Map<string, BudgetBlocks>();
  const ofRequest = new Map<string, string>();

  function add({ createdAt, budget, requestId, model }: EventRow): void {
    const blocks = budgets.get(budget);
    budgets.set(budget, {
      budget,
      count: (blocks?.count ?? 0) + 1,
      firstAt: blocks?.firstAt ?? createdAt,
      lastAt: createdAt,
      model,
    });
    ofRequest.set(requestId, budget);
    const [oldest] = ofRequest.keys();
    if (ofRequest.size > MAX_CACHED && oldest !== undefined) ofRequest.delete(oldest);
  }

  return (since) => {
    if (since !== lastSince) {
      lastSince = since;
      last = Math.max(0, (newest.get() ?? 0) - MAX_SEARCHED);
      budgets.clear();
    }
    const rows = select.all(last, since);
    for (const row of rows) add(row);
    last = rows.at(-1)?.sequence ?? last;
    const all = new Map(budgets);
    const others = all.size === 0 ? [] : folded.all(requestIdAt(since), since);
    for (const { budget, more, lastAt } of others) {
      const blocks = all.get(budget);
      if (blocks)
        all.set(budget, { ...blocks, count: blocks.count + more, lastAt: Math.max(blocks.lastAt, lastAt) });
    }
    return {
      budgets: [...all.values()].sort((a, b) => b.count - a.count || b.lastAt - a.lastAt),
      budgetOf: (requestId) => ofRequest.get(requestId),
    };
  };
}
