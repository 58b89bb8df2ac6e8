import { cooldownMs } from './cooldown.ts';
import { classByWords, statusOf } from './error-words.ts';
import type { ResponseHeaders } from './rate-limits.ts';
import { readUpstreamError } from './upstream-error.ts';

/** How an attempt at an upstream went wrong, as the forwarder saw it. */
export type UpstreamOutcome =
  /** An error status, or an error event or body under a good one. */
  | { kind: 'response'; status: number; headers: ResponseHeaders; body: unknown }
  /** No answer, or one that broke off before its first content: the socket's error code. */
  | { kind: 'socket'; code: string }
  /** A good status with nothing of use in it: no choices, an HTML page, a stream that ended without content. */
  | { kind: 'empty' }
  | { kind: 'client_abort' };

export type FailureClass =
  | 'rate_limit'
  | 'quota'
  | 'auth'
  | 'server'
  | 'network'
  | 'timeout'
  | 'invalid_request'
  | 'context_overflow'
  /** What the request points at, or what it gives back sealed, is another provider's. */
  | 'not_its_own'
  | 'content_filter'
  | 'client_abort';

/** Whom a failure says something about: key and model together, every model of the key, the whole account, nobody. */
export type FailureScope = 'target' | 'key' | 'account' | 'none';

export type NextStep = 'elsewhere' | 'larger_context' | 'stop';

export interface Failure {
  class: FailureClass;
  scope: FailureScope;
  next: NextStep;
  /** How long the upstream asked to be left alone, if it did. */
  cooldownMs?: number;
}

const SCOPE_AND_NEXT: Record<FailureClass, Pick<Failure, 'scope' | 'next'>> = {
  rate_limit: { scope: 'target', next: 'elsewhere' },
  quota: { scope: 'account', next: 'elsewhere' },
  auth: { scope: 'key', next: 'elsewhere' },
  server: { scope: 'target', next: 'elsewhere' },
  network: { scope: 'target', next: 'elsewhere' },
  timeout: { scope: 'target', next: 'elsewhere' },
  invalid_request: { scope: 'none', next: 'stop' },
  context_overflow: { scope: 'none', next: 'larger_context' },
  not_its_own: { scope: 'none', next: 'elsewhere' },
  content_filter: { scope: 'none', next: 'stop' },
  client_abort: { scope: 'none', next: 'stop' },
};

/** What a failed attempt means: whom it condemns, what to try next, and how long to wait. */
export function classify(outcome: UpstreamOutcome, nowMs: number): Failure {
  const failure = classOf(outcome);
  const wait = outcome.kind === 'response' ? cooldownMs(outcome.headers, outcome.body, nowMs) : undefined;
  return { class: failure, ...SCOPE_AND_NEXT[failure], ...(wait === undefined ? {} : { cooldownMs: wait }) };
}

function classOf(outcome: UpstreamOutcome): FailureClass {
  switch (outcome.kind) {
    case 'client_abort':
      return 'client_abort';
    case 'socket':
      return /TIMEOUT|ETIMEDOUT/.test(outcome.code) ? 'timeout' : 'network';
    case 'empty':
      return 'server';
    case 'response': {
      const error = readUpstreamError(outcome.body) ?? { message: '', names: [] };
      return classByWords(error, outcome.status) ?? classByStatus(statusOf(outcome.status, error));
    }
  }
}

function classByStatus(status: number): FailureClass {
  if (status === 401 || status === 403) return 'auth';
  if (status === 402) return 'quota';
  if (status === 429) return 'rate_limit';
  if (status === 408 || status === 504) return 'timeout';
  // 409 and 425 speak of the moment, not of the request.
  if (status === 409 || status === 425 || status >= 500) return 'server';
  return 'invalid_request';
}
