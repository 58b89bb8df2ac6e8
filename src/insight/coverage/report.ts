import type { LoggedCall } from '../../agents/logs/logged-call.ts';
import { grouped } from '../../json/grouped.ts';
import { type NanoUsd, usdFields } from '../../money.ts';
import type { AgentCoverage } from './find-bypass.ts';

/** Output of `gw coverage --json`. */
export type CoverageReport = ReturnType<typeof coverageReport>;
export type SessionCoverage = ReturnType<typeof sessionCoverage>;
type Figures = Omit<SessionCoverage, 'agent' | 'session_id' | 'first_at' | 'last_at' | 'models' | 'cwd'>;

interface ReportOptions {
  from: number;
  to: number;
  /** List price of a call; undefined if unknown. */
  priceOf: (call: LoggedCall) => NanoUsd | undefined;
}

/** Sums coverage by session, latest first. */
export function coverageReport(coverage: readonly AgentCoverage[], { from, to, priceOf }: ReportOptions) {
  const data = coverage
    .flatMap((each) =>
      [...grouped(each.reading.calls, ({ sessionId }) => sessionId).values()].map((calls) =>
        sessionCoverage(each, calls, priceOf),
      ),
    )
    .sort((a, b) => b.last_at.localeCompare(a.last_at));
  return {
    object: 'coverage' as const,
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    data,
    total: { sessions: data.length, ...sum(data) },
    logs: coverage.map(({ agent, reading: { files, lines, damaged, unread } }) => ({
      agent,
      files,
      lines,
      damaged_lines: [...damaged.values()].reduce((all, each) => all + each.length, 0),
      unread_files: [...unread],
    })),
  };
}

/** Coverage of one session, whose calls are sorted by time. */
function sessionCoverage(
  { agent, bypassed }: AgentCoverage,
  calls: readonly LoggedCall[],
  priceOf: ReportOptions['priceOf'],
) {
  const prices = calls.filter((call) => bypassed.has(call)).map(priceOf);
  const nanoUsd = prices.reduce<number>((all, price) => all + (price ?? 0), 0);
  const timeAt = (index: number) => new Date(calls.at(index)?.at ?? 0).toISOString();
  return {
    agent,
    session_id: calls[0]?.sessionId ?? '',
    first_at: timeAt(0),
    last_at: timeAt(-1),
    models: [...new Set(calls.map(({ model }) => model))].filter((model) => model !== ''),
    cwd: calls[0]?.cwd || null,
    requests: calls.length,
    covered_requests: calls.length - prices.length,
    bypassed_requests: prices.length,
    // At list price, without those whose price is unknown.
    ...usdFields('bypassed', nanoUsd),
    unpriced_requests: prices.filter((price) => price === undefined).length,
  };
}

/** Totals over rows. */
export function sum(rows: readonly Figures[]): Figures {
  const over = (name: keyof Figures) => rows.reduce((all, row) => all + row[name], 0);
  const nanoUsd = over('bypassed_nano_usd');
  return {
    requests: over('requests'),
    covered_requests: over('covered_requests'),
    bypassed_requests: over('bypassed_requests'),
    ...usdFields('bypassed', nanoUsd),
    unpriced_requests: over('unpriced_requests'),
  };
}
