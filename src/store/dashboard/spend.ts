import type { Calendar, Span } from '../../calendar.ts';
import { requestIdAt } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import { summedUsage } from '../archive/usage-sums.ts';
import type { Db } from '../database/open.ts';
import { BILLED_NANO_USD } from '../ledger/record.ts';

/** What the parts of the spend can be of. */
export const PARTS = ['model', 'agent', 'project'] as const;
export type PartBy = (typeof PARTS)[number];
/** What the chart of a terminal stacks. */
export const STACKS = ['model', 'agent'] as const satisfies PartBy[];
export type StackBy = (typeof STACKS)[number];

/** Spend in each minute, hour or day of a window; undefined in the future. */
type Series = (NanoUsd | undefined)[];

/** What a model, an agent or a project has spent. */
interface SpendPart {
  /** '' if unknown; null for all that have no part of their own. */
  name: string | null;
  series: Series;
}

export interface WindowSpend {
  series: Series;
  /** The dearest first; together they are the series. */
  parts: SpendPart[];
}

interface SpendQuery {
  window: 'hour' | 'day' | 'month';
  by: PartBy;
  span: Span;
  now: number;
}

/** Spend of a model, agent or project in a minute or hour of the span. */
interface Piece {
  slot: number;
  name: string;
  cost: NanoUsd;
}

/** More parts would be too thin to tell apart. */
const MOST_PARTS = 6;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Reads the spend of a window over time, by model, agent or project. */
export function createSpendReader(
  db: Db,
  calendar: Calendar,
  projectId: number,
): (query: SpendQuery) => WindowSpend {
  const readersOf = <Reader>(create: (by: PartBy) => Reader) =>
    Object.fromEntries(PARTS.map((by) => [by, create(by)])) as Record<PartBy, Reader>;
  const readMinutes = readersOf((by) => createMinuteReader(db, by));
  const readHours = readersOf((by) => createHourReader(db, by, projectId));

  return ({ window, by, span, now }) => {
    const starts = startsOf(window, span, calendar);
    if (window !== 'month') {
      const pieces = window === 'hour' ? readMinutes[by](span, now) : readHours[by](span);
      return spendOf(pieces, starts, now);
    }
    // The rollups know hours; a local day has those that begin in it.
    const dayOf = (slot: number) => starts.findLastIndex((start) => start <= span.start + slot * HOUR_MS);
    const pieces = readHours[by](span).map(({ slot, ...piece }) => ({ ...piece, slot: dayOf(slot) }));
    return spendOf(pieces, starts, now);
  };
}

/** When each minute, hour or local day of the window begins. */
function startsOf(window: SpendQuery['window'], span: Span, calendar: Calendar): number[] {
  const starts: number[] = [];
  for (let start = span.start; start < span.end; ) {
    starts.push(start);
    start = window === 'month' ? calendar.day(start).end : start + (window === 'hour' ? MINUTE_MS : HOUR_MS);
  }
  return starts;
}

function spendOf(pieces: readonly Piece[], starts: readonly number[], now: number): WindowSpend {
  const totals = new Map<string, NanoUsd>();
  for (const { name, cost } of pieces) totals.set(name, (totals.get(name) ?? 0) + cost);
  const dearest = [...totals].filter(([, cost]) => cost > 0).sort((a, b) => b[1] - a[1]);
  const named = dearest.length > MOST_PARTS ? dearest.slice(0, MOST_PARTS - 1) : dearest;
  const rows = new Map<string | null, NanoUsd[]>(named.map(([name]) => [name, starts.map(() => 0)]));
  if (named.length < dearest.length)
    rows.set(
      null,
      starts.map(() => 0),
    );
  const sums = starts.map(() => 0);
  for (const { slot, name, cost } of pieces) {
    if (cost === 0) continue;
    sums[slot] = (sums[slot] ?? 0) + cost;
    const row = rows.get(name) ?? rows.get(null);
    if (row) row[slot] = (row[slot] ?? 0) + cost;
  }
  const untilNow = (costs: readonly NanoUsd[]): Series =>
    costs.map((cost, i) => ((starts[i] ?? 0) > now ? undefined : cost));
  return {
    series: untilNow(sums),
    parts: [...rows].map(([name, costs]) => ({ name, series: untilNow(costs) })),
  };
}

/** The table with the names of what parts are of. */
const namesOf = (by: PartBy) => (by === 'project' ? 'projects' : 'names');

function createHourReader(db: Db, by: PartBy, projectId: number): (span: Span) => Piece[] {
  const select = db.prepare<Span, Piece>(`
    SELECT (u.bucket - CAST(@start AS INTEGER)) / ${HOUR_MS} AS slot, n.name, sum(u.cost_nano_usd) AS cost
    FROM (${summedUsage(by, projectId)}) u JOIN ${namesOf(by)} n ON n.id = u.${by}_id GROUP BY 1, 2`);
  return (span) => select.all(span);
}

/** A request is recorded when it ends, in the minute in which it came in: most end within this time. */
const OPEN_MINUTES = 3;

/**
 * Reads what was spent in each minute of a span. Reading an hour of requests at each tick would cost more than the rest
 * of the dashboard, so a tick reads the last minutes, and the whole span once a minute.
 */
function createMinuteReader(db: Db, by: PartBy): (span: Span, now: number) => Piece[] {
  const select = db.prepare<Record<'start' | 'first' | 'from' | 'to', number>, Piece>(`
    SELECT (r.at - CAST(@start AS INTEGER)) / ${MINUTE_MS} AS slot, n.name, sum(${BILLED_NANO_USD}) AS cost
    FROM request_log r JOIN ${namesOf(by)} n ON n.id = r.${by}_id
    WHERE r.id >= @first AND r.at >= @from AND r.at < @to GROUP BY 1, 2`);
  let cached: Piece[] = [];
  let cachedStart = 0;
  let completeAt = 0;
  return ({ start, end }, now) => {
    const isComplete = start === cachedStart && now - completeAt < MINUTE_MS && now >= completeAt;
    if (!isComplete) {
      cachedStart = start;
      completeAt = now;
    }
    const current = Math.floor((now - start) / MINUTE_MS);
    const first = isComplete ? Math.max(0, current + 1 - OPEN_MINUTES) : 0;
    const from = start + first * MINUTE_MS;
    const rows = select.all({ start, first: requestIdAt(from), from, to: end });
    cached = [...cached.filter(({ slot }) => isComplete && slot < first), ...rows];
    return cached;
  };
}
