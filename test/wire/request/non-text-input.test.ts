import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { scanObject } from '../../../src/json/scan.ts';
import type { CacheWrites } from '../../../src/pricing/price-profile.ts';
import { createMarkReader } from '../../../src/wire/request/non-text-input.ts';

const FIVE = { type: 'ephemeral' };
const HOUR = { type: 'ephemeral', ttl: '1h' };
const text = (cache_control?: unknown) => ({ type: 'text', text: 'Hi', cache_control });
const user = (...content: unknown[]) => ({ messages: [{ role: 'user', content }] });
function marksIn(body: unknown): CacheWrites {
  const reader = createMarkReader();
  scanObject(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), {
    onString: reader.see,
  });
  return reader.writes();
}

describe('createMarkReader()', () => {
  test.each<[string, CacheWrites, unknown]>([
    ['no mark', 'none', user(text())],
    ['a mark at the top', 'default', { cache_control: FIVE, ...user(text()) }],
    ['a mark of a tool', 'default', { tools: [{ name: 'a', cache_control: FIVE }] }],
    ['a mark in the system prompt', 'default', { system: [text(FIVE)] }],
    ['a mark of a content block', 'default', user(text(FIVE))],
    ['a mark in a tool result', 'default', user({ type: 'tool_result', content: [text(FIVE)] })],
    ['five minutes', 'default', user(text({ type: 'ephemeral', ttl: '5m' }))],
    ['a mark with a scope', 'default', user(text({ type: 'ephemeral', ttl: '5m', scope: 'global' }))],
    ['a mark of null', 'none', user(text(null))],
    ['an hour', '1h', user(text(HOUR))],
    ['an hour before the type', '1h', user(text({ ttl: '1h', type: 'ephemeral' }))],
    ['an hour among others', '1h', { system: [text(HOUR)], ...user(text(FIVE), text(FIVE)) }],
    ['an hour at the end', '1h', { system: [text(FIVE)], ...user(text(FIVE), text(HOUR)) }],
    ['an hour in a tool result', '1h', user({ type: 'tool_result', content: [text(HOUR)] })],
    ['an unusual lifetime', '1h', user(text({ type: 'ephemeral', ttl: '60m' }))],
    ['a lifetime in seconds', '1h', user(text({ type: 'ephemeral', ttl: 3_600 }))],
    ['an unusual type', '1h', user(text({ type: 'persistent' }))],
    ['an unknown field', '1h', user(text({ type: 'ephemeral', TTL: '1h' }))],
    ['a mark that is no object', '1h', user(text('1h'))],
    ['an object in the mark', '1h', user(text({ type: 'ephemeral', ttl: { value: '1h' } }))],
    [
      'a mark written with spaces',
      '1h',
      '{"a":[{"cache_control" : { "type" : "ephemeral" , "ttl" : "1h" } }]}',
    ],
    [
      'five minutes with spaces',
      'default',
      '{"a":[{"cache_control" :\n{ "type" : "ephemeral" , "ttl" : "5m" } }]}',
    ],
    ['an hour said before five minutes', '1h', '{"cache_control":{"ttl":"1h","ttl":"5m"}}'],
    ['an hour said after five minutes', '1h', '{"cache_control":{"ttl":"5m","ttl":"1h"}}'],
    ['a mark of great length', '1h', user(text({ type: 'ephemeral', scope: 'x'.repeat(300) }))],
    ['escaped brackets and signs', 'none', '{"a":"\\u003cb\\u003e\\u001b[0m \\u00e9 \\\\u0041"}'],
    ['text about marks', 'none', user({ type: 'text', text: JSON.stringify(user(text(HOUR))) })],
    [
      'text about marks in text',
      'none',
      user({ type: 'text', text: JSON.stringify(JSON.stringify(text(HOUR))) }),
    ],
    [
      'the name of a mark in a list',
      'none',
      { tools: [{ required: ['cache_control', 'a', 'cache_control'] }] },
    ],
    ['the name of a mark as a value', 'none', { tools: [{ name: 'cache_control' }] }],
    [
      'text that begins like one, and a mark',
      '1h',
      user({ type: 'text', text: '"cache_control": null' }, text(HOUR)),
    ],
  ])('finds %s: %s', (_, expected, body) => {
    expect(marksIn(body)).toBe(expected);
  });

  test('never misses a mark, wherever it stands and whatever the text around it', () => {
    const mark = fc.oneof(
      fc.constantFrom<unknown>(
        FIVE,
        HOUR,
        { type: 'ephemeral', ttl: '5m' },
        { ttl: '1H' },
        { ttl: 1 },
        'x',
        [],
      ),
      fc.dictionary(
        fc.constantFrom('type', 'ttl', 'scope', 'x'),
        fc.constantFrom('ephemeral', '5m', '1h', ''),
      ),
    );
    const words = fc.array(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.constantFrom('"cache_control"', '\\', '\\"', '": {"ttl":"1h"}', 'cache_control'),
      ),
    );
    const leaf = fc.oneof(
      words.map((parts) => parts.join('')),
      fc.constantFrom<unknown>('cache_control', null, 1),
    );
    const bodies = fc.letrec((tie) => ({
      node: fc.oneof(
        { maxDepth: 5 },
        leaf,
        fc.array(tie('node'), { maxLength: 4 }),
        fc.dictionary(fc.string(), tie('node'), { maxKeys: 3 }),
        fc.tuple(mark, tie('node')).map(([cache_control, content]) => ({ content, cache_control })),
      ),
    })).node;
    let marked = 0;
    fc.assert(
      fc.property(bodies, (body) => {
        const lifetimes = lifetimesOf(body);
        const found = marksIn({ body });
        if (lifetimes.length > 0) marked++;
        if (lifetimes.some((lifetime) => lifetime !== '5m')) expect(found).toBe('1h');
        else if (lifetimes.length > 0) expect(found).not.toBe('none');
        else expect(found).toBe('none');
      }),
      { numRuns: 3_000 },
    );
    expect(marked).toBeGreaterThan(300);
  });
});

/** The lifetimes of all marks in a value: anything but absence or `5m` may be the hour's. */
function lifetimesOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const inner = lifetimesOf(item);
    if (key !== 'cache_control' || Array.isArray(value)) return inner;
    if (item === null || item === undefined) return [];
    const {
      type = 'ephemeral',
      ttl = '5m',
      scope = '',
    } = item as { type?: unknown; ttl?: unknown; scope?: unknown };
    const isUsual =
      typeof item === 'object' && !Array.isArray(item) && type === 'ephemeral' && typeof scope === 'string';
    return [...inner, isUsual ? String(ttl) : 'odd'];
  });
}
