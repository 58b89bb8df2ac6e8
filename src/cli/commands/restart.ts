import type { SetUp } from '../command.ts';
import { type Context, say } from '../context.ts';
import { findDaemon } from '../daemon/find.ts';
import { startDaemon } from '../daemon/start.ts';
import { stopDaemon } from '../daemon/stop.ts';
import { addListenOptions, flagsOf, type ListenOptions } from '../listen-options.ts';

export const restart: SetUp = (command, context) => {
  addListenOptions(command).action((options: ListenOptions) => run(context, options));
};

async function run(context: Context, options: ListenOptions): Promise<void> {
  const before = await findDaemon(context);
  await stopDaemon(context);
  const { daemon } = await startDaemon(context, flagsOf(options));
  const how = before.kind === 'stopped' ? 'started; it was not running' : 'restarted';
  say(context, `gw has ${how}: ${daemon.origin}/v1, pid ${daemon.pid}`);
}
