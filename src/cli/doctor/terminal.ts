import { spawnSync } from 'node:child_process';
import { closeSync } from 'node:fs';
import { isatty } from 'node:tty';
import type { Context } from '../context.ts';

// Colours, line wrap, cursor; no mouse, no bracketed paste, no held frame; the main screen. Not 1049, which moves the
// cursor of a terminal that is whole; below all that is there nothing is written over.
const RESTORE = [
  '\u001b[0m\u001b[?7h\u001b[?25h',
  '\u001b[?1000l\u001b[?1002l\u001b[?1003l\u001b[?1006l\u001b[?2004l\u001b[?2026l',
  '\u001b[?1047l\u001b[999;1H\n',
].join('');

/** Brings a terminal back that a killed dashboard left behind; nothing where there is none. */
export function restoreTerminal({ stdout, stdin }: Pick<Context, 'stdout' | 'stdin'>): void {
  if (stdout.isTTY) stdout.write(RESTORE);
  if (!stdin.isTTY || !isRaw()) return;
  spawnSync('stty', ['sane'], { stdio: ['inherit', 'ignore', 'ignore'] });
  process.on('exit', letGo);
}

/** As it ends, Node sets its terminal to what it was when it began, unless that is not open any more. */
function letGo(): void {
  for (const descriptor of [0, 1, 2]) if (isatty(descriptor)) closeSync(descriptor);
}

/** `stty sane` sets all keys as they once were, those of one's own too: only for a terminal that needs it. */
function isRaw(): boolean {
  const { stdout } = spawnSync('stty', ['-a'], { stdio: ['inherit', 'pipe', 'ignore'], encoding: 'utf8' });
  return /\s-(icanon|echo|isig|opost)\b/.test(stdout ?? '');
}
