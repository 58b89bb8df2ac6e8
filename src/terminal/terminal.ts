import type { Readable, Writable } from 'node:stream';
import { ASCII, BLOCKS, type Symbols } from './bars.ts';

/** Print settings of a stream. */
export interface Terminal {
  columns: number;
  palette: Palette;
  symbols: Symbols;
}

type Env = Readonly<Record<string, string | undefined>>;

const DEFAULT_COLUMNS = 80;
const MIN_COLUMNS = 40;

/** Detects a stream's capabilities: colour on terminals, block characters unless the locale can't show them. */
export function terminalOf(
  stream: Output,
  env: Env,
  { ascii = false }: { ascii?: boolean | undefined } = {},
): Terminal {
  const columns = stream.columns || Number(env.COLUMNS) || DEFAULT_COLUMNS;
  return {
    columns: Math.max(MIN_COLUMNS, columns),
    palette: wantsColour(stream, env) ? COLOURED : PLAIN,
    symbols: ascii || env.GW_ASCII || !showsUnicode(env) ? ASCII : BLOCKS,
  };
}

/** Any non-empty NO_COLOR counts: https://no-color.org */
function wantsColour(stream: Output, env: Env): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0';
  return stream.isTTY === true && env.TERM !== 'dumb';
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

/** Styles of all output. No state depends on colour alone or on telling red from green. */
export interface Palette {
  bold(text: string): string;
  dim(text: string): string;
  accent(text: string): string;
  warn(text: string): string;
  bad(text: string): string;
}

const CODES = { bold: [1, 22], dim: [2, 22], accent: [36, 39], warn: [33, 39], bad: [31, 39] } as const;

/** No style. */
export const plain = (text: string) => text;

export const PLAIN: Palette = { bold: plain, dim: plain, accent: plain, warn: plain, bad: plain };

export const COLOURED: Palette = {
  bold: paint(CODES.bold),
  dim: paint(CODES.dim),
  accent: paint(CODES.accent),
  warn: paint(CODES.warn),
  bad: paint(CODES.bad),
};

function paint([on, off]: readonly [number, number]): (text: string) => string {
  return (text) => (text === '' ? text : `\u001b[${on}m${text}\u001b[${off}m`);
}
