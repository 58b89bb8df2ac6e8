import type { Calendar } from '../calendar.ts';
import type { Clock } from '../clock.ts';
import { formatUsd } from '../money.ts';
import type { Db } from '../store/database/open.ts';
import type { Command, Done } from './state/command.ts';

export interface ActionOptions {
  /** Opens the database for a change, and closes it. */
  withStore: <T>(work: (db: Db) => Promise<T>) => Promise<T>;
  calendar: Calendar;
  clock: Clock;
}

/**
 * Carries out what was confirmed by the store's own functions, as the commands of that name do: daemons read what
 * changed before their next request, and it works while none runs. What they need is loaded when it is needed.
 */
export function createActions({ withStore, calendar, clock }: ActionOptions) {
  return (command: Command): Promise<Done> =>
    withStore((db) => perform(db, command, { calendar, now: clock.now() }));
}

async function perform(
  db: Db,
  command: Command,
  { calendar, now }: { calendar: Calendar; now: number },
): Promise<Done> {
  switch (command.kind) {
    case 'raise_budget': {
      const { budgetName, setBudget } = await import('../store/budgets/budgets.ts');
      const { getProject } = await import('../store/accounts/projects.ts');
      const { period, repo, capNanoUsd, windowMs } = command;
      const terms = { period, repo, capNanoUsd, ...(windowMs === null ? {} : { windowMs }) };
      const { budget } = await setBudget(db, await getProject(db, command.project), terms, { calendar, now });
      return {
        message: `Budget ${budgetName(budget)} is ${formatUsd(budget.capNanoUsd)}, from the next request on.`,
      };
    }
    case 'create_key': {
      const { findProject } = await import('../store/accounts/find-project.ts');
      const { createKey } = await import('../store/accounts/keys.ts');
      const { id, key } = await createKey(db, { projectId: findProject(db, command.project), now });
      return { message: `Key ${id} of project ${command.project}:`, secret: key };
    }
    case 'revoke_key': {
      const { revokeKey } = await import('../store/accounts/keys.ts');
      await revokeKey(db, command.id, now);
      return { message: `Key ${command.id} no longer works.` };
    }
    case 'replay_webhook': {
      const { replayFailed } = await import('../store/webhooks/delivery-log.ts');
      const { inTransaction } = await import('../store/database/write.ts');
      const write = async <T>(change: () => T) => inTransaction(db, change);
      const { length } = await replayFailed(db, write, { endpointId: command.id }, now);
      return {
        message: `${length} ${length === 1 ? 'delivery is' : 'deliveries are'} on the way to wh_${command.id}.`,
      };
    }
    case 'pause_project':
    case 'resume_project': {
      const { setPaused } = await import('../store/accounts/projects.ts');
      const pause = command.kind === 'pause_project';
      await setPaused(db, command.project, pause ? now : null);
      return {
        message: `Project ${command.project} is ${pause ? 'paused: its requests are refused' : 'resumed'}.`,
      };
    }
  }
}
