import { OUTCOMES, type Outcome } from '../store/ledger/record.ts';

/** Outcomes that reports count as failed. */
const FAILURES: readonly Outcome[] = ['upstream_error', 'upstream_failed', 'refused', 'crashed'];

/** What `--status` and `status=` accept besides HTTP statuses. */
export const STATUS_NAMES: readonly string[] = ['failed', 'fallback', ...Object.keys(OUTCOMES)];

export interface StatusFilter {
  status?: number;
  outcomes?: readonly Outcome[];
  /** Sent to a cheaper model. */
  isFallback?: true;
}

/** Parses an HTTP status, an outcome, `failed` for all outcomes that reports count as failed, or `fallback`. */
export function parseStatus(text: string): StatusFilter | undefined {
  if (/^[1-5]\d\d$/.test(text)) return { status: Number(text) };
  if (text === 'failed') return { outcomes: FAILURES };
  if (text === 'fallback') return { isFallback: true };
  return Object.hasOwn(OUTCOMES, text) ? { outcomes: [text as Outcome] } : undefined;
}
