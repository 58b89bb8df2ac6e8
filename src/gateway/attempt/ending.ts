import { GwError, type GwErrorOptions } from '../../errors.ts';
import type { FailureClass } from '../../routing/failure.ts';
import type { Outcome } from '../../store/ledger/record.ts';
import type { TokenUsage } from '../../usage.ts';
import { describeError, parseObject } from '../../wire/answer/events.ts';
import type { ServiceHeaders } from '../answer/service-headers.ts';
import { serviceHeaders } from '../answer/service-headers.ts';
import type { Gateway } from '../context/gateway.ts';
import { type CallEnd, TOO_LONG } from '../upstream/send.ts';
import type { AttemptResult } from './attempt.ts';

/** How a call's end goes on record. */
export interface RecordedOutcome {
  status: number;
  outcome: Outcome;
  detail: Record<string, unknown> | undefined;
}

/** What a budget says no with. */
const BLOCKED = new Set(['budget_exceeded', 'rate_exceeded']);

export function recordedOutcome(report: AttemptResult): RecordedOutcome {
  const { relay, end, failure } = report;
  const { status } = relay;
  switch (end.kind) {
    case 'capped':
      return { status, outcome: 'capped', detail: undefined };
    case 'aborted':
      return { status: status || 499, outcome: 'client_gone', detail: undefined };
    case 'failed': {
      const { code, status: told } = describe(end);
      const detail = { error: code, cause: reasonOf(end) };
      return { status: relay.started ? status : told, outcome: 'upstream_failed', detail };
    }
    case 'complete': {
      if (relay.refusal) {
        const { code, status: told, fields } = relay.refusal;
        if (BLOCKED.has(code))
          return { status: told, outcome: 'blocked', detail: { budget: fields.budget_id } };
        return { status: told, outcome: told < 500 ? 'refused' : 'upstream_failed', detail: { error: code } };
      }
      if (!failure || status >= 400) {
        return { status, outcome: status >= 400 ? 'upstream_error' : 'ok', detail: undefined };
      }
      const outcome = relay.isCutShort ? 'upstream_failed' : 'upstream_error';
      const detail = { error: relay.streamError ?? failure.class };
      return { status: isWithheld(report) ? statusFor(failure.class) : status, outcome, detail };
    }
  }
}

/** The client's side of the end. Throws GwError where nothing of an answer has gone out. */
export function deliver(
  { pasteable }: Pick<Gateway, 'pasteable'>,
  report: AttemptResult,
  { provider, about, usage }: { provider: string; about: ServiceHeaders; usage: TokenUsage },
): void {
  const { relay, end, failure } = report;
  if (end.kind === 'complete') {
    if (relay.refusal) throw relay.refusal;
    if (failure && isWithheld(report)) throw inBandError(errorIn(relay), failure.class, provider, about);
    if (relay.isCutShort) relay.breakOff(endedEarly(provider));
    else relay.finish();
  } else if (end.kind === 'capped') relay.finishAtLimit(usage);
  else if (end.kind === 'aborted') return;
  else {
    const { status, code, message: what } = describe(end);
    const message = `${provider} ${what} (${reasonOf(end)}). See: gw providers test ${provider}`;
    if (relay.started) relay.breakOff({ message: pasteable(message), code });
    else throw failureOf(message, { status, type: 'api_error', code, cause: end.error }, about);
  }
}

/** A good status with an error or nothing in it, which the client is spared. */
function isWithheld({ relay, end, failure }: AttemptResult): boolean {
  return (
    failure !== undefined &&
    end.kind === 'complete' &&
    relay.status < 400 &&
    relay.holdsBack &&
    !relay.started
  );
}

/** What the answer itself says went wrong. */
function errorIn(relay: AttemptResult['relay']): string | undefined {
  const error = relay.streamError ?? parseObject(relay.body())?.error;
  return error ? describeError(error) : undefined;
}

function inBandError(
  said: string | undefined,
  failure: FailureClass,
  provider: string,
  about: ServiceHeaders,
): GwError {
  const what = said ?? (failure === 'server' ? 'nothing of use' : failure);
  const options: GwErrorOptions = {
    status: statusFor(failure),
    type:
      failure === 'rate_limit'
        ? 'rate_limit_error'
        : isRequests(failure)
          ? 'invalid_request_error'
          : 'api_error',
    code: failure === 'context_overflow' ? 'context_length_exceeded' : 'upstream_error',
  };
  return failureOf(`${provider} answered with an error: ${what}`, options, about);
}

/** The status of an error that came under a good one. */
function statusFor(failure: FailureClass): number {
  if (isRequests(failure)) return 400;
  if (failure === 'rate_limit') return 429;
  return failure === 'timeout' ? 504 : 502;
}

const REQUESTS: ReadonlySet<FailureClass> = new Set([
  'invalid_request',
  'context_overflow',
  'content_filter',
  'not_its_own',
]);

function isRequests(failure: FailureClass): boolean {
  return REQUESTS.has(failure);
}

/** An error that says who was asked, as answers do. */
function failureOf(message: string, options: GwErrorOptions, about: ServiceHeaders): GwError {
  const flat = serviceHeaders(about);
  const headers: Record<string, string> = {};
  for (let i = 0; i < flat.length; i += 2) headers[flat[i] ?? ''] = flat[i + 1] ?? '';
  return new GwError(message, { ...options, headers });
}

function endedEarly(provider: string): { message: string; code: string } {
  return { message: `${provider} ended its answer before it was whole`, code: 'upstream_failed' };
}

type Failed = Extract<CallEnd, { kind: 'failed' }>;

const reasonOf = ({ error }: Failed): string => error.code ?? error.message;

function describe(failure: Failed): { status: number; code: string; message: string } {
  if (/TIMEOUT|ETIMEDOUT/.test(reasonOf(failure))) {
    const message = failure.sent ? 'did not answer in time' : 'could not be reached in time';
    return { status: 504, code: 'upstream_timeout', message };
  }
  if (reasonOf(failure) === TOO_LONG)
    return { status: 502, code: 'upstream_failed', message: 'gave an answer too long to be translated' };
  if (!failure.sent) return { status: 502, code: 'upstream_unreachable', message: 'could not be reached' };
  return { status: 502, code: 'upstream_failed', message: 'broke off before its answer was whole' };
}
