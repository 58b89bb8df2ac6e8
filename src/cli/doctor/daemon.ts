import { duration } from '../../terminal/time.ts';
import type { Context } from '../context.ts';
import { findDaemon } from '../daemon/find.ts';
import { portOwner } from '../daemon/port-owner.ts';
import { readSettings } from '../settings.ts';
import { broken, type Finding, ok, warning } from './check.ts';

/** Checks that the daemon runs in this version; if it does not run, that its port is free. */
export async function checkDaemon(context: Context): Promise<Finding> {
  const state = await findDaemon(context);
  switch (state.kind) {
    case 'running': {
      const { origin, pid, version, started_at } = state.daemon;
      if (version !== context.version) {
        return warning('daemon', `gw ${version} is running, but this is gw ${context.version}`, 'gw restart');
      }
      const up = duration(context.clock.now() - Date.parse(started_at));
      return ok('daemon', `running on ${origin}/v1, pid ${pid}, up ${up}`);
    }
    case 'silent':
      return broken('daemon', `pid ${state.pid} does not answer`, 'gw logs, then gw restart');
    case 'stopped':
      return checkPort(context);
  }
}

async function checkPort(context: Context): Promise<Finding> {
  const { port } = readSettings(context).settings;
  const owner = port === 0 ? undefined : await portOwner(port);
  if (!owner) return warning('daemon', `not running; port ${port} is free`, 'gw start');
  return broken(
    'port',
    `port ${port} is used by ${owner.name} (pid ${owner.pid}), while gw is not running`,
    `gw start --port ${port + 1}, or kill ${owner.pid}`,
  );
}
