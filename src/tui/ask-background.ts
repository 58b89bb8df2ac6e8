import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { Background } from '../terminal/themes.ts';
import type { RunOptions } from './run.tsx';

const LIMIT_MS = 300;
// Asks for the background, then for the device: a terminal that does not know the first answers the second alone.
// https://invisible-island.net/xterm/ctlseqs/ctlseqs.html (OSC 11, Primary DA)
const ASK = '\u001b]11;?\u0007\u001b[c';
const COLOUR =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: answers are control sequences
  /\u001b\]11;rgba?:([\da-f]{1,4})\/([\da-f]{1,4})\/([\da-f]{1,4})[\da-f/]{0,5}(?:\u0007|\u001b\\)/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: answers are control sequences
const DEVICE = /\u001b\[\?[\d;]{0,40}c/;

/** Asks the terminal for its background; undefined if it doesn't say. What the user types meanwhile stays in the input. */
export async function askBackground({
  stdin,
  stdout,
  clock,
}: Pick<RunOptions, 'stdin' | 'stdout'> & { clock: Clock }): Promise<Background | undefined> {
  let answer = '';
  let stop = () => {};
  stdin.setRawMode(true);
  const answered = new Promise<void>((resolve) => {
    const read = (chunk: Buffer) => {
      answer += chunk.toString('latin1');
      if (DEVICE.test(answer)) resolve();
    };
    stdin.on('data', read);
    const cancel = clock.after(LIMIT_MS, resolve);
    stop = () => {
      cancel();
      stdin.off('data', read);
      stdin.pause();
    };
  });
  stdout.write(ASK);
  await answered;
  stop();
  // Node stops reading a tick later. On Node 26 a reader that comes before that gets nothing, and the process ends.
  await setImmediate();
  const typed = answer.replace(COLOUR, '').replace(DEVICE, '');
  if (typed !== '') stdin.unshift(Buffer.from(typed, 'latin1'));
  return backgroundOf(answer);
}

/** The background in an answer such as `rgb:1e1e/1e1e/1e1e`. */
function backgroundOf(answer: string): Background | undefined {
  const channels = COLOUR.exec(answer)?.slice(1, 4);
  if (!channels) return undefined;
  const [red = 0, green = 0, blue = 0] = channels.map(
    (hex) => Number.parseInt(hex, 16) / (16 ** hex.length - 1),
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5 ? 'light' : 'dark';
}
