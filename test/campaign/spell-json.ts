import type { Dice } from '../fuzz/dice.ts';

/** JSON as it is to be written, such as an object with a key twice. */
export class Raw {
  readonly json: string;

  constructor(json: string) {
    this.json = json;
  }
}

/** An object as JSON: each letter plain or escaped, members in their order, and perhaps what lenient parsers take as well. */
export function spellJson(
  members: readonly [key: string, value: unknown][],
  dice: Dice,
  isUtf7 = false,
): Buffer {
  const share = dice.pick([0, 0, 0, 0.05, 0.5, 1]);
  const text = `{${members.map(([key, value]) => `${quoted(key, dice, share)}:${jsonOf(value, dice, share)}`).join(',')}}`;
  if (isUtf7) return Buffer.from(text.replace(/"(m)/g, '"+AG0-'));
  if (dice.chance(0.94)) return Buffer.from(text);
  return dice.pick(ENCODINGS)(text);
}

function jsonOf(value: unknown, dice: Dice, share: number): string {
  if (value instanceof Raw) return value.json;
  if (typeof value === 'string') return quoted(value, dice, share);
  if (Array.isArray(value)) return `[${value.map((each) => jsonOf(each, dice, share)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).map(
    ([key, each]) => `${quoted(key, dice, share)}:${jsonOf(each, dice, share)}`,
  );
  return `{${members.join(',')}}`;
}

function quoted(text: string, dice: Dice, share: number): string {
  const plain = JSON.stringify(text);
  if (share === 0) return plain;
  return plain.replace(/(\\.)|([\w./:-])/g, (all, escapes: string | undefined) =>
    escapes !== undefined || !dice.chance(share) ? all : escaped(all, dice),
  );
}

function escaped(letter: string, dice: Dice): string {
  if (letter === '/' && dice.chance(0.5)) return '\\/';
  const hex = letter.charCodeAt(0).toString(16).padStart(4, '0');
  return `\\u${dice.chance(0.5) ? hex : hex.toUpperCase()}`;
}

const bigEndian = (text: string) => Buffer.from(text, 'utf16le').swap16();
const BROKEN = Buffer.from([0xff]);

/** Other encodings, and bytes that some decoders drop. */
const ENCODINGS: readonly ((text: string) => Buffer)[] = [
  (text) => Buffer.from(text, 'utf16le'),
  bigEndian,
  (text) => Buffer.from(`\ufeff${text}`, 'utf16le'),
  (text) => bigEndian(`\ufeff${text}`),
  (text) => Buffer.from(`\ufeff${text}`),
  (text) => Buffer.concat([Buffer.from(text.slice(0, 3)), BROKEN, Buffer.from(text.slice(3))]),
  (text) => Buffer.concat([Buffer.from(text), Buffer.from('{"model":"dear","max_tokens":99999}')]),
  (text) => Buffer.from(text.replace(/od/, 'o\xffd'), 'latin1'),
  (text) => Buffer.from(text.replace(/od/, 'o\xc1\xa4'), 'latin1'),
  (text) => Buffer.from(text.replace(/:/, ':\0')),
  (text) => Buffer.from(`[${text}]`),
  (text) => Buffer.from(`\n${text}\n`),
];
