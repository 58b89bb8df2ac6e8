import type { Calendar } from '../calendar.ts';
import type { Clock } from '../clock.ts';
import { formatUsd } from '../money.ts';
import { createKey, revokeKey } from '../store/accounts/keys.ts';
import { findProject, getProject, setPaused } from '../store/accounts/projects.ts';
import { budgetName, setBudget } from '../store/budgets/budgets.ts';
import type { Db } from '../store/database/open.ts';
import { inTransaction } from '../store/database/write.ts';
import { replayFailed } from '../store/webhooks/delivery-log.ts';
import type { Command, CommandResult } from './state/command.ts';

export interface ActionOptions {
  /** Opens the database for one change and closes it afterwards. */
  withStore: <T>(work: (db: Db) => Promise<T>) => Promise<T>;
  calendar: Calendar;
  clock: Clock;
}

/**
 * Executes confirmed commands with the store's own functions, as the commands of gw do: a daemon sees the change
 * before its next request, and no daemon has to be running. Modules are loaded when a command first needs them.
 */
export function createActions({ withStore, calendar, clock }: ActionOptions) {
  return (command: Command): Promise<CommandResult> =>
    withStore((db) => perform(db, command, { calendar, now: clock.now() }));
}

async function perform(
  db: Db,
  command: Command,
  { calendar, now }: { calendar: Calendar; now: number },
): Promise<CommandResult> {
  switch (command.kind) {
    case 'raise_budget': {
      const { period, repo, scope, capNanoUsd, windowMs } = command;
      const terms = { period, repo, scope, capNanoUsd, ...(windowMs === null ? {} : { windowMs }) };
      const { budget } = await setBudget(db, await getProject(db, command.project), terms, { calendar, now });
      return {
        message: `Raised budget ${budgetName(budget)} to ${formatUsd(budget.capNanoUsd)}, from the next request on.`,
      };
    }
    case 'create_key': {
      const { id, key } = await createKey(db, { projectId: findProject(db, command.project), now });
      return { message: `Created key ${id} for project ${command.project}:`, secret: key };
    }
    case 'revoke_key': {
      await revokeKey(db, command.id, now);
      return { message: `Revoked key ${command.id}.` };
    }
    case 'replay_webhook': {
      const write = async <T>(change: () => T) => inTransaction(db, change);
      const { length } = await replayFailed(db, write, { endpointId: command.id }, now);
      return {
        message: `Queued ${length} ${length === 1 ? 'delivery' : 'deliveries'} to wh_${command.id}.`,
      };
    }
    case 'pause_project':
    case 'resume_project': {
      const pause = command.kind === 'pause_project';
      await setPaused(db, command.project, pause ? now : null);
      return {
        message: pause
          ? `Paused project ${command.project}. gw refuses its requests until it is resumed.`
          : `Resumed project ${command.project}.`,
      };
    }
  }
}
