import type { RequestId } from '../../ids.ts';
import type { Labels } from '../../labels.ts';
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
const OUTCOME_NAMES = Object.keys(OUTCOMES) as Outcome[];
export const outcomeOf = (stored: number): Outcome => OUTCOME_NAMES[stored] ?? 'ok';

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
  /** Covered by a subscription: the cost is what the tokens would have been billed at, and no money. */
  not_billed: 2048,
  /** Another model answered than the request asked for: it is booked at that model's price. */
  other_model: 4096,
  /** The provider's usage contradicts itself: `detail.conflicts` has the figures. */
  inconsistent: 8192,
  /** Answered from disk: it cost nothing, and saved what the first answer cost. */
  replayed: 16384,
  /** A budget at its limit sent it to a cheaper model: `detail.fallback_from` has the first target. */
  fallback: 32768,
} as const;
export type Flag = keyof typeof FLAGS;
const FLAG_NAMES = Object.keys(FLAGS) as Flag[];
export const flagsOf = (stored: number): Flag[] => FLAG_NAMES.filter((name) => stored & FLAGS[name]);

/** SQL for the requests that cost money. */
export const IS_BILLED = `(flags & ${FLAGS.not_billed}) = 0`;
/** SQL for the money that a request cost. */
export const BILLED_NANO_USD = `iif(${IS_BILLED}, cost_nano_usd, 0)`;

/** Where a record comes from. The numbers are stored: append, never renumber. */
export const SOURCES = {
  /** The request went through gw. */
  gw: 0,
  /** Read from an agent's own log: it counts in no budget and in no report of what gw served. */
  imported: 1,
} as const;
export type Source = keyof typeof SOURCES;

/** SQL for usage that went through gw: imported usage is in no report of what gw served. */
export const IS_FROM_GW = `source = ${SOURCES.gw}`;

/** How the input tokens of a hold were bounded. The numbers are stored: append, never renumber. */
export const INPUT_BOUNDS = { bytes: 1, exact: 2, edit: 3, provider_count: 4 } as const;

/** Why input that could have been read from the provider's cache was not. Stored: append, never renumber. */
export const MISS_CAUSES = {
  /** Nothing was missed. */
  none: 0,
  tools_changed: 1,
  system_changed: 2,
  message_edited: 3,
  idle_past_ttl: 4,
  other_model: 5,
  provider_dropped: 6,
  unknown: 7,
} as const;
export type MissCause = keyof typeof MISS_CAUSES;

/** Worst case of a request, in parts. Tokens of all choices. */
export interface RecordedNeed {
  inputTokens: number;
  inputBound: keyof typeof INPUT_BOUNDS;
  outputTokens: number;
  /** The request's own limit; null if it set none. */
  outputAskedTokens: number | null;
  inputNanoUsd: NanoUsd;
  outputNanoUsd: NanoUsd;
  feesNanoUsd: NanoUsd;
}

/** An output limit that was lowered to fit a budget, of each choice. */
export interface LoweredLimit {
  /** The client's own limit; null if it set none. */
  asked: number | null;
  sent: number;
}

/** When stages of a request ended, in milliseconds after it came in; undefined if it did not reach the stage. */
export interface StageTimings {
  /** Its body was read. */
  body?: number | undefined;
  /** The optimizer was done. */
  compressed?: number | undefined;
  /** Its hold was committed. */
  held?: number | undefined;
  /** The last attempt was sent to its provider. */
  sent?: number | undefined;
}

/** Input that the provider's cache could have served, but didn't. */
export interface CacheMiss {
  tokens: number;
  nanoUsd: NanoUsd;
  cause: MissCause;
}

/** A client's headers of W3C Trace Context (https://www.w3.org/TR/trace-context/), as they came. */
export interface ClientTrace {
  traceparent: string;
  tracestate: string;
}

/** The client and the conversation of a request, as far as they are known. */
export interface RequestClient {
  /** The agent's name, such as `codex`; undefined: not known. */
  agent?: string | undefined;
  agentVersion?: string | undefined;
  /** The agent's own id of its session; undefined: not known. */
  session?: string | undefined;
  /** What the client says that the request is for. */
  labels?: Labels | undefined;
}

/** A request as it ended: a row of `journal`, and later of `requests`. */
export interface RequestRecord extends RequestClient {
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
  /** Size of the body as gw sends it: compressed, without edits for one provider. Default: 0. */
  requestBytes?: number;
  /** Rare fields: attempts, error, tier. */
  detail?: Record<string, unknown>;
  /** Default: `gw`. */
  source?: Source;
  /** Only for a request without a hold; otherwise its hold has stored it. */
  need?: RecordedNeed | undefined;
  lowered?: LoweredLimit | undefined;
  timings?: StageTimings | undefined;
  /** The provider's ids of its answer and of the request. */
  upstreamMessageId?: string | undefined;
  upstreamRequestId?: string | undefined;
  missed?: CacheMiss | undefined;
  /** Undefined: not known. */
  origin?: Origin | undefined;
  /** The client's span, for the request's own; not stored. Undefined without telemetry. */
  trace?: ClientTrace | undefined;
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
