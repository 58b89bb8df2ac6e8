import { describe, expect, test } from 'vitest';
import { beginningOf, createDecisions } from '../../src/compression/decisions.ts';

const keyOf = (messages: unknown, level: 'safe' | 'balanced' = 'safe') =>
  beginningOf({ bytes: Buffer.from(JSON.stringify(messages)), form: 'messages', level });

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
