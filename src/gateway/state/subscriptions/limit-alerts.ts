import type { Db } from '../../../store/database/open.ts';
import type { Ledger } from '../../../store/ledger/ledger.ts';
import {
  type LimitReading,
  type LimitRow,
  lastRun,
  limitPoints,
  markAlerted,
  projectsWithWebhooks,
} from '../../../store/limits/limit-rows.ts';
import { fullAtOf } from '../../../store/limits/pace.ts';

interface LimitAlertsOptions {
  db: Db;
  emit: Ledger['emit'];
  /** Percent of a window, ascending. */
  percents: () => readonly number[];
  /** Whether to announce that a window will be full before it resets. */
  isForecasting: () => boolean;
}

const PPM = 1_000_000;
const HOUR_MS = 3_600_000;
/** A rate of less time says little. */
const LEAST_MS = 20 * 60_000;

/** Announces what a window has reached, within the transaction that writes it: each once until it resets. */
export function createLimitAlerts({ db, emit, percents, isForecasting }: LimitAlertsOptions) {
  const send = (row: LimitRow, projectId: number, more: Record<string, unknown>) => {
    const data = { ...dataOf(row), ...more };
    // An account belongs to no project: those that listen hear of it, and the one that sent the request.
    for (const id of new Set([projectId, ...projectsWithWebhooks(db)]))
      emit('budget.threshold_reached', id, data);
  };
  return (row: LimitRow, projectId: number): void => {
    const reached = percents().filter(
      (percent) => percent > row.alertedPercent && row.usedPpm * 100 >= percent * PPM,
    );
    for (const percent of reached) send(row, projectId, { alert_percent: percent });
    const fullAt = isForecasting() && row.alertedForecast === 0 ? forecast(db, row) : undefined;
    if (fullAt !== undefined)
      send(row, projectId, { forecast: true, full_at: new Date(fullAt).toISOString() });
    const highest = reached.at(-1) ?? row.alertedPercent;
    if (reached.length > 0 || fullAt !== undefined)
      markAlerted(db, row.id, { percent: highest, forecast: fullAt === undefined ? row.alertedForecast : 1 });
  };
}

function dataOf({ login, service, window, model, usedPpm, resetsAt }: LimitReading): Record<string, unknown> {
  return {
    kind: 'limit_window',
    login,
    service,
    window,
    model: model || null,
    used: usedPpm / PPM,
    resets_at: new Date(resetsAt).toISOString(),
  };
}

function forecast(db: Db, row: LimitRow): number | undefined {
  const now = row.updatedAt;
  const run = lastRun(limitPoints(db, row.id, now - HOUR_MS));
  const [first] = run;
  return first && now - first.at >= LEAST_MS && row.usedPpm < PPM ? fullAtOf(row, run, now) : undefined;
}
