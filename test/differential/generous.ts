import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '../../src/json/object.ts';
import { parseFirstKeys } from './first-keys.ts';
import type { Forwarded, Reading } from './reading.ts';

const read = (name: string): string[] =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'programs', name), 'utf8'));
const FIELDS = read('fields.json');
const ROUTES = read('routes.json').map((route) => ({
  route,
  pattern: new RegExp(`^${route.replaceAll('{id}', '[^/]+')}$`, 'i'),
}));

/**
 * The readings of servers that nobody has installed: paths decoded, cut and resolved in every way that one is known to,
 * the first and the last of doubled fields, JSON whatever the content type says, the first of doubled keys.
 */
export function readGenerously({ method, target, type, body }: Forwarded): Reading[] {
  const at = target.indexOf('?');
  const path = at < 0 ? target : target.slice(0, at);
  const tree = parseFirstKeys(body.toString().replace(/^\ufeff/, ''));
  const pairs = [
    ...new URLSearchParams(at < 0 ? '' : target.slice(at).replaceAll(';', '&')),
    ...(/urlencoded/i.test(type) ? new URLSearchParams(body.toString('latin1')) : []),
    ...(isObject(tree) ? [] : partsOf(body)),
  ];
  const values = Object.fromEntries(
    FIELDS.map((field): [string, unknown[]] => {
      const inPairs = pairs
        .filter(([name]) => name.replace(/\[\]$/, '').trim() === field)
        .map(([, value]) => value);
      const inTree =
        isObject(tree) && Object.hasOwn(tree, field) && tree[field] !== null ? [tree[field]] : [];
      return [field, [...inPairs, ...inTree]];
    }),
  );
  return spellingsOf(path).map((each) => {
    const route = ROUTES.find(({ pattern }) => pattern.test(each))?.route ?? null;
    return { method, path: each, route, values, tree: tree ?? null };
  });
}

/** The fields of a form, by whatever looks like the head of a part. */
function partsOf(body: Buffer): [string, string][] {
  const text = body.toString('latin1');
  return [...text.matchAll(/\bname="([^"]*)"[^\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n([\s\S]*?)\r?\n--/gi)].map(
    ([, name = '', value = '']) => [name, value],
  );
}

function spellingsOf(path: string): string[] {
  const decoded = decode(path);
  const twice = decode(decoded);
  const cut = (text: string) => text.replace(/;[^/]*/g, '').replace(/[.\s\0]+$/, '');
  const resolved = (text: string) =>
    URL.canParse(`http://x${text}`) ? new URL(`http://x${text.replaceAll('\\', '/')}`).pathname : text;
  const all = [path, decoded, twice].flatMap((text) => [
    text,
    cut(text),
    resolved(text),
    resolved(cut(text)),
  ]);
  return [...new Set(all.flatMap((text) => [text, text.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '')]))];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
