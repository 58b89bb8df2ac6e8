import type { Row } from '../database/columns.ts';
import { columnsAs } from '../database/columns.ts';
import type { Db } from '../database/open.ts';

/** A window of a login, as it was stated last. */
export type LimitRow = Row<'limits'>;
export type LimitReading = Pick<
  LimitRow,
  'login' | 'service' | 'window' | 'model' | 'usedPpm' | 'resetsAt' | 'status' | 'updatedAt'
>;

const COLUMNS = columnsAs([
  'id',
  'login',
  'service',
  'window',
  'model',
  'usedPpm',
  'resetsAt',
  'status',
  'updatedAt',
  'alertedPercent',
  'alertedForecast',
]);

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const KEPT_MS = 90 * DAY_MS;
/** Rows deleted in one step. */
const ROWS = 250;
/** Header names are the vendor's: more than these are no names. */
const MAX_ODDITIES = 50;
/** The stated time of one reset moves by seconds. */
const SAME_RESET_MS = 15 * MINUTE_MS;
/** A fall by so much, to less than half, is none of rounding, or of answers that overtake each other. */
const FALL_PPM = 50_000;

/**
 * Whether a window goes on from one statement to a later one, or has begun anew. Vendors empty windows before their stated
 * reset (https://github.com/anthropics/claude-code/issues/52497) and put a reset off while the window fills on
 * (https://github.com/anthropics/claude-code/issues/84744).
 */
export function goesOn(
  last: Pick<LimitPoint, 'usedPpm' | 'resetsAt'>,
  { at, usedPpm, resetsAt }: LimitPoint,
): boolean {
  if (usedPpm * 2 < last.usedPpm && last.usedPpm - usedPpm >= FALL_PPM) return false;
  if (Math.abs(last.resetsAt - resetsAt) <= SAME_RESET_MS) return true;
  return at < last.resetsAt - SAME_RESET_MS && usedPpm >= last.usedPpm;
}

/** The statements, oldest first, since the window last began anew. */
export function lastRun(points: readonly LimitPoint[]): readonly LimitPoint[] {
  const start = points.findLastIndex((point, i) => {
    const last = points[i - 1];
    return last === undefined || !goesOn(last, point);
  });
  return points.slice(Math.max(start, 0));
}

export function createLimitRows(db: Db) {
  const find = db.prepare<LimitReading, Pick<LimitPoint, 'usedPpm' | 'resetsAt'>>(`
    SELECT used_ppm AS usedPpm, resets_at AS resetsAt FROM limits
    WHERE login = @login AND window = @window AND model = @model`);
  const upsert = db.prepare<LimitReading & { goesOn: number }, LimitRow>(`
    INSERT INTO limits (login, service, window, model, used_ppm, resets_at, status, updated_at)
    VALUES (@login, @service, @window, @model, @usedPpm, @resetsAt, @status, @updatedAt)
    ON CONFLICT (login, window, model) DO UPDATE SET used_ppm = @usedPpm, status = @status, updated_at = @updatedAt,
      alerted_percent = iif(@goesOn, alerted_percent, 0), alerted_forecast = iif(@goesOn, alerted_forecast, 0),
      resets_at = @resetsAt
    RETURNING ${COLUMNS}`);
  const remember = db.prepare<Row<'limitHistory'>>(`
    INSERT INTO limit_history (limit_id, minute, at, used_ppm, resets_at)
    VALUES (@limitId, @minute, @at, @usedPpm, @resetsAt)
    ON CONFLICT DO UPDATE SET at = @at, used_ppm = @usedPpm, resets_at = @resetsAt`);
  const addOddity = db.prepare<[string, string, string, number]>(`
    INSERT INTO limit_oddities (service, header, problem, at) SELECT ?, ?, ?, ?
    WHERE (SELECT count(*) FROM limit_oddities) < ${MAX_ODDITIES}
    ON CONFLICT DO UPDATE SET problem = excluded.problem, at = excluded.at`);
  return {
    /** Writes what an answer stated. Call it within a write transaction. */
    write(reading: LimitReading): LimitRow {
      const { usedPpm, resetsAt, updatedAt: at } = reading;
      const last = find.get(reading);
      const isOn = last !== undefined && goesOn(last, { at, usedPpm, resetsAt });
      // RETURNING always has the row.
      const row = upsert.get({ ...reading, goesOn: Number(isOn) }) as LimitRow;
      remember.run({ limitId: row.id, minute: Math.floor(at / MINUTE_MS), at, usedPpm, resetsAt });
      return row;
    },
    addOddity: (service: string, { header, problem }: { header: string; problem: string }, at: number) =>
      void addOddity.run(service, header, problem, at),
  };
}

export function markAlerted(
  db: Db,
  id: number,
  { percent, forecast }: { percent: number; forecast: number },
): void {
  db.prepare<[number, number, number]>(
    'UPDATE limits SET alerted_percent = ?, alerted_forecast = ? WHERE id = ?',
  ).run(percent, forecast, id);
}

export const projectsWithWebhooks = (db: Db): number[] =>
  db
    .prepare<[], number>('SELECT DISTINCT project_id FROM webhook_endpoints WHERE disabled_at IS NULL')
    .pluck()
    .all();

/** Deletes what is older than 90 days, a few rows a call. Returns whether there may be more. */
export function pruneLimits(db: Db, now: number): boolean {
  const { changes } = db
    .prepare<[number]>(`DELETE FROM limit_history WHERE (limit_id, minute) IN (SELECT h.limit_id, h.minute
      FROM limits l CROSS JOIN limit_history h ON h.limit_id = l.id AND h.minute < ? LIMIT ${ROWS})`)
    .run(Math.floor((now - KEPT_MS) / MINUTE_MS));
  return changes === ROWS;
}

export const listLimits = (db: Db): LimitRow[] =>
  db.prepare<[], LimitRow>(`SELECT ${COLUMNS} FROM limits ORDER BY service, login, model, resets_at`).all();

/** What a window stood at over time. */
export interface LimitPoint {
  at: number;
  usedPpm: number;
  resetsAt: number;
}

/** The statements of a window since a time, oldest first, with the last one before it. */
export function limitPoints(db: Db, limitId: number, since: number): LimitPoint[] {
  const minute = Math.floor(since / MINUTE_MS);
  return db
    .prepare<{ limitId: number; minute: number }, LimitPoint>(`
      SELECT at, used_ppm AS usedPpm, resets_at AS resetsAt FROM limit_history
      WHERE limit_id = @limitId AND minute >= coalesce((SELECT max(minute) FROM limit_history
        WHERE limit_id = @limitId AND minute < @minute), @minute) ORDER BY minute`)
    .all({ limitId, minute });
}

export const listOddities = (db: Db): Row<'limitOddities'>[] =>
  db
    .prepare<[], Row<'limitOddities'>>(
      'SELECT service, header, problem, at FROM limit_oddities ORDER BY service, header',
    )
    .all();
