import { GwError } from '../errors.ts';
import type { Outcome } from '../store/ledger/record.ts';
import type { TokenUsage } from '../usage.ts';
import type { Relay } from './relay.ts';
import type { CallEnd } from './send.ts';

/** How a call's end goes on record. */
export interface Ending {
  status: number;
  outcome: Outcome;
  detail: Record<string, unknown> | undefined;
}

export function endingOf(relay: Relay, end: CallEnd): Ending {
  const { status } = relay;
  switch (end.kind) {
    case 'capped':
      return { status, outcome: 'capped', detail: undefined };
    case 'aborted':
      return { status: status || 499, outcome: 'client_gone', detail: undefined };
    case 'failed': {
      const failure = describe(end);
      const detail = { error: failure.code, cause: reasonOf(end) };
      return { status: relay.started ? status : failure.status, outcome: 'upstream_failed', detail };
    }
    case 'complete':
      if (relay.refusal) {
        const { code, status: told } = relay.refusal;
        return { status: told, outcome: told < 500 ? 'refused' : 'upstream_failed', detail: { error: code } };
      }
      if (relay.streamError !== undefined) {
        return { status, outcome: 'upstream_error', detail: { error: relay.streamError } };
      }
      return { status, outcome: status >= 400 ? 'upstream_error' : 'ok', detail: undefined };
  }
}

/** The client's side of the end. Throws GwError where nothing of an answer has gone out. */
export function deliver(relay: Relay, end: CallEnd, provider: string, usage: TokenUsage): void {
  if (end.kind === 'complete' && relay.refusal) throw relay.refusal;
  if (end.kind === 'complete') relay.finish();
  else if (end.kind === 'capped') relay.finishAtLimit(usage);
  else if (end.kind === 'aborted') return;
  else if (relay.started) relay.cut();
  else {
    const { status, code, message } = describe(end);
    throw new GwError(`${provider} ${message} (${reasonOf(end)}). See: gw providers test ${provider}`, {
      status,
      type: 'api_error',
      code,
      cause: end.error,
    });
  }
}

type Failure = Extract<CallEnd, { kind: 'failed' }>;

const reasonOf = ({ error }: Failure): string => error.code ?? error.message;

function describe(failure: Failure): { status: number; code: string; message: string } {
  if (/TIMEOUT|ETIMEDOUT/.test(reasonOf(failure))) {
    const message = failure.sent ? 'did not answer in time' : 'could not be reached in time';
    return { status: 504, code: 'upstream_timeout', message };
  }
  if (!failure.sent) return { status: 502, code: 'upstream_unreachable', message: 'could not be reached' };
  return { status: 502, code: 'upstream_failed', message: 'broke off before its answer was whole' };
}
