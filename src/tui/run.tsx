import { EventEmitter } from 'node:events';
import { render } from 'ink';
import { App, type AppProps, type Surface } from './app.tsx';
import { type Block, screenRows } from './frame.ts';

export interface RunOptions extends Omit<AppProps, 'surface'> {
  stdout: Tty;
  stdin: NodeJS.ReadStream;
  /** Whether clicks and the wheel are read; the terminal then selects text with shift held. */
  mouse?: boolean;
}

const SIGNALS = { SIGTERM: 143, SIGINT: 130 } as const;

/**
 * Runs the dashboard until the user quits and returns the exit code. Every exit restores the terminal: a key, a signal,
 * an exception in a component or elsewhere, the exit of the process.
 */
export async function runDashboard({ stdout, stdin, mouse = false, ...props }: RunOptions): Promise<number> {
  const screen = enterScreen(stdout, { mouse });
  let restored = false;
  const restore = () => {
    // If the terminal is gone, setRawMode emits an 'error' event, which calls restore() again.
    if (restored) return;
    restored = true;
    screen.leave();
    if (stdin.isTTY) stdin.setRawMode(false);
  };
  const listening = new AbortController();
  const { signal } = listening;
  on(process, 'exit', restore, signal);
  for (const [name, code] of Object.entries(SIGNALS)) on(process, name, () => leaveWith(code), signal);
  on(process, 'SIGHUP', hangUp, signal);
  // A terminal that disappears may end its input instead of sending SIGHUP, or do both.
  for (const event of ['end', 'close', 'error']) on(stdin, event, hangUp, signal);
  const fault = new Promise<never>((_resolve, reject) => {
    on(process, 'uncaughtException', reject, signal);
    on(process, 'unhandledRejection', reject, signal);
  });

  function leaveWith(code: number): void {
    restore();
    process.exit(code);
  }

  /**
   * Exits by the signal itself: Node's own exit resets the terminal and dumps core if the terminal is gone. With all
   * listeners removed, including Ink's, the signal has its default effect.
   */
  function hangUp(): void {
    restore();
    process.removeAllListeners('SIGHUP');
    process.kill(process.pid, 'SIGHUP');
  }

  let unmount = () => {};
  try {
    const app = render(<App {...props} surface={screen} />, {
      // Nothing is rendered by Ink, which uses only these members.
      stdout: Object.assign(new EventEmitter(), {
        columns: stdout.columns,
        write: () => true,
      }) as unknown as Tty,
      stdin,
      debug: true,
      exitOnCtrlC: false,
      patchConsole: false,
    });
    unmount = app.unmount;
    const code: unknown = await Promise.race([app.waitUntilExit(), fault]);
    return typeof code === 'number' ? code : 0;
  } finally {
    unmount();
    restore();
    listening.abort();
  }
}

/** Adds a listener, which the signal's abort removes. */
function on(
  emitter: NodeJS.EventEmitter,
  event: string,
  listener: (...values: never[]) => void,
  signal: AbortSignal,
): void {
  emitter.on(event, listener as (...values: unknown[]) => void);
  signal.addEventListener('abort', () => emitter.off(event, listener as (...values: unknown[]) => void));
}

export type Tty = NodeJS.WriteStream;

// Without line wrap, a character that is wider than gw expects spoils only its own line.
// Pastes are marked (2004), so that none is taken for keys: https://invisible-island.net/xterm/ctlseqs/ctlseqs.html
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[?2004h\u001b[2J\u001b[H';
const MOUSE_ON = '\u001b[?1000h\u001b[?1006h';
/** Restores the terminal: mouse, pastes, colours, line wrap, cursor, main screen. */
export const LEAVE = '\u001b[?2004l\u001b[?1006l\u001b[?1000l\u001b[0m\u001b[?7h\u001b[?25h\u001b[?1049l';
const CLEAR = '\u001b[2J';
// Synchronized output: terminals that support it show the whole frame at once; others ignore it.
// https://gist.github.com/christianparpart/d8a62cc1ab659194337d73e399004036
const BEGIN_UPDATE = '\u001b[?2026h';
const END_UPDATE = '\u001b[?2026l';

/** The alternate screen of a terminal. */
interface Screen extends Surface {
  /** Restores the terminal; later frames are dropped. */
  leave(): void;
}

/**
 * Enters the alternate screen. Ink's own output counts lines back from the cursor, which a resize moves. Here each line
 * has an absolute address, only changed lines are written, and a resize repaints all of them.
 */
export function enterScreen(tty: Tty, { mouse = false }: { mouse?: boolean } = {}): Screen {
  let painted: string[] = [];
  let left = false;

  const write = (text: string) => {
    if (!left) tty.write(text);
  };

  function paint(frame: readonly Block[]): void {
    const lines = screenRows(frame).slice(0, tty.rows);
    const changes = lines.map((line, i) => (line === painted[i] ? '' : at(i) + ERASE + line));
    const blanks = painted.slice(lines.length).map((_, i) => at(lines.length + i) + ERASE);
    painted = lines;
    const text = [...changes, ...blanks].join('');
    if (text !== '') write(BEGIN_UPDATE + text + END_UPDATE);
  }

  write(mouse ? ENTER + MOUSE_ON : ENTER);
  const listeners = new Set<() => void>();
  const onTtyResize = () => {
    painted = [];
    write(CLEAR);
    for (const listener of listeners) listener();
  };
  tty.on('resize', onTtyResize);

  return {
    paint,
    size: () => ({ columns: tty.columns, rows: tty.rows }),
    onResize(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
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

// Erases before the line, not after it: once a line fills its row, the cursor is on its last character.
const ERASE = '\u001b[0m\u001b[K';
const at = (line: number) => `\u001b[${line + 1};1H`;
