import type { Row } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import { changeConfiguration } from '../database/write.ts';

/** A bound of a hold that a provider's report has exceeded. */
export type DistrustedBound = Row<'distrustedBounds'>;

/** How long a bound stays off, unless a person switches it on before. */
const DISTRUST_MS = 30 * 86_400_000;

/** The bounds that are off at a time, the latest first. */
export function readDistrustedBounds(db: Db, now: number): DistrustedBound[] {
  return db
    .prepare<[number], DistrustedBound>(`SELECT provider, model, bound, at, request_id AS requestId
      FROM distrusted_bounds WHERE at > ? ORDER BY at DESC`)
    .all(now - DISTRUST_MS);
}

/** Switches a bound off. Call it within a transaction. */
export function distrustBound(db: Db, bound: DistrustedBound): void {
  db.prepare(`INSERT OR REPLACE INTO distrusted_bounds
    VALUES (@provider, @model, @bound, @at, @requestId)`).run(bound);
}

/** Switches all bounds on again; returns how many were off. Running daemons notice. */
export async function trustBounds(db: Db): Promise<number> {
  return changeConfiguration(db, () => db.prepare('DELETE FROM distrusted_bounds').run().changes);
}

/** The contradiction: a report that the bound should have ruled out. */
export function describeExcess(bound: string): string {
  if (bound === 'output') return 'wrote more output than its limit allowed';
  if (bound === 'maximum') return 'wrote more output than the maximum that is listed for it';
  if (bound === 'code') return 'read more than its rounds of code were held to add to the prompt';
  if (bound === 'free') return 'reported a cost, although its provider should not bill it';
  if (bound.startsWith('price ')) return 'cost more than the price that was held';
  return `reported more input than the ${bound} bound allowed`;
}
