import type { NanoUsd } from '../money.ts';
import type { TeamKeyTerms } from '../store/team/keys.ts';
import type { TeamBudget } from '../store/team/team-budgets.ts';
import type { TeamUsage, TeamUsageBatch, TeamUsageQuery } from '../store/team/usage.ts';
import type { SyncAnswer, SyncMessage, SyncRefusal } from './protocol.ts';

/** A budget with the figures of its current period. Times are UTC ms by the authority's clock. */
export interface TeamBudgetStanding extends TeamBudget {
  capVersion: number;
  /** Amount that each gateway may spend above its limit while the authority is unreachable; null: nothing. */
  offlineNanoUsd: NanoUsd | null;
  /** Number of gateways with granted but unspent money. */
  holders: number;
  /** A request recently lacked money that other gateways hold. */
  isStarved: boolean;
}

/** The team's configuration for its members. */
export interface TeamConfig {
  name: string;
  /** IANA name; defines the days and months of all budgets. */
  timezone: string;
  /** Increases with each change of a budget; the same number as `SyncAnswer.config`. */
  version: number;
  budgets: TeamBudgetStanding[];
}

/** A gateway's identity, created when it joins and stored on its disk. */
export interface GatewayIdentity {
  gateway: number;
  /** 256 random bits; the authority stores its SHA-256. */
  token: string;
}

/** Result of pushing usage; errors as for a sync. */
export type PushAnswer = 'ok' | 'stale' | 'fenced' | 'left' | 'forgotten';

/** A claim on one attempt to deliver one event to one webhook. */
export interface ClaimedDelivery {
  delivery: number;
  /** Number of this claim. The outcome of an older claim is ignored. */
  claim: number;
  /** Number of earlier attempts. */
  attempts: number;
  event: {
    /** evt_..., the same in each attempt. */
    id: string;
    type: string;
    createdAt: number;
    /** '': the whole team. */
    project: string;
    /** JSON. */
    data: string;
  };
  webhook: number;
  url: string;
  secret: string;
  format: string;
}

/** Result of claiming events. */
export interface ClaimedEvents {
  /** False if another gateway has the courier's lease. */
  isCourier: boolean;
  /** Time until the lease expires, this gateway's or the other one's, ms. */
  leaseMs: number;
  /** Time until the next claim should be made, ms; null if no event is pending. */
  dueMs: number | null;
  deliveries: ClaimedDelivery[];
}

/** Outcome of a delivery attempt; `release`: no attempt was made. */
export type DeliveryOutcome =
  | { outcome: 'delivered' | 'release' }
  | { outcome: 'failed'; reason: string }
  | { outcome: 'retry'; reason: string; afterMs: number };

/** A team key, valid on every gateway of the team. Gateways cache keys by version. */
export type TeamKey = TeamKeyTerms;

/** Keys changed after a version, including revoked ones. Read again at least every 60 s while keys are in use. */
export interface TeamKeys {
  version: number;
  /** Equals `TeamConfig.version`. */
  config: number;
  keys: TeamKey[];
}

/**
 * A gateway's interface to its team's authority. Every call may reject with a GwError: `team_unreachable` (503; try
 * again later), or another code whose message says what to do.
 */
export interface TeamAuthority {
  /** Announces a new daemon and fences the previous one. Reactivates a gateway that was forgotten or had left. */
  hello(identity: GatewayIdentity, nonces: { old: string; next: string }): Promise<'ok' | 'identity_in_use'>;
  /** Registers a gateway and returns its id. Joining again with the same token returns the same id. */
  join(gateway: { name: string; token: string; nonce: string }): Promise<number>;
  /** Frees all money that the gateway still holds. First make its local limits 0 durably. */
  leave(identity: GatewayIdentity, nonce: string): Promise<'ok' | 'fenced'>;
  sync(token: string, message: SyncMessage): Promise<SyncAnswer | SyncRefusal>;
  /** Replaces this gateway's usage in the batch's buckets. */
  pushUsage(identity: GatewayIdentity, nonce: string, batch: TeamUsageBatch): Promise<PushAnswer>;
  budgets(): Promise<TeamConfig>;
  keys(sinceVersion: number): Promise<TeamKeys>;
  /**
   * Takes or renews the courier's lease, and claims due events for `claimMs`. A `leaseMs` of 0 releases the lease.
   * Requires the courier right.
   */
  claimEvents(identity: GatewayIdentity, times: { leaseMs: number; claimMs: number }): Promise<ClaimedEvents>;
  /** Throws GwError `team_forbidden` without the courier right. */
  mayDeliver(): Promise<void>;
  /** Returns false if another courier has claimed the delivery since. */
  finishDelivery(
    identity: GatewayIdentity,
    claimed: Pick<ClaimedDelivery, 'delivery' | 'claim'>,
    outcome: DeliveryOutcome,
  ): Promise<boolean>;
  /** Usage by member, gateway or key: of the whole team for an admin's role, else of the role's own gateways. */
  usage(query: TeamUsageQuery): Promise<TeamUsage>;
  close(): Promise<void>;
}

/** A gateway in an admin's view. */
export interface TeamMember {
  id: number;
  name: string;
  /** The PostgreSQL role that joined it. */
  member: string;
  state: 'active' | 'left' | 'forgotten';
  joinedAt: number;
  syncedAt: number;
  /** Granted but not yet reported as spent, in all periods. */
  outNanoUsd: NanoUsd;
  /** Amount counted as spent because the gateway was forgotten. */
  assumedNanoUsd: NanoUsd;
  /** False if the team is frozen and this gateway hasn't synced since. */
  hasReported: boolean;
}

export interface TeamWebhook {
  id: number;
  url: string;
  format: string;
  events: string[];
  createdAt: number;
  deliveredAt: number | null;
  failedDeliveries: number;
  pendingDeliveries: number;
  /** Error of the last attempt; null if it succeeded or there was none. */
  lastError: string | null;
}

interface NewTeamBudget {
  project: string;
  period: TeamBudget['period'];
  capNanoUsd: NanoUsd;
  /** Undefined: unchanged; 80 for a new budget. */
  alertPercents?: readonly number[] | undefined;
  /** Undefined: unchanged; null for a new budget. */
  offlineNanoUsd?: NanoUsd | null | undefined;
}

export interface TeamStatus {
  name: string;
  timezone: string;
  /** UTC ms; null if not frozen. */
  frozenSince: number | null;
  /** False if this PostgreSQL doesn't report failovers; an admin then has to freeze the team manually. */
  detectsFailover: boolean;
  /** Name of the gateway that delivers events; null if none does. */
  courier: string | null;
}

/** Admin operations. Each is recorded in the audit table. */
export interface TeamAdmin {
  status(): Promise<TeamStatus>;
  budgets(): Promise<TeamConfig>;
  setBudget(budget: NewTeamBudget): Promise<TeamBudgetStanding>;
  /** Returns false if there is no such budget. */
  removeBudget(budget: Pick<TeamBudget, 'project' | 'period'>): Promise<boolean>;
  members(): Promise<TeamMember[]>;
  /**
   * Counts the gateway's granted money as spent until the gateway returns. With `release`, grants it to others instead:
   * the only operation that can exceed a cap. Returns the amount in nano-USD.
   */
  forget(gateway: number, options?: { release?: boolean }): Promise<NanoUsd>;
  /** Ends the freeze after a failover; with `freeze`, begins one. */
  recover(options?: { freeze?: boolean }): Promise<void>;
  createKey(
    key: Pick<TeamKey, 'hash' | 'hint' | 'label' | 'project' | 'expiresAt' | 'models' | 'rpm'>,
  ): Promise<number>;
  keys(): Promise<TeamKey[]>;
  /** Returns false if there is no such key, or it was already revoked. */
  revokeKey(id: number): Promise<boolean>;
  addWebhook(webhook: {
    url: string;
    secret: string;
    format: string;
    events: readonly string[];
  }): Promise<number>;
  webhooks(): Promise<TeamWebhook[]>;
  removeWebhook(id: number): Promise<boolean>;
  close(): Promise<void>;
}
