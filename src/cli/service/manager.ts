import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { writing } from '../../write-fault.ts';
import { type Context, homeOf } from '../context.ts';
import { CliError } from '../exit.ts';

/** The platform's manager of programs that start at login. */
interface ServiceManager {
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
  /** Advice for the user. */
  advice?: string;
}

const UNIT = 'gw.service';
const LABEL = 'dev.gw.daemon';
const TASK = 'gw';

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

/** How long a manager may take; a stop waits for running requests. */
const COMMAND_LIMIT_MS = 60_000;

/** The manager that the service of this state directory is installed with; undefined if it isn't. */
export function installedService(context: Context): ServiceManager | undefined {
  const manager = serviceManager(context);
  const text = definitionOf(manager);
  return text?.includes(context.paths.home) ? manager : undefined;
}

/** The installed definition; undefined without one. */
export function definitionOf({ file }: ServiceManager): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

/** Writes the definition and starts the service. If the manager refuses it, everything is put back. */
export async function installService(context: Context, manager: ServiceManager): Promise<void> {
  const { file, definition, install, uninstall } = manager;
  const before = definitionOf(manager);
  if (before !== undefined && !before.includes(context.paths.home)) {
    throw new CliError(
      `${file} runs another gw, of another GW_HOME. To remove it: gw service uninstall, with its GW_HOME`,
    );
  }
  writing(file, () => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, definition, { mode: 0o600 });
  });
  try {
    await runAll(context, install);
  } catch (error) {
    if (before === undefined) {
      await runAll(context, uninstall).catch(() => {});
      rmSync(file, { force: true });
    } else writeFileSync(file, before);
    throw error;
  }
}

/** Stops the service and deletes its definition. */
export async function uninstallService(context: Context, { file, uninstall }: ServiceManager): Promise<void> {
  await runAll(context, uninstall);
  rmSync(file, { force: true });
}

/** Runs commands one after the other. Throws an error for people at the first that fails. */
export async function runAll({ env }: Context, commands: readonly Argv[]): Promise<void> {
  for (const [name, ...args] of commands) {
    await new Promise<void>((resolve, reject) => {
      execFile(name, args, { env: { ...env }, timeout: COMMAND_LIMIT_MS }, (error, _stdout, stderr) => {
        if (!error) return resolve();
        const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
        const why = isMissing ? 'it is not installed' : stderr.trim() || error.message;
        reject(
          new CliError(
            `${[name, ...args].join(' ')} failed: ${why}. Without a service manager: gw start, or gw serve in a container`,
          ),
        );
      });
    });
  }
}

/** A command and its arguments. */
export type Argv = readonly [string, ...string[]];

/** Command of the service. */
export interface ServiceProgram {
  argv: Argv;
  /** Environment variables. */
  env: Record<string, string>;
}

/** A little more than the daemon takes to drain. */
const STOP_LIMIT_S = 35;

/** A systemd user unit: systemd.service(5), quoted as systemd.syntax(7) says. */
export function systemdUnit({ argv, env }: ServiceProgram): string {
  const quoted = (text: string) => `"${text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')}"`;
  const command = argv.map((word) => quoted(word).replaceAll('$', '$$$$')).join(' ');
  const variables = Object.entries(env).map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}`);
  return `[Unit]
Description=gw, the spending firewall for LLM calls
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=exec
ExecStart=${command}
${variables.join('\n')}
UMask=0077
Restart=on-failure
RestartSec=1
TimeoutStopSec=${STOP_LIMIT_S}

[Install]
WantedBy=default.target
`;
}

/** A launchd agent: launchd.plist(5). */
export function launchdPlist(label: string, { argv, env }: ServiceProgram): string {
  const string = (text: string) => `<string>${escapeXml(text)}</string>`;
  const pairs = Object.entries(env).map(([name, value]) => `    <key>${name}</key>${string(value)}`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>${string(label)}
  <key>ProgramArguments</key>
  <array>
${argv.map((word) => `    ${string(word)}`).join('\n')}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
${pairs.join('\n')}
  </dict>
  <key>Umask</key><integer>63</integer>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ExitTimeOut</key><integer>${STOP_LIMIT_S}</integer>
</dict>
</plist>
`;
}

/**
 * A task of the Windows Task Scheduler, whose schema has no environment: `cmd` sets it. Its quotes keep characters
 * such as `&` from ending the command.
 */
export function scheduledTask({ argv, env }: ServiceProgram): string {
  const set = Object.entries(env).map(([name, value]) => `set "${name}=${value}"`);
  const command = [...set, argv.map((word) => `"${word}"`).join(' ')].join(' && ');
  return `<?xml version="1.0" encoding="UTF-8"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo><Description>gw, the spending firewall for LLM calls</Description></RegistrationInfo>
  <Triggers><LogonTrigger><Enabled>true</Enabled></LogonTrigger></Triggers>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure><Interval>PT1M</Interval><Count>5</Count></RestartOnFailure>
  </Settings>
  <Actions>
    <Exec><Command>cmd.exe</Command><Arguments>${escapeXml(`/d /s /c "${command}"`)}</Arguments></Exec>
  </Actions>
</Task>
`;
}

function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
