import type { NanoUsd } from '../money.ts';
import type { TeamKeyTerms } from '../store/team/keys.ts';
import type { TeamUsageBatch } from '../store/team/usage.ts';
import type { TeamUsage, TeamUsageQuery } from '../store/team/usage-query.ts';
import type { SyncAnswer, SyncMessage, SyncRefusal } from './protocol.ts';

/** The budget of a team, as an admin set it. */
interface TeamBudget {
  id: number;
  /** '': the whole team. */
  project: string;
  period: 'daily' | 'monthly';
  capNanoUsd: NanoUsd;
  capVersion: number;
  /** Ascending. */
  alertPercents: number[];
  /** What each gateway may spend on top of its limit while the authority is unreachable; null: nothing. */
  offlineNanoUsd: NanoUsd | null;
}

/** A budget and how its running period stands. Times are UTC ms by the authority's clock. */
export interface TeamBudgetStanding extends TeamBudget {
  start: number;
  ends: number;
  /** Sum of all limits and reserves. */
  allocatedNanoUsd: NanoUsd;
  spentNanoUsd: NanoUsd;
  /** The number of gateways that hold money which they have not spent. */
  holders: number;
  /** A request lately lacked money that other gateways hold. */
  isStarved: boolean;
}

/** What members are told of their team. */
export interface TeamConfig {
  name: string;
  /** IANA name; days and months of all budgets are its. */
  timezone: string;
  /** Rises with each change of a budget; `SyncAnswer.config` has the same number. */
  version: number;
  budgets: TeamBudgetStanding[];
}

/** A gateway's identity, made at the join and kept on its disk. */
export interface GatewayIdentity {
  gateway: number;
  /** 256 random bits; the authority stores its SHA-256. */
  token: string;
}

/** How the authority took usage; the others are as for a sync. */
export type PushAnswer = 'ok' | 'stale' | 'fenced' | 'left' | 'forgotten';

/** One event for one webhook: the right to one attempt. */
export interface ClaimedDelivery {
  delivery: number;
  /** Number of this claim; the outcome of an older one changes nothing. */
  claim: number;
  /** Attempts that ended before this one. */
  attempts: number;
  event: {
    /** evt_...: the same in each attempt. */
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

/** What a courier is told. */
export interface ClaimedEvents {
  /** False: another gateway has the lease. */
  isCourier: boolean;
  /** When the lease ends that this gateway or the other one has, ms from now. */
  leaseMs: number;
  /** When to ask again at the latest, ms from now; null: nothing waits. */
  dueMs: number | null;
  deliveries: ClaimedDelivery[];
}

/** How an attempt to deliver ended; `release`: none was made. */
export type DeliveryOutcome =
  | { outcome: 'delivered' | 'release' }
  | { outcome: 'failed'; reason: string }
  | { outcome: 'retry'; reason: string; afterMs: number };

/** A key of the team, valid on each of its gateways. A gateway caches these by version. */
export type TeamKey = TeamKeyTerms;

/** Keys that changed after a version, revoked ones included. Read again at least each 60 s while keys are in use. */
export interface TeamKeys {
  version: number;
  /** As `TeamConfig.version`. */
  config: number;
  keys: TeamKey[];
}

/**
 * What a gateway asks of its team's authority. Every call may reject with a GwError: `team_unreachable` (503: can't be
 * asked now; try again later) or another code whose message says what to do.
 */
export interface TeamAuthority {
  /** A daemon starts, and fences the one before. Revives a gateway that was forgotten or left. */
  hello(identity: GatewayIdentity, nonces: { old: string; next: string }): Promise<'ok' | 'identity_in_use'>;
  /** Registers a gateway; its id. Joining again with the same token returns the same id. */
  join(gateway: { name: string; token: string; nonce: string }): Promise<number>;
  /** Frees all that the gateway still holds. Make its local limits 0 durably before. */
  leave(identity: GatewayIdentity, nonce: string): Promise<'ok' | 'fenced'>;
  sync(token: string, message: SyncMessage): Promise<SyncAnswer | SyncRefusal>;
  /** Replaces this gateway's usage of the buckets that the batch names. */
  pushUsage(identity: GatewayIdentity, nonce: string, batch: TeamUsageBatch): Promise<PushAnswer>;
  budgets(): Promise<TeamConfig>;
  keys(sinceVersion: number): Promise<TeamKeys>;
  /**
   * Takes or renews the courier's lease, and claims for `claimMs` what is due. A lease of 0 ms is given back. Needs the
   * courier's right.
   */
  claimEvents(identity: GatewayIdentity, times: { leaseMs: number; claimMs: number }): Promise<ClaimedEvents>;
  /** Throws GwError `team_forbidden` without the courier's right. */
  mayDeliver(): Promise<void>;
  /** False: another courier has claimed it since. */
  finishDelivery(
    identity: GatewayIdentity,
    claimed: Pick<ClaimedDelivery, 'delivery' | 'claim'>,
    outcome: DeliveryOutcome,
  ): Promise<boolean>;
  /** By member, gateway or key: of the whole team where the role is an admin's, else of its own gateways. */
  usage(query: TeamUsageQuery): Promise<TeamUsage>;
  close(): Promise<void>;
}

/** A gateway, as an admin sees it. */
export interface TeamMember {
  id: number;
  name: string;
  /** The login role that joined it. */
  member: string;
  state: 'active' | 'left' | 'forgotten';
  joinedAt: number;
  syncedAt: number;
  /** Granted and not reported as spent, in all periods. */
  outNanoUsd: NanoUsd;
  /** Counted as spent because the gateway was forgotten. */
  assumedNanoUsd: NanoUsd;
  /** False while the team is frozen and this gateway has not synced since. */
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
  /** Of the last delivery that was tried; null: it succeeded, or none was. */
  lastError: string | null;
}

interface NewTeamBudget {
  project: string;
  period: TeamBudget['period'];
  capNanoUsd: NanoUsd;
  /** Left out: as it is, or 80. */
  alertPercents?: readonly number[] | undefined;
  /** Left out: as it is, or null. */
  offlineNanoUsd?: NanoUsd | null | undefined;
}

export interface TeamStatus {
  name: string;
  timezone: string;
  /** UTC ms; null: grants are made. */
  frozenSince: number | null;
  /** False: this PostgreSQL does not tell of failovers; an admin has to freeze the team by hand. */
  detectsFailover: boolean;
  /** The name of the gateway that delivers events; null: none does. */
  courier: string | null;
}

/** What an admin does. All of it is written into the audit table. */
export interface TeamAdmin {
  status(): Promise<TeamStatus>;
  budgets(): Promise<TeamConfig>;
  setBudget(budget: NewTeamBudget): Promise<TeamBudgetStanding>;
  /** False: there is no such budget. */
  removeBudget(budget: Pick<TeamBudget, 'project' | 'period'>): Promise<boolean>;
  members(): Promise<TeamMember[]>;
  /**
   * What the gateway held counts as spent until it comes back. With `release`, that is granted to others: the one call by
   * which a cap can be passed. The amount, nano-USD.
   */
  forget(gateway: number, options?: { release?: boolean }): Promise<NanoUsd>;
  /** Ends the freeze after a failover; `freeze` begins one. */
  recover(options?: { freeze?: boolean }): Promise<void>;
  createKey(
    key: Pick<TeamKey, 'hash' | 'hint' | 'label' | 'project' | 'expiresAt' | 'models' | 'rpm'>,
  ): Promise<number>;
  keys(): Promise<TeamKey[]>;
  /** False: there is no such key, or it was revoked before. */
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
