import { gauge } from '../../terminal/bars.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import type { Context } from '../context.ts';

/** A bar on a terminal while a command works. */
export interface Progress {
  /** `share`: 0 to 1. */
  show(what: string, share: number): void;
  /** Removes the bar. */
  end(): void;
}

const WIDTH = 30;
const EVERY_MS = 50;

/** Draws on stderr; nothing where that is no terminal. */
export function createProgress(context: Context): Progress {
  const { stderr, env, clock } = context;
  if (!stderr.isTTY) return { show() {}, end() {} };
  const { symbols, palette } = terminalOf(stderr, env);
  let drawnAt = Number.NEGATIVE_INFINITY;
  return {
    show(what, share) {
      const now = clock.monotonic();
      if (now - drawnAt < EVERY_MS) return;
      drawnAt = now;
      const percent = `${Math.floor(share * 100)} %`.padStart(6);
      stderr.write(`\r${palette.accent(gauge(share, WIDTH, symbols))}${percent}  ${what}\x1b[K`);
    },
    end() {
      if (drawnAt !== Number.NEGATIVE_INFINITY) stderr.write('\r\x1b[K');
    },
  };
}
