import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpHome } from './tmp-home.ts';

const SYSTEMCTL = `#!${process.execPath}
const { spawn } = require('node:child_process');
const { appendFileSync, existsSync, readFileSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const [, verb, ...rest] = process.argv.slice(2);
const base = join(process.env.HOME, '.config/systemd/user');
appendFileSync(join(process.env.HOME, 'calls'), [verb, ...rest].join(' ') + '\\n');
if (existsSync(join(process.env.HOME, 'no-bus'))) {
  console.error('Failed to connect to bus: No medium found');
  process.exit(1);
}
const pidFile = join(process.env.HOME, 'unit.pid');
const words = (text) => [...text.matchAll(/"((?:[^"\\\\\\\\]|\\\\\\\\.)*)"/g)].map(([, word]) => JSON.parse('"' + word + '"'));
const isAlive = (pid) => { try { return !/\\) Z /.test(readFileSync('/proc/' + pid + '/stat', 'latin1')); } catch { return false; } };
async function stop() {
  if (!existsSync(pidFile)) return;
  const pid = Number(readFileSync(pidFile, 'utf8'));
  try { process.kill(pid, 'SIGTERM'); } catch {}
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
}
function start() {
  const unit = readFileSync(join(base, 'gw.service'), 'utf8');
  const [program, ...args] = words(/^ExecStart=(.*)$/m.exec(unit)[1]);
  const env = Object.fromEntries(
    [...unit.matchAll(/^Environment=(.*)$/gm)].map(([, line]) => words(line)[0].split(/=(.*)/s)),
  );
  const child = spawn(program, args, { env, detached: true, stdio: 'ignore' });
  writeFileSync(pidFile, String(child.pid));
  child.unref();
}
(async () => {
  if (verb === 'restart' || (verb === 'disable' && rest[0] === '--now')) await stop();
  if (verb === 'restart' || verb === 'start') start();
})();
`;

/**
 * A folder for the PATH with a `systemctl` that reads a unit as systemd does, as far as gw's goes: it runs ExecStart with
 * nothing but the unit's environment. Each call is noted in `$HOME/calls`.
 */
export function systemctlFolder(): string {
  const folder = tmpHome();
  writeFileSync(join(folder, 'systemctl'), SYSTEMCTL);
  chmodSync(join(folder, 'systemctl'), 0o755);
  return folder;
}
