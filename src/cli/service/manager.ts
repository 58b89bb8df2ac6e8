import { userInfo } from 'node:os';
import { join } from 'node:path';
import { type Context, homeOf } from '../context.ts';
import { type Argv, launchdPlist, type ServiceProgram, scheduledTask, systemdUnit } from './definitions.ts';

/** The platform's manager of programs that start at login. */
export interface ServiceManager {
  name: 'systemd' | 'launchd' | 'Task Scheduler';
  /** The file that defines the service, and its text. */
  file: string;
  definition: string;
  /** The commands that make the manager read the file, then start the service now and at each login. */
  install: readonly Argv[];
  /** Stops the service and has the manager forget it. Run before the file is deleted. */
  uninstall: readonly Argv[];
  start: readonly Argv[];
  restart: readonly Argv[];
  /** Shows the service's log. */
  logs: string;
  /** What else its user may want to know. */
  advice?: string;
}

const UNIT = 'gw.service';
const LABEL = 'dev.gw.daemon';
const TASK = 'gw';

/** The manager of this platform. */
export function serviceManager(
  context: Context,
  platform: NodeJS.Platform = process.platform,
): ServiceManager {
  const { env, paths, program } = context;
  const serve = (option: string): ServiceProgram => ({
    argv: [process.execPath, program, 'serve', '--service', ...(option ? [option] : [])],
    env: { GW_HOME: paths.home, GW_DATABASE: paths.database },
  });
  const home = homeOf(context);
  if (platform === 'darwin') return launchd(home, serve('--background'));
  if (platform === 'win32') return taskScheduler(paths.home, serve('--background'));
  return systemd(env.XDG_CONFIG_HOME || join(home, '.config'), serve(''));
}

function systemd(configHome: string, program: ServiceProgram): ServiceManager {
  const systemctl = (...args: string[]): Argv => ['systemctl', '--user', ...args];
  return {
    name: 'systemd',
    file: join(configHome, 'systemd/user', UNIT),
    definition: systemdUnit(program),
    install: [systemctl('daemon-reload'), systemctl('enable', UNIT), systemctl('restart', UNIT)],
    uninstall: [systemctl('disable', '--now', UNIT)],
    start: [systemctl('start', UNIT)],
    restart: [systemctl('restart', UNIT)],
    logs: `journalctl --user -u ${UNIT}`,
    advice: 'It ends when you log out. To keep it running: loginctl enable-linger',
  };
}

function launchd(home: string, program: ServiceProgram): ServiceManager {
  const file = join(home, 'Library/LaunchAgents', `${LABEL}.plist`);
  const domain = `gui/${userInfo().uid}`;
  return {
    name: 'launchd',
    file,
    definition: launchdPlist(LABEL, program),
    install: [['launchctl', 'bootstrap', domain, file]],
    uninstall: [['launchctl', 'bootout', `${domain}/${LABEL}`]],
    start: [['launchctl', 'kickstart', `${domain}/${LABEL}`]],
    restart: [['launchctl', 'kickstart', '-k', `${domain}/${LABEL}`]],
    logs: 'gw logs',
  };
}

function taskScheduler(gwHome: string, program: ServiceProgram): ServiceManager {
  const file = join(gwHome, 'gw-task.xml');
  return {
    name: 'Task Scheduler',
    file,
    definition: scheduledTask(program),
    install: [
      ['schtasks', '/Create', '/TN', TASK, '/XML', file, '/F'],
      ['schtasks', '/Run', '/TN', TASK],
    ],
    uninstall: [
      ['schtasks', '/End', '/TN', TASK],
      ['schtasks', '/Delete', '/TN', TASK, '/F'],
    ],
    start: [['schtasks', '/Run', '/TN', TASK]],
    restart: [
      ['schtasks', '/End', '/TN', TASK],
      ['schtasks', '/Run', '/TN', TASK],
    ],
    logs: 'gw logs',
  };
}
