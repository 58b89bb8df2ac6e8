import { ConnectError } from '../../network/connect-error.ts';
import type { FailureClass } from '../../routing/failure.ts';
import type { Outcome } from '../../store/ledger/record.ts';
import { type CallEnd, TOO_LONG } from '../upstream/send.ts';
import type { AttemptResult } from './attempt.ts';

/** The outcome of an attempt as the request record has it. */
export interface RecordedOutcome {
  status: number;
  outcome: Outcome;
  detail: Record<string, unknown> | undefined;
}

/** Error codes of a budget without room. */
const BLOCKED = new Set(['budget_exceeded', 'rate_exceeded']);

export function recordedOutcome(result: AttemptResult): RecordedOutcome {
  const { relay, end, failure } = result;
  const { status, abandonedStatus } = relay;
  if (abandonedStatus !== undefined)
    return { status: abandonedStatus || 499, outcome: 'client_gone', detail: undefined };
  switch (end.kind) {
    case 'capped':
      return { status, outcome: 'capped', detail: undefined };
    case 'aborted':
      return { status: status || 499, outcome: 'client_gone', detail: undefined };
    case 'cut':
      return {
        status: relay.started ? status : 403,
        outcome: 'refused',
        detail: { error: 'project_paused' },
      };
    case 'failed': {
      const { code, status: reported } = describeFailure(end);
      const detail = { error: code, cause: reasonOf(end) };
      return { status: relay.started ? status : reported, outcome: 'upstream_failed', detail };
    }
    case 'complete': {
      if (relay.refusal) {
        const { code, status: reported, fields } = relay.refusal;
        if (BLOCKED.has(code)) return { status: reported, outcome: 'blocked', detail: blockedDetail(fields) };
        return {
          status: reported,
          outcome: reported < 500 ? 'refused' : 'upstream_failed',
          detail: { error: code },
        };
      }
      if (!failure || status >= 400) {
        return { status, outcome: status >= 400 ? 'upstream_error' : 'ok', detail: undefined };
      }
      const outcome = relay.isCutShort ? 'upstream_failed' : 'upstream_error';
      const detail = { error: relay.streamError ?? failure.class };
      return { status: isWithheld(result) ? statusFor(failure.class) : status, outcome, detail };
    }
  }
}

/** As the ledger records it where a first attempt is blocked. */
export function blockedDetail(fields: Record<string, unknown>) {
  const { budget_id, cap_usd, spent_usd, held_usd, team, granted_usd, team_left_usd } = fields;
  return {
    budget: budget_id,
    budget_cap_usd: cap_usd,
    budget_spent_usd: spent_usd,
    budget_held_usd: held_usd,
    ...(team === true ? { team, granted_usd, team_left_usd } : {}),
  };
}

/** Whether a 2xx answer with an error body or no body is replaced by an error status. */
export function isWithheld({ relay, end, failure }: AttemptResult): boolean {
  return (
    failure !== undefined &&
    end.kind === 'complete' &&
    relay.status < 400 &&
    relay.holdsBack &&
    !relay.started
  );
}

/** The status of an error that came with a 2xx status. */
export function statusFor(failure: FailureClass): number {
  if (isRequestFault(failure)) return 400;
  if (failure === 'rate_limit') return 429;
  return failure === 'timeout' ? 504 : 502;
}

const REQUEST_FAULTS: ReadonlySet<FailureClass> = new Set([
  'invalid_request',
  'context_overflow',
  'content_filter',
  'not_its_own',
]);

/** Whether the request itself is at fault. */
export function isRequestFault(failure: FailureClass): boolean {
  return REQUEST_FAULTS.has(failure);
}

export type Failed = Extract<CallEnd, { kind: 'failed' }>;

export const reasonOf = ({ error }: Failed): string => error.code ?? error.message;

/** Status, code and message for the client of a call that failed. */
export function describeFailure(failure: Failed): { status: number; code: string; message: string } {
  if (/TIMEOUT|ETIMEDOUT/.test(reasonOf(failure))) {
    const message = failure.sent ? 'did not answer in time' : 'could not be reached in time';
    return { status: 504, code: 'upstream_timeout', message };
  }
  if (reasonOf(failure) === TOO_LONG)
    return { status: 502, code: 'upstream_failed', message: 'gave an answer too long to be translated' };
  const why = failure.error instanceof ConnectError ? `: ${failure.error.message}` : '';
  if (!failure.sent)
    return { status: 502, code: 'upstream_unreachable', message: `could not be reached${why}` };
  return { status: 502, code: 'upstream_failed', message: 'broke off before its answer was whole' };
}
