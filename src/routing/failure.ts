import type { ResponseHeaders } from './rate-limits.ts';

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
