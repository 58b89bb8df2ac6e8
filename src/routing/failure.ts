import type { ResponseHeaders } from './rate-limits.ts';

/** How an attempt failed, as the gateway observed it. */
export type UpstreamOutcome =
  /** An error status, or a 2xx response with an error event or error body. */
  | { kind: 'response'; status: number; headers: ResponseHeaders; body: unknown }
  /** No response, or one that ended before its first content. `code` is the socket's error code. */
  | { kind: 'socket'; code: string }
  /** A 2xx response without content: no choices, an HTML page, or a stream that ended early. */
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
  /** The request refers to a stored object, or contains encrypted reasoning, of another provider or account. */
  | 'not_its_own'
  | 'content_filter'
  | 'client_abort';

/** The scope of a failure: the key and model together, all models of the key, the whole account, or nothing. */
type FailureScope = 'target' | 'key' | 'account' | 'none';

type NextStep = 'elsewhere' | 'larger_context' | 'stop';

export interface Failure {
  class: FailureClass;
  scope: FailureScope;
  next: NextStep;
  /** Wait that the upstream asked for, if any. */
  cooldownMs?: number;
}
