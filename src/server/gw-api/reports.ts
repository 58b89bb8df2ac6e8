import type { Clock } from '../../clock.ts';
import type { Settings } from '../../config/settings.ts';
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
  /** For prices. */
  pricing?: { settings: Settings; home: string } | undefined;
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
    /** Whether the thread runs and has answered. */
    isWarm: () => calls.answers > 0,
    /** Throws GwError as the operation does, and another error if the thread fails. */
    async read(
      name: Report,
      input: object,
      { calendar, scope, now, settings, home }: Sources,
    ): Promise<unknown> {
      const { projectId, project, admin, keyId } = scope;
      const call = { name, input, path, timezone: calendar.timezone, nowMs: now() };
      const pricing = name === 'backtest' ? { settings: settings(), home } : undefined;
      const own = { projectId, project, admin, keyId } as Scope;
      const result = await calls.call({ ...call, scope: own, pricing });
      if ('answer' in result) return result.answer;
      const { message, ...options } = result.refusal;
      throw new GwError(message, options);
    },
    close: calls.close,
  };
}
