import type { DashboardReading } from '../../operations/reader.ts';

type Row = DashboardReading['requests'][number];

/** A line of the feed: one request, or consecutive equal refusals. */
export interface FeedEntry {
  /** The newest request. */
  row: Row;
  count: number;
  /** Time of the oldest request, UTC milliseconds. */
  since: number;
}

/** Collapses consecutive refusals by the same budget into one entry: an agent in a loop causes hundreds. */
export function collapseFeed(rows: readonly Row[]): FeedEntry[] {
  const entries: FeedEntry[] = [];
  for (const row of rows) {
    const last = entries.at(-1);
    if (last && isSameRefusal(last.row, row)) {
      last.count++;
      last.since = row.timeMs;
    } else {
      entries.push({ row, count: 1, since: row.timeMs });
    }
  }
  return entries;
}

function isSameRefusal(a: Row, b: Row): boolean {
  return (
    a.outcome === 'blocked' &&
    b.outcome === 'blocked' &&
    a.project === b.project &&
    a.model === b.model &&
    a.budget === b.budget
  );
}
