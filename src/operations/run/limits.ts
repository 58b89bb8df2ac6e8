import {
  isSameRun,
  type LimitPoint,
  type LimitRow,
  limitPoints,
  listLimits,
} from '../../store/limits/limit-rows.ts';
import { fullAtOf } from '../../store/limits/pace.ts';
import type { LimitWindowView } from '../schemas/limits.ts';
import type { Sources } from '../sources.ts';

const PPM = 1_000_000;
const HOUR_MS = 3_600_000;
const PARTS = 12;

export async function limits({ db, now }: Pick<Sources, 'db' | 'now'>): Promise<LimitWindowView[]> {
  const time = now();
  return listLimits(db).map((row) => viewOf(row, limitPoints(db, row.id, time - HOUR_MS), time));
}

function viewOf(row: LimitRow, points: readonly LimitPoint[], now: number): LimitWindowView {
  const isOver = row.resetsAt <= now;
  const run = points.filter((point) => isSameRun(point, row));
  const fullAt = isOver ? undefined : fullAtOf(row, run, now);
  return {
    object: 'limit_window',
    login: row.login,
    service: row.service,
    window: row.window,
    model: row.model || null,
    used: isOver ? 0 : row.usedPpm / PPM,
    resets_at: isOver ? null : new Date(row.resetsAt).toISOString(),
    status: isOver ? 'reset' : row.status,
    full_at: fullAt === undefined ? null : new Date(fullAt).toISOString(),
    updated_at: new Date(row.updatedAt).toISOString(),
    last_hour: Array.from({ length: PARTS }, (_, i) => {
      const end = now - HOUR_MS + ((i + 1) * HOUR_MS) / PARTS;
      const last = points.findLast(({ at, resetsAt }) => at <= end && resetsAt > end);
      return last ? last.usedPpm / PPM : null;
    }),
  };
}
