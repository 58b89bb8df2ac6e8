import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { beginningOf, createDecisions, createKeys } from '../../src/compression/decisions.ts';

const keyOf = (messages: unknown, level: 'safe' | 'balanced' = 'safe') =>
  beginningOf({ bytes: Buffer.from(JSON.stringify(messages)), form: 'messages', level }).key;

describe('beginningOf()', () => {
  const task = { role: 'user', content: [{ type: 'text', text: 'Do it' }] };
  const marked = {
    role: 'user',
    content: [{ type: 'text', text: 'Do it', cache_control: { type: 'ephemeral' } }],
  };
  const system = { role: 'system', content: 'You are it.' };

  test('is the same for all turns, wherever the cache marks are', () => {
    const key = keyOf([system, marked]);
    expect(keyOf([system, task, { role: 'assistant', content: 'Done' }, marked])).toBe(key);
    expect(keyOf([system, task, { role: 'user', content: 'And more' }])).toBe(key);
  });

  test('differs by beginning and level', () => {
    const keys = [
      keyOf([system, task]),
      keyOf([task]),
      keyOf([system, { role: 'user', content: 'Do that' }]),
      keyOf([system, task], 'balanced'),
      keyOf([]),
      keyOf({}),
    ];
    expect(new Set(keys.slice(0, 5)).size).toBe(5);
  });
});

describe('createKeys()', () => {
  /** Short texts and long ones, with beginnings in common. */
  const text = fc
    .tuple(fc.constantFrom('a', 'b'), fc.nat({ max: 2 }), fc.constantFrom('', 'c', '"', '\u00e9'))
    .map(([letter, length, end]) => letter.repeat(length * 9_000) + end);
  const message = fc.record({ role: fc.constantFrom('system', 'user', 'assistant'), content: text });
  const request = fc.record({
    messages: fc.array(message, { maxLength: 3 }),
    level: fc.constantFrom('safe' as const, 'balanced' as const),
    isCut: fc.boolean(),
  });

  test('finds the keys of conversations whose beginnings it has seen', () => {
    fc.assert(
      fc.property(fc.array(request, { minLength: 2, maxLength: 12 }), (requests) => {
        const keysOf = createKeys();
        for (const { messages, level, isCut } of requests) {
          const whole = Buffer.from(JSON.stringify(messages));
          const bytes = isCut ? whole.subarray(0, -1) : whole;
          const one = { bytes, form: 'messages' as const, level };
          expect(keysOf(one)).toBe(beginningOf(one).key);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('createDecisions()', () => {
  test('forgets the conversations that were used least recently', () => {
    const decisions = createDecisions();
    decisions.set('first', 'original');
    decisions.set('second', 'compressed');
    for (let i = 0; i < 19_999; i++) {
      decisions.set(`other ${i}`, 'compressed');
      decisions.get('first');
    }
    expect([decisions.get('first'), decisions.get('second')]).toEqual(['original', undefined]);
  });
});
