import { spawnSync } from 'node:child_process';

const TIMEOUT_MS = 5_000;

/** The output of the user's own status line, which gets the agent's JSON; '' if it fails. */
export function runWrapped(command: string, input: string): string {
  const { stdout } = spawnSync(command, {
    shell: true,
    input,
    encoding: 'utf8',
    timeout: TIMEOUT_MS,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  return stdout ?? '';
}
