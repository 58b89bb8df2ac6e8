import type { RequestId } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import type { Origin } from '../../origin.ts';
import type { TokenUsage } from '../../usage.ts';

/** How a request ended. The numbers are stored: append, never renumber. */
export const OUTCOMES = {
  /** The client got its whole answer. */
  ok: 0,
  /** A budget had no room; nothing was sent. */
  blocked: 1,
  /** The provider returned an error, which was passed on. */
  upstream_error: 2,
  /** The provider couldn't be reached, broke off or timed out. */
  upstream_failed: 3,
  /** The client hung up. */
  client_gone: 4,
  /** gw refused it for another reason, such as an unknown model. */
  refused: 5,
  /** The daemon died while it ran. */
  crashed: 6,
  /** gw cut the answer because it exceeded what was held. */
  capped: 7,
} as const;
export type Outcome = keyof typeof OUTCOMES;

/** Bits of `requests.flags`. The numbers are stored: append, never renumber. */
export const FLAGS = {
  stream: 1,
  /** The tokens or the cost are estimated, not reported by the provider. */
  estimated: 2,
  /** Some price is unknown, so the cost is incomplete. */
  unpriced: 4,
  /** The provider reported no usage and none could be counted. */
  unmetered: 8,
  /** It cost more than was held. */
  overrun: 16,
  /** The client switched the optimizer or the router off for this request. */
  noOptimize: 32,
  noRoute: 64,
  /** Sent uncompressed, since compression took too long. */
  optimizedLate: 128,
  /** Sent uncompressed, to measure what requests cost without the optimizer. */
  heldOut: 256,
  /** Only on old records: a shadow request, which earlier versions sent to the other tier to learn from it. */
  shadow: 512,
  /** It cost more than the budgets held for it: a bound of the hold was wrong. */
  underheld: 1024,
} as const;
export type Flag = keyof typeof FLAGS;

/** A request as it ended: the row of `requests`. */
export interface RequestRecord {
  id: RequestId;
  projectId: number;
  keyId: number;
  /** The API path, such as `chat/completions`. */
  endpoint: string;
  /** '' where no provider was chosen. */
  provider: string;
  /** The model that served it, by the provider's name. */
  model: string;
  askedModel: string;
  /** The HTTP status that the client got, or would have got. */
  status: number;
  outcome: Outcome;
  flags: number;
  usage: TokenUsage;
  costNanoUsd: NanoUsd;
  savedTokens: number;
  savedNanoUsd: NanoUsd;
  durationMs: number;
  firstByteMs: number | null;
  /** Further details: attempts, error, price. */
  detail?: Record<string, unknown>;
  /** Undefined: not known. */
  origin?: Origin;
  /** Its part in the optimizer's trial. */
  trial?: Trial;
}

/** A request that the optimizer compressed, or could have. */
export interface Trial {
  /** A hash of the start of the conversation. */
  conversation: number;
  heldOut: boolean;
  /** The optimizer's level, whether it was applied or held out. */
  level: string;
  /** Before compression; estimated. */
  originalTokens: number;
}

/** Whether the record counts as failed in reports. */
export function isFailure(record: Pick<RequestRecord, 'outcome' | 'status'>): boolean {
  return (
    record.outcome !== 'ok' &&
    record.outcome !== 'blocked' &&
    record.outcome !== 'client_gone' &&
    record.outcome !== 'capped'
  );
}
