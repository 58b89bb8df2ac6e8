import { execFile, execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';

const run = promisify(execFile);
const LIMIT_MS = 60_000;
const POLL_MS = 40;

/** Whether there is a tmux to open terminals with; tests that need one say why they are skipped. */
export const hasTmux = (() => {
  try {
    execFileSync('tmux', ['-V'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

export interface TerminalOptions {
  columns?: number;
  rows?: number;
  env: Record<string, string>;
}

/** A real terminal with a shell in it, of which a test sees what a person would. */
export interface Terminal {
  /** Types text. */
  type(text: string): Promise<void>;
  /** Presses keys by tmux's names, such as `Enter`, `Escape`, `C-c`, `Down`; single characters are themselves. */
  press(...keys: string[]): Promise<void>;
  screen(): Promise<string>;
  /** The screen with its colours, as control sequences. */
  colouredScreen(): Promise<string>;
  /** Waits until the screen matches and returns it; throws with the screen as it is after 15 s. */
  until(wanted: RegExp): Promise<string>;
  resize(columns: number, rows: number): Promise<void>;
  /** Sets the background that it answers with if asked (OSC 11). */
  setBackground(colour: string): Promise<void>;
  /** Whether it is as a shell expects it: main screen, a cursor, lines that are edited and echoed. */
  isWhole(): Promise<boolean>;
  /** Closes its window, as a person does or a connection that is lost. */
  close(): Promise<void>;
}

let opened = 0;

/** Opens a terminal on a tmux server of its own, which ends with the test. */
export async function openTerminal({ columns = 80, rows = 24, env }: TerminalOptions): Promise<Terminal> {
  const socket = `gw-test-${process.pid}-${opened++}`;
  const tmux = async (...args: string[]) =>
    (await run('tmux', ['-L', socket, '-f', '/dev/null', ...args])).stdout;
  const variables = Object.entries({ ...env, PS1: '$ ', LANG: 'C.UTF-8' }).flatMap(([name, value]) => [
    '-e',
    `${name}=${value}`,
  ]);
  await tmux('-u', 'new-session', '-d', '-x', String(columns), '-y', String(rows), ...variables, 'sh');
  onTestFinished(async () => void (await tmux('kill-server').catch(() => undefined)));
  const fact = async (format: string) => (await tmux('display-message', '-p', format)).trim();
  const screen = () => tmux('capture-pane', '-p');
  return {
    type: async (text) => void (await tmux('send-keys', '-l', text)),
    press: async (...keys) => void (await tmux('send-keys', ...keys)),
    screen,
    colouredScreen: () => tmux('capture-pane', '-e', '-p'),
    async until(wanted) {
      let seen = '';
      for (const deadline = Date.now() + LIMIT_MS; Date.now() < deadline; await sleep(POLL_MS)) {
        seen = await screen();
        if (wanted.test(seen)) return seen;
      }
      throw new Error(`the screen does not come to match ${wanted}:\n${seen}`);
    },
    async resize(columns, rows) {
      await tmux('resize-window', '-x', String(columns), '-y', String(rows));
    },
    setBackground: async (colour) => void (await tmux('set-option', '-g', 'window-style', `bg=${colour}`)),
    close: async () => void (await tmux('kill-server')),
    async isWhole() {
      const shown = await fact('#{alternate_on} #{cursor_flag}');
      const { stdout } = await run('stty', ['-a', '-F', await fact('#{pane_tty}')]);
      return shown === '0 1' && /\sicanon\b/.test(stdout) && /\secho\b/.test(stdout);
    },
  };
}
