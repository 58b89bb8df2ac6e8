/** A command and its arguments. */
export type Argv = readonly [string, ...string[]];

/** What the service runs. */
export interface ServiceProgram {
  argv: Argv;
  /** What it is to find in its environment. */
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
