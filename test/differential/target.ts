import type { Dice } from '../fuzz/dice.ts';
import { pairs } from './form-body.ts';

/** Spellings that some servers take for a path. */
const SPELLINGS: readonly ((path: string, dice: Dice) => string)[] = [
  (path, dice) => encoded(path, dice, /[a-z_]/),
  (path, dice) => encoded(path, dice, /[a-z_]/).toUpperCase(),
  (path, dice) => encoded(path, dice, /\//),
  (path, dice) => encoded(path, dice, /[a-z_]/).replace('%', '%25'),
  (path, dice) => at(path, dice, /[a-z]/, (letter) => letter.toUpperCase()),
  (path) => path.toUpperCase(),
  (path) => path.toUpperCase().replace('/V1', '/v1'),
  (path, dice) => at(path, dice, /\/|$/, (slash) => `;x=1${slash}`),
  (path, dice) =>
    at(path, dice, /\//, () => dice.pick(['//', '/./', '/x/../', '/x/%2e%2e/', '/%2e/', '/;/', '\\'])),
  (path, dice) =>
    at(path, dice, /\//, () => dice.pick(['/v1/', '/v1/v1/', '%2f', '%5c', '%c0%af', '%ef%bc%8f'])),
  (path, dice) =>
    path +
    dice.pick([
      '/',
      '//',
      '%20',
      '%00',
      '.',
      '%2e',
      '..',
      '%0a',
      '%09',
      '/.',
      '/..',
      '%',
      '%zz',
      '#x',
      '%23x',
      '%3fx=1',
      '~',
      ':',
      '.json',
      ';',
      '&model=dear',
      '=',
    ]),
  (path, dice) =>
    at(path, dice, /[a-z]/, () =>
      dice.pick(['%ef%bd%83', '%c5%bf', '%e2%84%aa', '%ff', '%u0063', '\u00e9', '%c1%a3']),
    ),
  (path) => path.slice('/v1'.length),
  (path) => `/v1${path}`,
  (path, dice) =>
    `${dice.pick(['http://localhost', 'http://127.0.0.1', '//x', 'https://x@localhost', ''])}${path}`,
  (path) => path.replace('/v1/', '/v2/../v1/'),
  (path) => path.replace('/v1/', '/v%31/'),
];

function at(path: string, dice: Dice, where: RegExp, change: (found: string) => string): string {
  const places = [...path.matchAll(new RegExp(where, 'g'))];
  const { index = 0, 0: found = '' } = dice.pick(places) ?? {};
  return path.slice(0, index) + change(found) + path.slice(index + found.length);
}

function encoded(path: string, dice: Dice, where: RegExp): string {
  return at(path, dice, where, (found) => `%${found.charCodeAt(0).toString(16)}`);
}

// biome-ignore format: they fit a few lines
const QUERY: readonly (readonly [string, string])[] = [
  ['model', 'dear'], ['Model', 'dear'], ['model[]', 'dear'], ['model.', 'dear'], ['mod\0el', 'dear'], ['n', '64'],
  ['stream', 'true'], ['background', 'true'], ['max_tokens', '90000'], ['api-version', '2026-01-01'], ['beta', 'true'],
  ['beta', 'true;model=dear'], ['api-version', '1&model=dear'], ['limit', '20'], ['after', 'file-1'],
  ['include[]', 'x'], ['stream', '1'], [' model', 'dear'], ['beta[model]', 'dear'], ['?model', 'dear'],
];

/** The target of a request line for an endpoint: plain in most cases. */
export function requestTarget(dice: Dice, path: string): string {
  let target = path;
  if (dice.chance(0.35))
    for (let left = dice.pick([1, 1, 2]); left > 0; left--) target = dice.pick(SPELLINGS)(target, dice);
  if (!dice.chance(0.25)) return target;
  const named = Array.from({ length: 1 + dice.below(3) }, () => dice.pick(QUERY));
  return `${target}?${pairs(dice, named)}`;
}
