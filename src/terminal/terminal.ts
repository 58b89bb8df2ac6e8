import type { Readable, Writable } from 'node:stream';
import { ASCII, BLOCKS, type Symbols } from './bars.ts';
import { COLOURED, depthOf, type Env, type Palette, PLAIN } from './palette.ts';

/** Print settings of a stream. */
export interface Terminal {
  columns: number;
  /** Width at which names and sentences are shortened: unlimited in a pipe or a file. */
  textColumns: number;
  palette: Palette;
  symbols: Symbols;
}

const DEFAULT_COLUMNS = 80;
const MIN_COLUMNS = 40;

/** Detects a stream's capabilities: colour on terminals, block characters unless the locale can't show them. */
export function terminalOf(
  stream: Output,
  env: Env,
  { ascii = false }: { ascii?: boolean | undefined } = {},
): Terminal {
  const known = stream.columns || Number(env.COLUMNS);
  const columns = Math.max(MIN_COLUMNS, known || DEFAULT_COLUMNS);
  return {
    columns,
    textColumns: known ? columns : Number.POSITIVE_INFINITY,
    palette: depthOf(stream.isTTY === true, env) === 0 ? PLAIN : COLOURED,
    symbols: ascii || env.GW_ASCII || !showsUnicode(env) ? ASCII : BLOCKS,
  };
}

/**
 * True unless the locale isn't UTF-8; containers set no locale and display blocks correctly. False for terminals that
 * draw ambiguous characters two cells wide, as some in East Asia do: blocks would break every line.
 */
function showsUnicode(env: Env): boolean {
  if (env.VTE_CJK_WIDTH === 'wide' || env.RUNEWIDTH_EASTASIAN === '1') return false;
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG;
  return !locale || /utf-?8/i.test(locale);
}

/** An output stream, with the properties of the terminal behind it. */
export type Output = Writable & { isTTY?: boolean | undefined; columns?: number | undefined };

/** An input stream, with raw mode if it is a terminal. */
export type Input = Readable & {
  isTTY?: boolean | undefined;
  setRawMode?: ((raw: boolean) => unknown) | undefined;
};
