import { connectedAgents } from '../../agents/settings/connections.ts';
import type { SetUp } from '../command.ts';
import { note } from '../context.ts';
import { stopDaemon } from '../daemon/stop.ts';

export const stop: SetUp = (command, context) => {
  command
    .option('--now', 'do not wait for running requests')
    .action(async ({ now = false }: { now?: boolean }) => {
      const pid = await stopDaemon(context, { now });
      note(context, pid === undefined ? 'gw is not running.' : `gw (pid ${pid}) has stopped.`);
      const agents = connectedAgents(context.paths.connections);
      if (agents.length > 0) {
        note(
          context,
          `Connected agents get no answers until it runs again: ${agents.join(', ')}. To let them work without gw: gw disconnect --all`,
        );
      }
    });
};
