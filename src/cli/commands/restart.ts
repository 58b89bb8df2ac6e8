import { refuseInsecureHome } from '../../config/home-access.ts';
import { readTls } from '../../config/tls.ts';
import { readDaemonInfo } from '../../daemon-info.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { type Context, say, sayJson } from '../context.ts';
import { type Daemon, type DaemonState, daemonFlags, findDaemon } from '../daemon/find.ts';
import { addListenOptions, flagsOf, type ListenOptions } from '../daemon/listen-options.ts';
import { refuseTakenPort, replaceDaemon, startDaemon } from '../daemon/start.ts';
import { stopDaemon } from '../daemon/stop.ts';
import { usageError } from '../exit.ts';
import { type Flags, soundSettings } from '../settings.ts';
import { daemonJson } from '../status/view.ts';

interface Options extends ListenOptions {
  json?: boolean;
  now?: boolean;
}

export const restart: SetUp = (command, context) => {
  addListenOptions(command)
    .option('--now', 'cut the running requests')
    .option(...AS_JSON)
    .action(async (options) => {
      const before = await findDaemon(context);
      // Read before the stop, which deletes the file that holds them.
      const flags = { ...daemonFlags(context), ...flagsOf(options) };
      if (readDaemonInfo(context.paths).service && Object.keys(flagsOf(options)).length > 0) {
        throw usageError(
          'gw runs as a service, which takes no flags. Set it for good: gw config set port 4848',
        );
      }
      // What can't start is refused before the running daemon is stopped.
      const { settings } = soundSettings(context, flags);
      const { host, port } = settings;
      readTls(settings, context.clock.now());
      if (!options.insecureHome) refuseInsecureHome(context.paths);
      if (before.kind === 'running' && before.daemon.port !== port) {
        await refuseTakenPort(host, port);
      }
      const daemon = await next(context, options.now ? undefined : before, { ...options, flags });
      if (options.json) {
        sayJson(context, daemonJson({ kind: 'running', daemon }));
        return;
      }
      const how = before.kind === 'stopped' ? 'started (it was not running)' : 'restarted';
      say(context, `gw ${how}: ${daemon.origin}/v1, pid ${daemon.pid}`);
    });
};

async function next(
  context: Context,
  before: DaemonState | undefined,
  { flags, ...options }: Options & { flags: Flags },
): Promise<Daemon> {
  if (before?.kind === 'running') return replaceDaemon(context, before.daemon, flags, options);
  await stopDaemon(context, { now: before === undefined });
  return (await startDaemon(context, flags, options)).daemon;
}
