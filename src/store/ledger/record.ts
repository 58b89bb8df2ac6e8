import type { RequestId } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import type { Origin } from '../../origin.ts';
import type { TokenUsage } from '../../usage.ts';

/** How a request ended. The numbers are stored: append, never renumber. */
export const OUTCOMES = {
  /** The client has its whole answer. */
  ok: 0,
  /** The budget firewall refused it; nothing was sent. */
  blocked: 1,
  /** The provider answered with an error, which was passed on. */
  upstream_error: 2,
  /** The provider could not be reached, broke off or timed out. */
  upstream_failed: 3,
  /** The client hung up. */
  client_gone: 4,
  /** gw refused it for another reason (unknown model, storage, too busy). */
  refused: 5,
  /** The daemon died while it ran. */
  crashed: 6,
  /** gw cut the answer at the budget's limit. */
  capped: 7,
} as const;
export type Outcome = keyof typeof OUTCOMES;

/** Bits of `requests.flags`. The numbers are stored: append, never renumber. */
export const FLAGS = {
  stream: 1,
  /** The tokens or the cost are not the provider's own figures. */
  estimated: 2,
  /** Tokens were used whose price is unknown; the cost is not known to be 0. */
  unpriced: 4,
  /** The provider reported no usage and none could be counted. */
  unmetered: 8,
  /** It cost more than was held. */
  overrun: 16,
  /** The client switched the stage off for this request. */
  noOptimize: 32,
  noRoute: 64,
  /** Went out as it came, since compressing took too long. */
  optimizedLate: 128,
  /** Went out as it came, to learn what requests cost without the optimizer. */
  heldOut: 256,
  /** Only on old records: a shadow request, which earlier versions sent to the other tier to learn from it. */
  shadow: 512,
} as const;
export type Flag = keyof typeof FLAGS;

/** One completion request as it ended: the row of `requests`. */
export interface RequestRecord {
  id: RequestId;
  projectId: number;
  keyId: number;
  /** The path it came in by, such as `chat/completions`. */
  endpoint: string;
  /** Empty where no provider was chosen. */
  provider: string;
  /** The model that served it, as the provider calls it. */
  model: string;
  askedModel: string;
  /** HTTP status that the client got, or would have. */
  status: number;
  outcome: Outcome;
  flags: number;
  usage: TokenUsage;
  costNanoUsd: NanoUsd;
  savedTokens: number;
  savedNanoUsd: NanoUsd;
  durationMs: number;
  firstByteMs: number | null;
  /** What else there is to tell about it: attempts, error, price. */
  detail?: Record<string, unknown>;
  /** Absent: not known. */
  origin?: Origin;
  /** Its part in finding out whether the optimizer pays. */
  trial?: Trial;
}

/** A request that the optimizer compressed, or could have. */
export interface Trial {
  /** A hash of how the conversation began. */
  conversation: number;
  heldOut: boolean;
  /** What the optimizer does, or would have done. */
  level: string;
  /** Before compression; an estimate. */
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
