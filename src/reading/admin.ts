import type { NanoUsd } from '../money.ts';
import type { KeyLimits, Rotation } from '../store/accounts/keys.ts';
import type { StoredPrice } from '../store/accounts/prices.ts';
import type { Plan } from '../store/accounts/projects.ts';
import type { Approval } from '../store/budgets/asks.ts';
import type { Scope } from '../store/budgets/budgets.ts';
import type { Raise } from '../store/budgets/raise-budget.ts';
import type { BudgetPeriod, OnLimit } from '../store/ledger/terms.ts';
import type { DeliveryQuery, RegisteredView, TestView } from '../webhooks/service.ts';
import type { DeliveryView, EndpointView } from '../webhooks/views.ts';
import type { AskView } from './ask-schema.ts';
import type { BudgetView, NewKeyView, RotatedKeyView } from './schemas.ts';

export interface BudgetName {
  project: string;
  period: BudgetPeriod;
  /** Root of a git repository; undefined for the budget of the whole project. */
  repo?: string | undefined;
  /** What it is for, besides a repository. */
  scope?: Scope | undefined;
}

export interface BudgetChange extends BudgetName {
  capNanoUsd: NanoUsd;
  alertPercent?: number | undefined;
  /** Several of them; used instead of `alertPercent`. */
  alertPercents?: readonly number[] | undefined;
  windowMs?: number | undefined;
  /** Default: as it is. */
  onLimit?: OnLimit | undefined;
}

interface Pause {
  paused: boolean;
  /** Also ends the requests that are running. Their cost is booked. */
  cut?: boolean;
}

/**
 * What commands and the dashboard change: in the local database, or through a gw's HTTP API. Throws GwError 400, 403
 * and 404. Through HTTP, all but the webhooks of a key's own project need an admin key.
 */
export interface Admin {
  setBudget(change: BudgetChange): Promise<BudgetView>;
  raiseBudget(raise: Raise): Promise<BudgetView>;
  /** Lets a request that waits go on. Throws GwError 404 for an unknown id, and 409 if it waits no more. */
  approveAsk(approval: Approval): Promise<AskView>;
  denyAsk(id: string): Promise<AskView>;
  removeBudget(name: BudgetName): Promise<void>;
  createKey(key: { project: string; admin: boolean; label: string | null } & KeyLimits): Promise<NewKeyView>;
  rotateKey(rotation: Pick<Rotation, 'id' | 'overlapMs' | 'expiresAt'>): Promise<RotatedKeyView>;
  revokeKey(id: number): Promise<void>;
  addProject(name: string, plan: Plan): Promise<void>;
  changeProject(name: string, change: { plan?: Plan } & Partial<Pause>): Promise<void>;
  /** Pauses or resumes all projects at once. Returns their names. */
  pauseAll(pause: Pause): Promise<string[]>;
  removeProject(name: string): Promise<void>;
  /**
   * Deletes the records of a project's requests, or of one session of an agent. Their figures stay in reports. Returns
   * how many there were.
   */
  deleteRecords(records: { project: string; session?: string | undefined }): Promise<number>;
  setPrice(price: StoredPrice): Promise<void>;
  /** False if there was none. */
  removePrice(provider: string, model: string): Promise<boolean>;
  webhooks: WebhookAdmin;
}

/** Changes of webhooks. The fields of `input` are those of the HTTP API. */
interface WebhookAdmin {
  register(input: Record<string, unknown>): Promise<RegisteredView>;
  get(id: string): Promise<EndpointView>;
  update(id: string, input: Record<string, unknown>): Promise<EndpointView>;
  remove(id: string): Promise<void>;
  rotate(id: string): Promise<RegisteredView>;
  test(id: string): Promise<TestView>;
  replay(id: string): Promise<DeliveryView>;
  /** Returns how many. */
  replayFailed(query: Omit<DeliveryQuery, 'status' | 'limit'>): Promise<number>;
}
