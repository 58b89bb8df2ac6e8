import { spawnSync } from 'node:child_process';
import { closeSync } from 'node:fs';
import { isatty } from 'node:tty';
import type { Context } from '../context.ts';

// Resets colours, line wrap and the cursor; ends mouse reporting, bracketed paste and synchronized output; returns to
// the main screen, with the cursor on its last line so that nothing is overwritten. 1047 instead of 1049, which would
// move the cursor of a terminal that needs no reset.
const RESTORE = [
  '\u001b[0m\u001b[?7h\u001b[?25h',
  '\u001b[?1000l\u001b[?1002l\u001b[?1003l\u001b[?1006l\u001b[?2004l\u001b[?2026l',
  '\u001b[?1047l\u001b[999;1H\n',
].join('');

/** Resets a terminal that a killed dashboard left in raw mode or on the alternate screen. */
export function restoreTerminal({ stdout, stdin }: Pick<Context, 'stdout' | 'stdin'>): void {
  if (stdout.isTTY) stdout.write(RESTORE);
  if (!stdin.isTTY || !isRaw()) return;
  spawnSync('stty', ['sane'], { stdio: ['inherit', 'ignore', 'ignore'] });
  process.on('exit', closeTerminal);
}

/** At exit Node restores the terminal mode it found at start. Closed descriptors prevent that. */
function closeTerminal(): void {
  for (const descriptor of [0, 1, 2]) if (isatty(descriptor)) closeSync(descriptor);
}

/** Checked first because `stty sane` also resets the user's own key settings. */
function isRaw(): boolean {
  const { stdout } = spawnSync('stty', ['-a'], { stdio: ['inherit', 'pipe', 'ignore'], encoding: 'utf8' });
  return /\s-(icanon|echo|isig|opost)\b/.test(stdout ?? '');
}
