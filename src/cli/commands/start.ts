import { connectedAgents } from '../../agents/settings/connections.ts';
import { refuseInsecureHome } from '../../config/home-access.ts';
import { readTls } from '../../config/tls.ts';
import { readDaemonInfo } from '../../daemon-info.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { note, say, sayJson, screenOf, tell } from '../context.ts';
import { type Daemon, daemonFlags, findDaemon } from '../daemon/find.ts';
import { addListenOptions, flagsOf } from '../daemon/listen-options.ts';
import { refuseTakenPort, replaceDaemon, startDaemon, stopDaemon } from '../daemon/start.ts';
import { usageError } from '../exit.ts';
import { ensureDefaults, firstSteps } from '../first-run/default-keys.ts';
import { soundSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';
import { daemonJson } from './status.ts';

export const start: SetUp = (command, context) =>
  addListenOptions(command)
    .option(...AS_JSON)
    .action(async (options) => {
      // Creates the keys after the daemon answers: they are shown only once, and a failed start must not lose them.
      const { daemon, already } = await startDaemon(context, flagsOf(options), options);
      const keys = await withStore(context, (db) => ensureDefaults(db, context.clock.now()));
      const running = daemonJson({ kind: 'running', daemon });
      if (options.json) return sayJson(context, { ...running, already_running: already, keys });
      say(context, `gw is ${already ? 'already ' : ''}running (pid ${daemon.pid}).`);
      tell(context, firstSteps(daemon, keys, screenOf(context)));
      if (already && options.port !== undefined && Number(options.port) !== daemon.port)
        note(context, `It stays on port ${daemon.port}. To move it: gw restart --port ${options.port}`);
    });

export const restart: SetUp = (command, context) =>
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
      if (before.kind === 'running' && before.daemon.port !== port) await refuseTakenPort(host, port);
      const next = async (): Promise<Daemon> => {
        if (before.kind === 'running' && !options.now)
          return replaceDaemon(context, before.daemon, flags, options);
        await stopDaemon(context, { now: options.now === true });
        return (await startDaemon(context, flags, options)).daemon;
      };
      const daemon = await next();
      if (options.json) return sayJson(context, daemonJson({ kind: 'running', daemon }));
      const how = before.kind === 'stopped' ? 'started (it was not running)' : 'restarted';
      say(context, `gw ${how}: ${daemon.origin}/v1, pid ${daemon.pid}`);
    });

export const stop: SetUp = (command, context) =>
  command.option('--now', 'do not wait for running requests').action(async ({ now = false }) => {
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
