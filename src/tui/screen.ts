import { EventEmitter } from 'node:events';
import type { Size } from './state/layout.ts';

/** A terminal that frames are painted on. */
export type Tty = NodeJS.WriteStream;

// Without line wrap, a character that the terminal draws wider than gw expects spoils its own line only.
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J\u001b[H';
/** Restores a terminal: colours, line wrap, cursor, main screen. */
export const LEAVE = '\u001b[0m\u001b[?7h\u001b[?25h\u001b[?1049l';
const CLEAR = '\u001b[2J';
// Synchronized output: terminals that support it show the frame at once; others ignore it. https://gist.github.com/christianparpart/d8a62cc1ab659194337d73e399004036
const BEGIN_UPDATE = '\u001b[?2026h';
const END_UPDATE = '\u001b[?2026l';

/** The alternate screen of a terminal. */
export interface Screen {
  /** Stands in for Ink's stdout. In Ink's debug mode each write is a whole frame. */
  readonly frames: EventEmitter & { columns: number; write(frame: string): boolean };
  size(): Size;
  onResize(listener: () => void): () => void;
  copy(text: string): void;
  /** Restores the terminal; later frames are dropped. */
  leave(): void;
}

/**
 * Enters the alternate screen. Ink's own output counts lines back from the cursor, which a resize moves. Here each
 * line is addressed absolutely, only changed lines are written, and a resize repaints all of them.
 */
export function enterScreen(tty: Tty): Screen {
  let painted: string[] = [];
  let left = false;

  const write = (text: string) => {
    if (!left) tty.write(text);
  };

  function paint(frame: string): boolean {
    const lines = frame.split('\n').slice(0, tty.rows);
    const changes = lines.map((line, i) => (line === painted[i] ? '' : at(i) + ERASE + line));
    const blanks = painted.slice(lines.length).map((_, i) => at(lines.length + i) + ERASE);
    painted = lines;
    const text = [...changes, ...blanks].join('');
    if (text !== '') write(BEGIN_UPDATE + text + END_UPDATE);
    return true;
  }

  write(ENTER);
  const frames = Object.assign(new EventEmitter(), { columns: tty.columns, write: paint });
  const onTtyResize = () => {
    frames.columns = tty.columns;
    painted = [];
    write(CLEAR);
    frames.emit('resize');
  };
  tty.on('resize', onTtyResize);

  return {
    frames,
    size: () => ({ columns: tty.columns, rows: tty.rows }),
    onResize(listener) {
      frames.on('resize', listener);
      return () => frames.off('resize', listener);
    },
    copy: (text) => write(`\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`),
    leave() {
      if (left) return;
      write(LEAVE);
      left = true;
      tty.off('resize', onTtyResize);
    },
  };
}

// Before the line, not after it: after a line that fills its row, the cursor is on its last character.
const ERASE = '\u001b[0m\u001b[K';
const at = (line: number) => `\u001b[${line + 1};1H`;
