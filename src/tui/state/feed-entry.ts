import type { DashboardData } from '../../store/dashboard/reader.ts';

type Row = DashboardData['requests'][number];

/** A line of the feed: a request, or equal refusals in a row. */
export interface FeedEntry {
  /** The newest of them. */
  row: Row;
  count: number;
  /** When the first of them came in. */
  since: number;
}

/** Makes one line of refusals by the same budget that follow each other: an agent in a loop makes hundreds. */
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
