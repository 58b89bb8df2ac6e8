import { readTls } from '../../config/tls.ts';
import type { SetUp } from '../command.ts';
import { type Context, say, sayJson } from '../context.ts';
import { daemonFlags, findDaemon } from '../daemon/find.ts';
import { addListenOptions, flagsOf, type ListenOptions } from '../daemon/listen-options.ts';
import { refuseTakenPort, startDaemon } from '../daemon/start.ts';
import { stopDaemon } from '../daemon/stop.ts';
import { readSettings } from '../settings.ts';
import { daemonJson } from '../status/view.ts';

interface Options extends ListenOptions {
  json?: boolean;
}

export const restart: SetUp = (command, context) => {
  addListenOptions(command)
    .option('--json', 'print JSON')
    .action((options: Options) => run(context, options));
};

async function run(context: Context, options: Options): Promise<void> {
  const before = await findDaemon(context);
  // Read before the stop, which deletes the file that holds them.
  const flags = { ...daemonFlags(context), ...flagsOf(options) };
  // What can't start is refused before the running daemon is stopped.
  const { settings } = readSettings(context, flags);
  const { host, port } = settings;
  readTls(settings, context.clock.now());
  if (before.kind === 'running' && before.daemon.port !== port) {
    await refuseTakenPort(host, port);
  }
  await stopDaemon(context);
  const { daemon } = await startDaemon(context, flags);
  if (options.json) {
    sayJson(context, daemonJson({ kind: 'running', daemon }));
    return;
  }
  const how = before.kind === 'stopped' ? 'started (it was not running)' : 'restarted';
  say(context, `gw ${how}: ${daemon.origin}/v1, pid ${daemon.pid}`);
}
