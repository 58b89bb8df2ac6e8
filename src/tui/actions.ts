import { formatUsd } from '../money.ts';
import { budgetBody } from '../operations/budget-scope.ts';
import type { Reader } from '../operations/registry.ts';
import type { Command, CommandResult } from './state/command.ts';

/** Executes confirmed commands, as the commands of gw do. */
export function createActions(gateway: Reader) {
  return async (command: Command): Promise<CommandResult> => perform(gateway, command);
}

async function perform(admin: Reader, command: Command): Promise<CommandResult> {
  switch (command.kind) {
    case 'raise_budget': {
      const { kind: _, ...change } = command;
      const { id, cap_nano_usd } = await admin.setBudget(budgetBody(change));
      return { message: `Raised budget ${id} to ${formatUsd(cap_nano_usd)}, from the next request on.` };
    }
    case 'approve_ask': {
      const { request_id, needed_nano_usd } = await admin.approveAsk({ id: command.id, once: true });
      return { message: `Approved: request ${request_id} may cost up to ${formatUsd(needed_nano_usd)}.` };
    }
    case 'deny_ask': {
      const { request_id } = await admin.denyAsk({ id: command.id });
      return { message: `Denied: request ${request_id} is refused.` };
    }
    case 'create_key': {
      const { id, key } = await admin.createKey({ project_id: command.project });
      return { message: `Created key ${id} for project ${command.project}:`, secret: key };
    }
    case 'revoke_key': {
      await admin.revokeKey({ id: command.id });
      return { message: `Revoked key ${command.id}.` };
    }
    case 'replay_webhook': {
      const webhook = `wh_${command.id}`;
      const { replayed } = await admin.replayFailed({ webhook_id: webhook });
      return { message: `Queued ${replayed} ${replayed === 1 ? 'delivery' : 'deliveries'} to ${webhook}.` };
    }
    case 'stop_all':
    case 'resume_all': {
      const paused = command.kind === 'stop_all';
      const { projects } = await admin.pauseAll({ paused, cut: paused });
      return {
        message: paused
          ? `Paused all projects (${projects.join(', ')}) and cut their running requests. To resume them, press S again.`
          : `Resumed all projects (${projects.join(', ')}).`,
      };
    }
    case 'pause_project':
    case 'resume_project': {
      const paused = command.kind === 'pause_project';
      await admin.changeProject({ project: command.project, paused });
      return {
        message: paused
          ? `Paused project ${command.project}. gw refuses its requests until it is resumed.`
          : `Resumed project ${command.project}.`,
      };
    }
  }
}
