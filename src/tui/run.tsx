import { render } from 'ink';
import { App, type AppProps } from './app.tsx';
import { enterScreen, type Tty } from './screen.ts';

export interface RunOptions extends Omit<AppProps, 'surface'> {
  stdout: Tty;
  stdin: NodeJS.ReadStream;
}

const SIGNALS = { SIGTERM: 143, SIGINT: 130 } as const;

/**
 * Runs the dashboard until the user quits and returns the exit code. Every way out restores the terminal: a key, a
 * signal, an exception in a component or elsewhere, the exit of the process.
 */
export async function runDashboard({ stdout, stdin, ...props }: RunOptions): Promise<number> {
  const screen = enterScreen(stdout);
  let restored = false;
  const restore = () => {
    // On a terminal that is gone, setRawMode emits an 'error' event, which leads back here.
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
  // A terminal that is gone may also end its input, or do only that.
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
   * Ends the process by the signal itself: Node's own exit resets the terminal, and dumps core if that is gone.
   * With no listener left, Ink's included, the signal has its default effect.
   */
  function hangUp(): void {
    restore();
    process.removeAllListeners('SIGHUP');
    process.kill(process.pid, 'SIGHUP');
  }

  let unmount = () => {};
  try {
    const app = render(<App {...props} surface={screen} />, {
      // Ink uses only what `frames` has.
      stdout: screen.frames as unknown as Tty,
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

/** Listens until the signal aborts. */
function on(
  emitter: NodeJS.EventEmitter,
  event: string,
  listener: (...values: never[]) => void,
  signal: AbortSignal,
): void {
  emitter.on(event, listener as (...values: unknown[]) => void);
  signal.addEventListener('abort', () => emitter.off(event, listener as (...values: unknown[]) => void));
}
