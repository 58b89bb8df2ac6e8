import type { Clock } from '../../clock.ts';
import { GwError, type GwErrorOptions } from '../../errors.ts';
import type { Name } from '../../operations/registry.ts';
import type { Scope, Sources } from '../../operations/sources.ts';
import { createWorkerCalls, startBuiltWorker } from '../../worker-calls.ts';

/**
 * Operations that may read many records. In the daemon's own thread, a report over a million requests would keep all
 * requests waiting for a second. They write nothing, and need nothing of the daemon but the database.
 */
const REPORTS = [
  ...(['usage', 'usageTrends', 'cache', 'sessions', 'session', 'requestPage', 'calls', 'keys'] as const),
  ...(['backtest', 'suggestBudget', 'dashboardView'] as const),
];
type Report = (typeof REPORTS)[number];

export const isReport = (name: Name): name is Report => REPORTS.some((report) => report === name);

export interface ReportCall {
  name: Report;
  input: object;
  /** The database's. */
  path: string;
  timezone: string;
  scope: Scope;
  nowMs: number;
}

export type ReportAnswer = { answer: unknown } | { refusal: GwErrorOptions & { message: string } };

export type Reports = ReturnType<typeof createReports>;

/** Reads reports in a thread of its own, which starts with the first and ends a minute after the last. */
export function createReports({ path, clock }: { path: string; clock: Clock }) {
  const calls = createWorkerCalls<ReportCall, ReportAnswer>({
    name: 'report reader',
    startWorker: () => startBuiltWorker('reports-worker'),
    clock,
  });
  return {
    /** Throws GwError as the operation does, and another error if the thread fails. */
    async read(name: Report, input: object, { calendar, scope, now }: Sources): Promise<unknown> {
      const { projectId, project, admin, keyId } = scope;
      const call = { name, input, path, timezone: calendar.timezone, nowMs: now() };
      const result = await calls.call({ ...call, scope: { projectId, project, admin, keyId } as Scope });
      if ('answer' in result) return result.answer;
      const { message, ...options } = result.refusal;
      throw new GwError(message, options);
    },
    close: calls.close,
  };
}
