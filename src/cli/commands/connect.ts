import { Argument } from 'commander';
import type { Agent } from '../../agents/agent.ts';
import { readConnections } from '../../agents/settings/connections.ts';
import { AGENTS } from '../../agents/table.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { agentNamed } from '../connect/agents.ts';
import { connectAgent } from '../connect/connect-agent.ts';
import { disconnectAgent } from '../connect/disconnect-agent.ts';
import { agentRow, listAgents } from '../connect/list-agents.ts';
import { note, sayJson } from '../context.ts';
import { EXIT, Exit, usageError } from '../exit.ts';

export const connect: SetUp = (command, context) =>
  command
    .addArgument(agentArgument('[agent]', 'agent to connect; without it, list the agents'))
    .option('--model <name>', 'model that the agent uses by default')
    .option('--subscription', 'let Claude Code or Codex keep its own login; no budget counts its requests')
    .option('-y, --yes', 'write the changes without asking')
    .option('--statusline', "also show gw's line in Claude Code, after your own status line")
    .option('--no-proof', 'do not run a request of the agent to prove it')
    .option(...AS_JSON)
    .addHelpText(
      'after',
      '\nWrites the address and a key of gw into the settings of a coding agent, after showing the diff.\nTo undo it: gw disconnect AGENT. For one run only: gw run -- AGENT',
    )
    .action(async (name, options) => {
      if (name === undefined) return listAgents(context, options.json);
      const agent = agentNamed(name);
      await connectAgent(context, agent, options);
      if (options.json) sayJson(context, await agentRow(context, agent));
    });

/** An argument with completion. The parser accepts other names: an unknown agent exits with 5. */
export function agentArgument<Name extends string>(
  name: Name,
  about: string,
  agents: readonly Agent[] = AGENTS,
) {
  const argument = new Argument(name, about);
  argument.argChoices = agents.map((agent) => agent.name);
  return argument;
}

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
