import type { Dice } from './dice.ts';

/** JSON text that `JSON.stringify` does not write; `writeJson` puts it in place of the string that holds it. */
const RAW = '\u0001raw:';
const raw = (text: string) => RAW + text;

const DEEP = raw('['.repeat(600) + ']'.repeat(600));

const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1,
  0.5,
  2 ** 31,
  2 ** 53,
  -(2 ** 63),
  1e300,
  raw('1e999'),
  raw('-0'),
  raw('123456789012345678901234567890'),
  '',
  ' ',
  '1',
  'auto',
  'none',
  '\u0000',
  'ｆｕｌｌ \u202e \ud83d\ude00',
  raw('"\\ud800"'),
  'x'.repeat(3_000),
  '__proto__',
  '{"a":1}',
  'data:image/png;base64,AAAA',
  [],
  [[]],
  [null],
  [1, 'a', {}],
  {},
  { type: null },
  { type: 'text' },
  { id: 'msg_1' },
  { constructor: 1, toString: 1 },
  raw('{"__proto__":{"type":"text"}}'),
  raw('{"type":"text","type":"image","text":1}'),
  DEEP,
];

type Parent = Record<string | number, unknown>;

/** Replaces, removes, repeats or renames so many members of a JSON value, which it copies. */
export function mutateJson<T>(value: T, dice: Dice, times = 1 + dice.below(3)): T {
  const root = { value: structuredClone(value) as unknown };
  for (let i = 0; i < times; i++) mutateOnce(root, dice);
  return root.value as T;
}

function mutateOnce(root: { value: unknown }, dice: Dice): void {
  const places: [Parent, string | number][] = [];
  const visit = (parent: Parent, key: string | number): void => {
    places.push([parent, key]);
    const value = parent[key];
    if (typeof value !== 'object' || value === null) return;
    for (const name of Object.keys(value)) visit(value as Parent, Array.isArray(value) ? Number(name) : name);
  };
  visit(root as unknown as Parent, 'value');
  const [parent, key] = dice.pick(places);
  const value = parent[key];
  const way = dice.below(10);
  if (way < 5 || parent === (root as unknown)) parent[key] = structuredClone(dice.pick(VALUES));
  else if (way === 5 && Array.isArray(parent)) parent.splice(Number(key), 1);
  else if (way === 5) delete parent[key];
  else if (way === 6 && Array.isArray(parent)) parent.push(...Array(1 + dice.below(40)).fill(value));
  else if (way === 6) parent[key] = Array(1 + dice.below(3)).fill(value);
  else if (way === 7) parent[String(key).toUpperCase()] = value;
  else if (way === 8) {
    const [from, name] = dice.pick(places);
    parent[key] = structuredClone(from[name]);
  } else parent[`${key}x`] = structuredClone(dice.pick(VALUES));
}

/** JSON text with raw parts in their places, at times with spaces, escapes or a member twice. */
export function writeJson(value: unknown, dice: Dice): string {
  let text = JSON.stringify(value, null, dice.chance(0.1) ? dice.pick([' ', '\t', '\r\n']) : undefined) ?? '';
  text = text.replace(/"\\u0001raw:((?:[^"\\]|\\.)*)"/g, (_, inner: string) => JSON.parse(`"${inner}"`));
  if (dice.chance(0.05))
    text = text.replace(/[a-z]/g, (letter) => (dice.chance(0.3) ? escaped(letter) : letter));
  const member = dice.chance(0.05) ? /"[a-z_]+":("[^"]*"|\d+|true)/.exec(text)?.[0] : undefined;
  return member ? text.replace(/}$/, `,${member}}`) : text;
}

function escaped(letter: string): string {
  return `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const SNIPPETS = [
  '\r\n',
  '\n\n',
  '\0',
  '\ufeff',
  '0\r\n\r\n',
  '{"',
  '"}',
  '\\u',
  'data: ',
  ': ',
  ',',
  '\xff',
];

/** Flips, removes, repeats or inserts bytes in one to four places. */
export function mutateBytes(bytes: Buffer, dice: Dice): Buffer {
  let result = Buffer.from(bytes);
  for (let left = 1 + dice.below(4); left > 0; left--) {
    const at = dice.below(result.length + 1);
    const [before, after] = [result.subarray(0, at), result.subarray(at)];
    const span = Math.min(after.length, 1 + dice.below(20));
    const way = dice.below(5);
    if (way === 0 && at < result.length) result[at] = dice.below(256);
    else if (way === 1) result = Buffer.concat([before, after.subarray(span)]);
    else if (way === 2) result = Buffer.concat([before, after.subarray(0, span), after]);
    else if (way === 3) result = Buffer.concat([before, Buffer.from(dice.pick(SNIPPETS), 'latin1'), after]);
    else if (at < result.length) result[at] = (result[at] ?? 0) ^ (1 << dice.below(8));
  }
  return result;
}

/** The bytes in up to six pieces, cut anywhere. */
export function cutAnywhere(bytes: Buffer, dice: Dice): Buffer[] {
  const cuts = Array.from({ length: dice.below(6) }, () => dice.below(bytes.length + 1)).sort(
    (a, b) => a - b,
  );
  return [0, ...cuts].map((from, i) => bytes.subarray(from, cuts[i] ?? bytes.length));
}
