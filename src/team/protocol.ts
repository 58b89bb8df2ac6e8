import type { NanoUsd } from '../money.ts';

/**
 * The one message between a gateway and the authority. It states totals, never differences, so that it can be lost,
 * repeated and late. The names are short, as there is one row a budget in each message.
 */
export interface SyncRow {
  /** The budget. */
  b: number;
  /** The start of the period, UTC ms. */
  p: number;
  /** The declared limit: what the gateway will not pass until it hears otherwise. */
  d: NanoUsd;
  /** What it has spent in the period, in all. */
  s: NanoUsd;
  /** The least that a waiting request lacks; 0: none waits. */
  n: NanoUsd;
  /** What it would like on top of the declared limit. */
  w: NanoUsd;
  /** The offline reserve that it keeps, at most what it was granted; undefined: all that is left of it. */
  o?: NanoUsd;
  /** What a small request would have needed, where one was refused since the last message: for `budget.exceeded`. */
  f?: NanoUsd;
}

export interface SyncMessage {
  gateway: number;
  /** Of the running daemon: the authority refuses messages of an older one. */
  nonce: string;
  seq: number;
  rows: SyncRow[];
}

/** How a budget stands at the authority, as one gateway hears it. */
export interface Standing {
  b: number;
  p: number;
  /** The gateway's new limit for the period. */
  l: NanoUsd;
  /** The offline reserve: what it may spend above the limit while the authority is unreachable. */
  o: NanoUsd;
  /** The cap, less all that is granted. */
  left: NanoUsd;
  /** The cap, less all that is reported as spent. */
  unspent: NanoUsd;
  /** Money is short: gateways return what no request holds. */
  tight: boolean;
  /** A request has lately lacked what others hold. */
  starved: boolean;
  /** How many gateways have lately synced. */
  active: number;
  /** The period that runs by the authority's clock, and its end, UTC ms. */
  running: number;
  ends: number;
}

export interface SyncAnswer {
  seq: number;
  /** The authority's time, UTC ms. */
  now: number;
  rows: Standing[];
  /** Rises when an admin changes a budget. */
  config: number;
  /** Changes when another server took over, which may have lost commits. */
  incarnation: string;
  /** It took over, and grants nothing until an admin says that all have reported. */
  frozen: boolean;
  /** Rises when a key of the team is created or revoked. */
  keys: number;
  sync_after_ms: number;
}

/** Why the authority did not look at a message. */
export interface SyncRefusal {
  error: 'stale' | 'fenced' | 'left' | 'forgotten';
}
