import { EventEmitter } from 'node:events';
import type { Size } from './state/layout.ts';

/** A terminal that frames are painted on. */
export type Tty = NodeJS.WriteStream;

// Without line wrap: a terminal that shows a sign wider than gw takes it for spoils that line and no other.
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J\u001b[H';
/** What brings a terminal back: colours, line wrap, cursor, main screen. */
export const LEAVE = '\u001b[0m\u001b[?7h\u001b[?25h\u001b[?1049l';
const CLEAR = '\u001b[2J';
// Terminals that know it show the frame at once; the others ignore it. https://gist.github.com/christianparpart/d8a62cc1ab659194337d73e399004036
const BEGIN_UPDATE = '\u001b[?2026h';
const END_UPDATE = '\u001b[?2026l';

/** The alternate screen of a terminal. */
export interface Screen {
  /** What Ink takes for its stdout: in its debug mode each write is one whole frame. */
  readonly frames: EventEmitter & { columns: number; write(frame: string): boolean };
  size(): Size;
  onResize(listener: () => void): () => void;
  copy(text: string): void;
  /** Brings the terminal back as it was; what is painted later goes nowhere. */
  leave(): void;
}

/**
 * Enters the alternate screen. Ink's own output counts lines back from the cursor, which a resize moves; here each
 * line has its address, only the lines that changed are written, and a resize paints all of them anew.
 */
export function enterScreen(tty: Tty): Screen {
  let shown: string[] = [];
  let left = false;

  const write = (text: string) => {
    if (!left) tty.write(text);
  };

  function paint(frame: string): boolean {
    const lines = frame.split('\n').slice(0, tty.rows);
    const changes = lines.map((line, i) => (line === shown[i] ? '' : at(i) + ERASE + line));
    const gone = shown.slice(lines.length).map((_, i) => at(lines.length + i) + ERASE);
    shown = lines;
    const text = [...changes, ...gone].join('');
    if (text !== '') write(BEGIN_UPDATE + text + END_UPDATE);
    return true;
  }

  write(ENTER);
  const frames = Object.assign(new EventEmitter(), { columns: tty.columns, write: paint });
  const resized = () => {
    frames.columns = tty.columns;
    shown = [];
    write(CLEAR);
    frames.emit('resize');
  };
  tty.on('resize', resized);

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
      tty.off('resize', resized);
    },
  };
}

// Before the line, not after it: behind one that fills its row the cursor stands on its last sign.
const ERASE = '\u001b[0m\u001b[K';
const at = (line: number) => `\u001b[${line + 1};1H`;
