import { readDaemonInfo } from '../../daemon-info.ts';
import { PRESETS } from '../../providers/presets.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { findDaemon } from '../daemon/find.ts';
import { stopDaemon, untilAnswering } from '../daemon/start.ts';
import { EXIT, Exit } from '../exit.ts';
import {
  definitionOf,
  installedService,
  installService,
  serviceManager,
  uninstallService,
} from '../service/manager.ts';

export const service: SetUp = (command, context) => {
  install(command, context);
  command
    .command('uninstall')
    .description('stop the service and remove it')
    .action(async () => {
      const manager = installedService(context);
      if (!manager) {
        note(context, 'gw is not installed as a service. To install it: gw service install');
        return;
      }
      await uninstallService(context, manager);
      note(context, `Removed ${manager.file}. To run gw without it: gw start`);
    });
  status(command, context);
};

const install: SetUp = (command, context) =>
  command
    .command('install')
    .description('start gw at each login, and again if it crashes')
    .action(async () => {
      const manager = serviceManager(context);
      // A daemon that runs already would keep the service from starting.
      if (!(await isService(context))) await stopDaemon(context);
      await installService(context, manager);
      const daemon = await untilAnswering(context, () => undefined);
      say(context, `gw runs as a service of ${manager.name} (pid ${daemon.pid}): ${daemon.origin}/v1`);
      say(context, `Definition: ${manager.file}`);
      say(context, `Log: ${manager.logs}`);
      if (manager.advice) say(context, manager.advice);
      const names = Object.values(PRESETS).flatMap(({ keyEnv }) => keyEnv);
      const unseen = [...new Set(names)].filter((name) => context.env[name]);
      if (unseen.length > 0) {
        note(
          context,
          `warning: the service does not see this shell's ${unseen.join(', ')}. To store a provider's key for it: gw providers add NAME`,
        );
      }
    });

const status: SetUp = (command, context) =>
  command
    .command('status')
    .description('show whether the service is installed and runs')
    .option(...AS_JSON)
    .action(async ({ json = false }) => {
      const manager = serviceManager(context);
      const definition = installedService(context) && definitionOf(manager);
      const runs = definition !== undefined && (await isService(context));
      const view = {
        object: 'service',
        manager: manager.name,
        installed: definition !== undefined,
        outdated: definition !== undefined && definition !== manager.definition,
        running: runs,
        pid: runs ? readDaemonInfo(context.paths).pid : null,
        file: manager.file,
      };
      if (json) sayJson(context, view);
      else if (!view.installed) say(context, 'not installed. To install it: gw service install');
      else {
        say(context, `installed  ${view.file} (${view.manager})`);
        say(context, view.running ? `running    pid ${view.pid}` : 'stopped    To start it: gw start');
        if (view.outdated)
          say(context, 'outdated   It starts another gw or Node. To renew it: gw service install');
      }
      if (!runs) throw new Exit(EXIT.daemonDown);
    });

/** Whether the running daemon was started by the service manager. */
async function isService(context: Context): Promise<boolean> {
  const state = await findDaemon(context);
  return state.kind === 'running' && readDaemonInfo(context.paths).service === true;
}
