import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { askBackground } from '../../src/tui/ask-background.ts';
import type { Tty } from '../../src/tui/run.tsx';
import { createVirtualClock } from '../support/virtual-clock.ts';

/** Asks a terminal that sends `chunks`, and returns the background and what remains of the input. */
async function asked(chunks: string[]) {
  const clock = createVirtualClock();
  const stdin = Object.assign(new PassThrough(), { setRawMode: () => {} });
  const written: string[] = [];
  const stdout = { write: (text: string) => written.push(text) > 0 };
  // Only these parts of a terminal are used.
  const tty = { stdin: stdin as unknown as NodeJS.ReadStream, stdout: stdout as unknown as Tty };
  const asking = askBackground({ ...tty, clock });
  for (const chunk of chunks) stdin.write(chunk);
  await setImmediate();
  await clock.advance(300);
  return { background: await asking, typed: String(stdin.read() ?? ''), written };
}

describe('askBackground()', () => {
  test('reads the colour, in pieces and in short, and leaves what was typed', async () => {
    const dark = await asked(['q', '\u001b]11;rgb:1e1e/', '1e1e/1e1e\u0007', '\u001b[?62;c', 'j']);
    expect(dark).toMatchObject({ background: 'dark', typed: 'qj', written: ['\u001b]11;?\u0007\u001b[c'] });
    expect(await asked(['\u001b]11;rgb:ff/f8/e7\u001b\\\u001b[?1;2c'])).toMatchObject({
      background: 'light',
      typed: '',
    });
  });

  test('knows nothing of a terminal that does not say, or is silent', async () => {
    expect(await asked(['\u001b[?1;2c'])).toMatchObject({ background: undefined, typed: '' });
    expect(await asked([])).toMatchObject({ background: undefined, typed: '' });
  });

  test('ends when the terminal is no longer read, so that the next reader can begin', async () => {
    const clock = createVirtualClock();
    const stdin = Object.assign(new PassThrough(), { setRawMode: () => {} });
    let isRead = true;
    // As the terminal's stream of Node does: https://github.com/nodejs/node/blob/v20.x/lib/internal/bootstrap/switches/is_main_thread.js
    stdin.on('pause', () =>
      process.nextTick(() => {
        isRead = false;
      }),
    );
    const tty = {
      stdin: stdin as unknown as NodeJS.ReadStream,
      stdout: { write: () => true } as unknown as Tty,
    };
    const asking = askBackground({ ...tty, clock });
    stdin.write('\u001b[?1;2c');
    await asking;
    expect(isRead).toBe(false);
  });
});
