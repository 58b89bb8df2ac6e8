import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

const GW = join(import.meta.dirname, '../../bin/gw');
const BUILT = join(import.meta.dirname, '../../dist/bundle/main.js');

/** A daemon in a process of its own. */
export interface SpawnedDaemon {
  port: number;
  /** The base URL that a client is given. */
  url: string;
  child: ChildProcess;
  kill(signal: NodeJS.Signals): void;
  /** Resolves when the process is gone. */
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** What it has written to stderr so far. */
  stderr(): string;
}

export interface SpawnOptions {
  args?: string[];
  env?: Record<string, string>;
  /** The `bin/gw` of another version. */
  program?: string;
}

/** Runs `gw serve` in a home, whether or not it comes to listen. */
export function runServe(home: string, { args = [], env = {}, program = GW }: SpawnOptions = {}) {
  if (!existsSync(BUILT)) throw new Error('gw is not built. Run: npm run build');
  const child = spawn(process.execPath, [program, 'serve', '--port', '0', ...args], {
    env: { PATH: process.env.PATH, HOME: home, GW_HOME: home, NO_COLOR: '1', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exited = once(child, 'close').then(([code, signal]) => ({ code, signal }));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return { child, exited, stderr: () => stderr, kill: (signal: NodeJS.Signals) => void child.kill(signal) };
}

/** Starts `gw serve` in the foreground on a free port and waits until it listens. */
export async function spawnDaemon(home: string, options: SpawnOptions = {}): Promise<SpawnedDaemon> {
  const running = runServe(home, options);
  const listening = new Promise<number>((resolve) => {
    running.child.stderr?.on('data', () => {
      const [, port] = /"port":(\d+).*"listening"/.exec(running.stderr()) ?? [];
      if (port !== undefined) resolve(Number(port));
    });
  });
  const failed = running.exited.then(({ code }) => {
    throw new Error(`gw serve ended with ${code}: ${running.stderr()}`);
  });
  failed.catch(() => {});
  const port = await Promise.race([listening, failed]);
  return { ...running, port, url: `http://127.0.0.1:${port}/v1` };
}
