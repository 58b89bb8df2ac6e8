import { execFile } from 'node:child_process';
import { clean } from '../terminal/text.ts';
import type { Context } from './context.ts';

const LIMIT_MS = 60_000;
const MAX_BYTES = 4_000_000;
const MAX_LINES = 5_000;

/** Runs a gw command without a terminal and returns the lines that it prints, without colours. */
export function runGw(
  { program, env }: Context,
  args: readonly string[],
  columns: number,
): Promise<string[]> {
  return new Promise((resolve) => {
    const options = {
      env: { ...env, COLUMNS: String(columns), NO_COLOR: '1' },
      timeout: LIMIT_MS,
      maxBuffer: MAX_BYTES,
    };
    const child = execFile(process.execPath, [program, ...args], options, (error, stdout, stderr) => {
      const late = error?.killed ? [`stopped after ${LIMIT_MS / 1_000} s`] : [];
      const lines = `${stdout}${stderr}`.trimEnd().split('\n').map(clean);
      resolve([...lines.slice(0, MAX_LINES), ...late]);
    });
    child.stdin?.end();
  });
}
