import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isUnmistakable, requestTarget } from '../../../src/gateway/context/request-target.ts';

const ENDPOINTS = ['/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1/files/file-1/content'];

const unquoted = (path: string) =>
  path.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
const resolved = (path: string) => new URL(path, 'http://x').pathname;
/** What servers make of a path before they route: uvicorn, Go, nginx and Express decode; Java cuts at `;`; IIS takes `\`. */
const SERVERS: readonly ((path: string) => string)[] = [
  (path) => unquoted(path),
  (path) => unquoted(unquoted(path)),
  (path) => unquoted(path).replace(/;[^/]*/g, ''),
  (path) => resolved(unquoted(path).replaceAll('\\', '/')),
  (path) =>
    unquoted(path)
      .replace(/\/{2,}/g, '/')
      .replace(/\/$/, ''),
  (path) => unquoted(path).replace(/[. \0]+(?=\/|$)/g, ''),
  (path) => unquoted(path).toLowerCase(),
];

const hex = (character: string, capital: boolean) => {
  const code = character.charCodeAt(0).toString(16).padStart(2, '0');
  return `%${capital ? code.toUpperCase() : code}`;
};
/** One way to write a path otherwise, at some place of it. */
const change = fc
  .tuple(fc.nat(), fc.nat(11), fc.boolean())
  .map(([place, kind, capital]) => (path: string) => {
    const at = 3 + (place % Math.max(1, path.length - 3));
    const character = path[at] ?? 'x';
    const put = (text: string) => path.slice(0, at) + text + path.slice(at + 1);
    return [
      () => put(hex(character, capital)),
      () => put(`%25${hex(character, capital).slice(1)}`),
      () => put(character.toUpperCase()),
      () => put(`${character};a=b`),
      () => put(character === '/' ? '//' : character),
      () => put(character === '/' ? '/./' : character),
      () => put(character === '/' ? '/x/../' : character),
      () => put(character === '/' ? '\\' : character),
      () => put(character === '/' ? '%2f' : character),
      () => `${path}/`,
      () => `${path}${capital ? '.' : '%20'}`,
      () => `${path}%00`,
    ][kind]?.() as string;
  });
const spelled = fc
  .tuple(fc.constantFrom(...ENDPOINTS), fc.array(change, { minLength: 1, maxLength: 4 }))
  .map(([path, changes]) => changes.reduce((before, next) => next(before), path));

/** A path that a server may take for an endpoint which gw doesn't take it for; undefined if there is none. */
function mistaken(path: string, target = requestTarget, isPassed = isUnmistakable): string | undefined {
  const own = target(path).path;
  if (!isPassed(own)) return undefined;
  const seen = SERVERS.map((read) => read(own));
  return seen.find((each) => ENDPOINTS.includes(each) && each !== own && each !== own.toLowerCase());
}

describe('the target of a request', () => {
  test('is one endpoint to every server, or not passed on', () => {
    fc.assert(
      fc.property(spelled, (path) => {
        expect([path, mistaken(path)]).toEqual([path, undefined]);
      }),
      { numRuns: 5_000 },
    );
  });

  test.each<[string, typeof requestTarget, typeof isUnmistakable]>([
    ['passes escapes', requestTarget, () => true],
    ['passes on what came', (url) => ({ path: url, query: '' }), (path) => !/[;\\%]/.test(path)],
    ['resolves nothing', requestTarget, (path) => !/[;\\%]/.test(path)],
    ['decodes nothing', (url) => ({ path: url, query: '' }), (path) => !/[;\\]|\/\.|\.$/.test(path)],
  ])('is told from one that %s', (_, target, isPassed) => {
    const { failed } = fc.check(
      fc.property(spelled, (path) => mistaken(path, target, isPassed) === undefined),
      { numRuns: 5_000 },
    );
    expect(failed).toBe(true);
  });

  test.each([
    ['/chat/completions', '/v1/chat/completions', ''],
    ['//v1//chat/completions/', '/v1/chat/completions', ''],
    ['/v1/v1/responses?a=1', '/v1/responses', '?a=1'],
    ['/v1/%63hat/completions', '/v1/chat/completions', ''],
    ['/v1/models/openai%2fgpt-4o', '/v1/models/openai%2Fgpt-4o', ''],
    ['/v1/budgets/mine%20own', '/v1/budgets/mine%20own', ''],
    ['/', '/', ''],
  ])('%s is %s%s', (url, path, query) => {
    expect(requestTarget(url)).toEqual({ path, query });
  });
});
