import type { NanoUsd } from '../money.ts';

/**
 * The only message from a gateway to the authority. It states totals, never differences, so it may be lost, repeated or
 * late. Names are short, because each message has a row per budget.
 */
export interface SyncRow {
  /** Budget id. */
  b: number;
  /** Start of the period, UTC ms. */
  p: number;
  /** Declared limit, which the gateway won't exceed until it gets an answer. */
  d: NanoUsd;
  /** Total spend in the period. */
  s: NanoUsd;
  /** Minimum that a waiting request lacks; 0 if none waits. */
  n: NanoUsd;
  /** Desired amount above the declared limit. */
  w: NanoUsd;
  /** Offline reserve that it keeps, at most the granted reserve; undefined: all that is left. */
  o?: NanoUsd;
  /**
   * Amount that a small request would have needed, if one was refused since the last message; for `budget.exceeded`.
   */
  f?: NanoUsd;
}

export interface SyncMessage {
  gateway: number;
  /** Nonce of the current daemon; the authority refuses messages of an earlier one. */
  nonce: string;
  seq: number;
  rows: SyncRow[];
}

/** A budget's state at the authority, for one gateway. */
export interface Standing {
  b: number;
  p: number;
  /** The gateway's new limit for the period. */
  l: NanoUsd;
  /** Offline reserve: amount that the gateway may spend above the limit while the authority is unreachable. */
  o: NanoUsd;
  /** The cap minus all grants. */
  left: NanoUsd;
  /** The cap minus all reported spend. */
  unspent: NanoUsd;
  /** Money is short: gateways return money that no request holds. */
  tight: boolean;
  /** A request recently lacked money that other gateways hold. */
  starved: boolean;
  /** Number of gateways that synced recently. */
  active: number;
  /** Start and end of the current period by the authority's clock, UTC ms. */
  running: number;
  ends: number;
}

export interface SyncAnswer {
  seq: number;
  /** The authority's time, UTC ms. */
  now: number;
  rows: Standing[];
  /** Increases when an admin changes a budget. */
  config: number;
  /** Changes after a failover; the new server may have lost commits. */
  incarnation: string;
  /** After a failover, nothing is granted until an admin confirms that all gateways have reported. */
  frozen: boolean;
  /** Increases when a team key is created or revoked. */
  keys: number;
  sync_after_ms: number;
}

/** Reason why the authority rejected a message. */
export interface SyncRefusal {
  error: 'stale' | 'fenced' | 'left' | 'forgotten';
}
