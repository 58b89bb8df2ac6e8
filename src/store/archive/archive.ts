import type { Clock } from '../../clock.ts';
import type { Db } from '../database/open.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { requestColumns } from '../ledger/request-columns.ts';
import { createRollups } from './rollups.ts';
import { createUsageSums, type UsageSums } from './usage-sums.ts';

interface ArchiverOptions {
  ledger: Pick<Ledger, 'onCommit' | 'writeApart'>;
  archive: Pick<Archive, 'takeOver'>;
  clock: Clock;
  onError: (error: unknown) => void;
}

/** How long ended requests wait to be archived together. */
const EVERY_MS = 1_000;
/** The pause between two batches lets requests run. */
const PAUSE_MS = 10;

/** Archives ended requests a second after a commit, off the requests' own way, until the returned function is called. */
export function startArchiver(options: ArchiverOptions): () => Promise<void> {
  const { ledger, clock, onError } = options;
  let isStopped = false;
  let isRunning = false;
  let cancel: (() => void) | undefined;
  let running: Promise<void> = Promise.resolve();

  function schedule(ms: number): void {
    cancel ??= clock.after(ms, () => {
      cancel = undefined;
      running = run();
    });
  }

  async function run(): Promise<void> {
    isRunning = true;
    const isMore = await takeOver(options).catch((error) => {
      onError(error);
      return false;
    });
    isRunning = false;
    if (isMore && !isStopped) schedule(PAUSE_MS);
  }

  ledger.onCommit(() => {
    // Its own commit leads to no other.
    if (!isRunning && !isStopped) schedule(EVERY_MS);
  });
  return () => {
    isStopped = true;
    cancel?.();
    return running;
  };
}

/** Archives all requests that have ended. */
export async function archiveAll(options: Omit<ArchiverOptions, 'onError'>): Promise<void> {
  while (await takeOver(options));
}

function takeOver({ ledger, archive, clock }: Omit<ArchiverOptions, 'onError'>): Promise<boolean> {
  return ledger.writeApart(() => archive.takeOver(clock.now()));
}

/**
 * Takes ended requests over from the journal: in batches, since each index, each rollup and each session then costs a
 * page for many requests. Reports read both, so that nothing is invisible in between. Any daemon on the database may
 * do this at any time. Call its functions within a write transaction.
 */
export interface Archive extends Pick<UsageSums, 'sumNextHour'> {
  /** Archives the oldest ended requests. Returns whether there may be more. */
  takeOver(now: number): boolean;
}

/** Rows taken over at once: about 3 ms. */
const ROWS = 256;
/** Longer searches for a caller, and rows that count refusals, are not waited for; their daemon may be dead. */
export const SEARCH_MS = 60_000;

/** The columns that both tables have. */
const COLUMNS = requestColumns(({ only }) => only === undefined).join(', ');
const DETAILS = requestColumns(({ only }) => only === 'details').join(', ');

const ENDED = '(state = 1 OR (state = 2 AND at < @searchedUntil))';
const TAKEN = `${ENDED} AND id <= @last`;

export function createArchive(db: Db): Archive {
  type Parameters = Record<string, number>;
  const selectLast = db
    .prepare<[Parameters], number | null>(`SELECT max(id) FROM (SELECT id FROM journal WHERE ${ENDED}
      ORDER BY id LIMIT ${ROWS})`)
    .pluck();
  const insert = db.prepare<[Parameters]>(`INSERT INTO requests (${COLUMNS}) SELECT ${COLUMNS} FROM journal
    WHERE ${TAKEN} ORDER BY id`);
  const insertDetails = db.prepare<[Parameters]>(`INSERT INTO request_details (id, ${DETAILS})
    SELECT id, ${DETAILS} FROM journal WHERE ${TAKEN} AND coalesce(${DETAILS}) IS NOT NULL ORDER BY id`);
  const remove = db.prepare<[Parameters]>(`DELETE FROM journal WHERE ${TAKEN}`);
  const sums = createUsageSums(db);
  const rollups = createRollups(db, { sums, where: TAKEN });
  return {
    takeOver(now) {
      const searchedUntil = now - SEARCH_MS;
      const last = selectLast.get({ searchedUntil });
      if (last === null || last === undefined) return false;
      const rows = { searchedUntil, last };
      insertDetails.run(rows);
      rollups.add(rows);
      const { changes } = insert.run(rows);
      remove.run(rows);
      return changes === ROWS;
    },
    sumNextHour: sums.sumNextHour,
  };
}
