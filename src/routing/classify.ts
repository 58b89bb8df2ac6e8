import { cooldownMs } from './cooldown.ts';
import { classByWords, statusOf } from './error-words.ts';
import type { Failure, FailureClass, UpstreamOutcome } from './failure.ts';
import { readUpstreamError } from './upstream-error.ts';

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

/** Classifies a failed attempt: what it affects, what to try next, and how long to wait. */
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
  // 409 and 425 are about the server's state at the moment, not about the request.
  if (status === 409 || status === 425 || status >= 500) return 'server';
  return 'invalid_request';
}
