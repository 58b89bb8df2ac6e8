import type { TeamBudget } from '../store/team/team-budgets.ts';
import type { SyncAnswer, SyncMessage, SyncRefusal } from './protocol.ts';

/** What a team's members are told of it. */
export interface TeamConfig {
  name: string;
  timezone: string;
  version: number;
  budgets: TeamBudget[];
}

/** What the sync agent asks of the authority. A promise that rejects says that the authority can't be asked now. */
export interface SyncAuthority {
  /** A daemon starts, and fences the one before. */
  hello(oldNonce: string, newNonce: string): Promise<'ok' | 'identity_in_use'>;
  sync(message: Omit<SyncMessage, 'gateway'>): Promise<SyncAnswer | SyncRefusal>;
  config(): Promise<TeamConfig>;
  close(): Promise<void>;
}
