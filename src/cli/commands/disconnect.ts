import { readConnections } from '../../agents/settings/connections.ts';
import type { SetUp } from '../command.ts';
import { agentNamed } from '../connect/agents.ts';
import { disconnectAgent } from '../connect/disconnect-agent.ts';
import { note } from '../context.ts';
import { EXIT, Exit, usageError } from '../exit.ts';
import { agentArgument } from './connect.ts';

export const disconnect: SetUp = (command, context) =>
  command
    .addArgument(agentArgument('[agent]', 'agent to disconnect'))
    .option('--all', 'disconnect all agents')
    .option('--force', 'also put back values that others have changed since')
    .addHelpText('after', '\nPuts the settings of the agent back as they were, and revokes its key.')
    .action(async (name, { all = false, force = false }) => {
      if ((name === undefined) !== all) throw usageError('name an agent, or --all. See: gw connect');
      const names =
        name === undefined
          ? Object.keys(readConnections(context.paths.connections))
          : [agentNamed(name).name];
      if (names.length === 0) note(context, 'No agent is connected.');
      let isLeft = false;
      for (const each of names) isLeft = (await disconnectAgent(context, each, { force })) || isLeft;
      if (isLeft) throw new Exit(EXIT.failure);
    });
