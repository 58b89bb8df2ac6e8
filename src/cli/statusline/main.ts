import { readFileSync } from 'node:fs';
import { resolvePaths } from '../../paths.ts';
import { sessionIn, wrapped } from './line.ts';
import { localLine } from './local.ts';

/** Prints the status line; anything else than this machine's plain line is left to the command. */
export async function main(): Promise<void> {
  const { env, argv, stdin, stdout } = process;
  const [, , , option, command = '', ...rest] = argv;
  const isPlain = option === undefined || (option === '--wrap' && rest.length === 0);
  if (!isPlain || env.GW_URL || hasLogin()) return (await import('../main.ts')).main();
  const input = stdin.isTTY ? '' : readAll();
  const line = localLine(env, sessionIn(input) || (env.CLAUDE_CODE_SESSION_ID ?? ''), Date.now());
  const before = command === '' ? '' : (await import('./run-wrapped.ts')).runWrapped(command, input);
  stdout.write(`${wrapped(before, line)}\n`);
}

/** An empty GW_URL stands for this machine. */
function hasLogin(): boolean {
  if (process.env.GW_URL === '') return false;
  try {
    return readFileSync(resolvePaths(process.env).login, 'utf8').includes('"url"');
  } catch {
    return false;
  }
}

function readAll(): string {
  try {
    return readFileSync(0, 'utf8');
  } catch {
    return '';
  }
}
