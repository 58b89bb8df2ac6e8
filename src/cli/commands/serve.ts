import { Option } from 'commander';
import { refuseInsecureHome } from '../../config/home-access.ts';
import { pasteable } from '../../terminal/command-names.ts';
import type { SetUp } from '../command.ts';
import { type Context, note } from '../context.ts';
import { addListenOptions, flagsOf } from '../daemon/listen-options.ts';
import type { FirstKeys } from '../first-run/default-keys.ts';
import { invocation } from '../invocation.ts';
import { soundSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';

export const serve: SetUp = (command, context) =>
  addListenOptions(command)
    .addOption(new Option('--background', 'started by gw start').hideHelp())
    .addOption(new Option('--service', 'started by a service manager').hideHelp())
    .addOption(new Option('--replace <pid>', 'started by gw restart').hideHelp())
    .action(async (options) => {
      const background = options.background === true;
      // Nothing is created by a start that fails.
      soundSettings(context, flagsOf(options));
      if (!options.insecureHome) refuseInsecureHome(context.paths);
      if (!background && !options.service) showKeys(context, await firstKeys(context));
      const daemon = await import('../../daemon/serve.ts');
      // Clients run in other directories, so a relative path to gw would be of no use to them.
      // A service has the PATH of its manager, which rarely has the folder of npm's programs.
      const isInstalled = options.service && context.program.includes('/node_modules/gw/');
      const gw = isInstalled ? 'gw' : invocation(context);
      await daemon.serve({
        paths: context.paths,
        env: { ...context.env },
        flags: flagsOf(options),
        background,
        service: options.service === true,
        replaces: options.replace === undefined ? undefined : Number(options.replace),
        pasteable: (text) => pasteable(text, gw),
      });
    });

/** Creates keys only on a terminal: the output of a container is kept as a log. */
async function firstKeys(context: Context): Promise<FirstKeys | undefined> {
  return withStore(context, async (db) => {
    const { ensureDefaults } = await import('../first-run/default-keys.ts');
    return context.stderr.isTTY ? ensureDefaults(db, context.clock.now()) : undefined;
  });
}

function showKeys(context: Context, keys: FirstKeys | undefined): void {
  if (keys === undefined) note(context, 'To create a key for a client: gw keys create   (or: gw env)');
  if (keys?.project) note(context, `Key of the default project, shown only once: ${keys.project}`);
  if (keys?.admin) note(context, `Admin key, shown only once: ${keys.admin}`);
}
