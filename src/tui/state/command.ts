import type { BudgetChange } from '../../operations/budget-scope.ts';

/** A change that the dashboard can make. */
export type Command =
  | ({ kind: 'raise_budget' } & BudgetChange)
  | { kind: 'approve_ask'; id: string }
  | { kind: 'deny_ask'; id: string }
  | { kind: 'create_key'; project: string }
  | { kind: 'revoke_key'; id: number }
  | { kind: 'replay_webhook'; id: number }
  | { kind: 'pause_project'; project: string }
  | { kind: 'resume_project'; project: string }
  | { kind: 'stop_all' }
  | { kind: 'resume_all' };

/** The outcome of a command. A secret is shown once. */
export interface CommandResult {
  message: string;
  secret?: string;
}
