import { formatUsd } from '../money.ts';
import type { Admin } from '../reading/admin.ts';
import type { Command, CommandResult } from './state/command.ts';

/** Executes confirmed commands with the same operations as the CLI. */
export function createActions(admin: () => Promise<Admin>) {
  return async (command: Command): Promise<CommandResult> => perform(await admin(), command);
}

async function perform(admin: Admin, command: Command): Promise<CommandResult> {
  switch (command.kind) {
    case 'raise_budget': {
      const { id, cap_nano_usd } = await admin.setBudget(command);
      return { message: `Raised budget ${id} to ${formatUsd(cap_nano_usd)}, from the next request on.` };
    }
    case 'approve_ask': {
      const { request_id, needed_nano_usd } = await admin.approveAsk({ id: command.id });
      return { message: `Approved: request ${request_id} may cost up to ${formatUsd(needed_nano_usd)}.` };
    }
    case 'deny_ask': {
      const { request_id } = await admin.denyAsk(command.id);
      return { message: `Denied: request ${request_id} is refused.` };
    }
    case 'create_key': {
      const { id, key } = await admin.createKey({ project: command.project, admin: false, label: null });
      return { message: `Created key ${id} for project ${command.project}:`, secret: key };
    }
    case 'revoke_key': {
      await admin.revokeKey(command.id);
      return { message: `Revoked key ${command.id}.` };
    }
    case 'replay_webhook': {
      const webhook = `wh_${command.id}`;
      const count = await admin.webhooks.replayFailed({ webhook });
      return { message: `Queued ${count} ${count === 1 ? 'delivery' : 'deliveries'} to ${webhook}.` };
    }
    case 'stop_all':
    case 'resume_all': {
      const paused = command.kind === 'stop_all';
      const projects = await admin.pauseAll({ paused, cut: paused });
      return {
        message: paused
          ? `Paused all projects (${projects.join(', ')}) and cut their running requests. To resume them, press S again.`
          : `Resumed all projects (${projects.join(', ')}).`,
      };
    }
    case 'pause_project':
    case 'resume_project': {
      const paused = command.kind === 'pause_project';
      await admin.changeProject(command.project, { paused });
      return {
        message: paused
          ? `Paused project ${command.project}. gw refuses its requests until it is resumed.`
          : `Resumed project ${command.project}.`,
      };
    }
  }
}
