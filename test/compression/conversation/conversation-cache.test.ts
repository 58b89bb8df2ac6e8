import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compress, type Level, type Message } from '../../../src/compression/conversation/compress.ts';
import { ConversationCache } from '../../../src/compression/conversation/conversation.ts';
import { readItem } from '../../../src/compression/turns/turns.ts';
import { PROPERTY_TIMEOUT_MS, runs } from '../../support/simulator.ts';

const rows = (count: number) =>
  JSON.stringify(Array.from({ length: count }, (_, id) => ({ id, name: `item ${id % 7}`, state: 'on' })));
const lines = (count: number, from: number) =>
  Array.from(
    { length: count },
    (_, i) => `2026-01-01T00:00:00Z INFO worker-${i % 3} took job ${from + i}`,
  ).join('\n');
const file = (count: number, changed: number) =>
  Array.from(
    { length: count },
    (_, i) => `export const value${i} = compute(${i === changed ? 'x' : i});`,
  ).join('\n');

const shell = (printed: number) =>
  `${printed} files\n(Open file: /work/project/src/long/path/reader.py)\n(Current directory: /work)\nbash-$`;
const answer = (count: number) =>
  Array.from({ length: count }, (_, i) => `- Point ${i} is that the port of part ${i} is taken.`).join('\n');

const content = fc.oneof(
  fc.nat(3).map(shell),
  fc.integer({ min: 10, max: 30 }).map((count) => `You wrote:\n${answer(count)}\nIs it so?`),
  fc.integer({ min: 1, max: 60 }).map(rows),
  fc.tuple(fc.integer({ min: 1, max: 60 }), fc.nat(3)).map(([count, from]) => lines(count, from)),
  fc.tuple(fc.constantFrom(40, 60), fc.nat(3)).map(([count, changed]) => file(count, changed)),
  fc.constantFrom('Which item is off?', 'Go on.', 'Fix value3 in src/a.ts', 'How many are there in all?'),
);
const message: fc.Arbitrary<Message> = fc.oneof(
  content.map((text) => ({ role: 'user', content: text })),
  content.map((text) => ({ role: 'system', content: [{ type: 'text', text }] })),
  fc.tuple(fc.constantFrom('a', 'b'), fc.constantFrom('read', 'list')).map(([id, name]) => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ id, function: { name, arguments: '{"path":"src/a.ts"}' } }],
  })),
  fc.integer({ min: 10, max: 30 }).map((count) => ({ role: 'assistant', content: answer(count) })),
  fc
    .tuple(content, fc.constantFrom('a', 'b'))
    .map(([text, id]) => ({ role: 'tool', tool_call_id: id, content: text })),
);

/** A turn of one of two conversations that a client has: how much of it stays, and what comes then. */
const turn = fc.record({
  which: fc.nat(1),
  keep: fc.constantFrom(1, 1, 1, 0.9, 0.5, 0),
  added: fc.array(message, { maxLength: 4 }),
  level: fc.constantFrom<Level>('safe', 'safe', 'balanced'),
});

test(
  'what was compressed before changes nothing of what comes out',
  () => {
    fc.assert(
      fc.property(
        fc.array(turn, { maxLength: 10 }),
        fc.constantFrom(0, 5_000, 4_000_000),
        (turns, maxSize) => {
          const cache = new ConversationCache(maxSize);
          const conversations: Message[][] = [[], []];
          for (const { which, keep, added, level } of turns) {
            const before = conversations[which] ?? [];
            const messages = [...before.slice(0, Math.round(before.length * keep)), ...added];
            conversations[which] = messages;
            // As a request brings them: equal, and not the same objects.
            const read = (JSON.parse(JSON.stringify(messages)) as unknown[])
              .flatMap((item) => readItem(item, 'chat'))
              .map((each) => each.message);
            const { steps } = cache.compress(read, level);
            const alone = compress(read, { level });
            expect(steps.map(({ output }) => output)).toEqual(alone.messages);
            expect(steps.map(({ report }) => report)).toEqual(alone.report);
          }
        },
      ),
      runs(0.1),
    );
  },
  PROPERTY_TIMEOUT_MS,
);

test('a conversation that goes on is not compressed anew, and one that only begins alike is kept beside it', () => {
  const cache = new ConversationCache();
  const system = { role: 'system', content: 'Be brief.' };
  const first = [system, ...['a', 'b', 'c', 'd', 'e', 'f'].map((word) => ({ role: 'user', content: word }))];
  const second = [system, { role: 'user', content: 'other' }];
  const steps = cache.compress(first, 'safe').steps.slice();
  expect(cache.compress(second, 'safe').steps[0]).toBe(steps[0]);
  const grown = cache.compress([...first, { role: 'user', content: 'g' }], 'safe').steps;
  expect(grown.slice(0, steps.length).every((step, i) => step === steps[i])).toBe(true);
  expect(cache.compress(first, 'balanced').steps[0]).not.toBe(steps[0]);
});

test('no more is kept than fits', () => {
  const cache = new ConversationCache(2_000);
  const messages = (text: string) => [{ role: 'user', content: text.repeat(1_000) }];
  const [first] = cache.compress(messages('a'), 'safe').steps;
  cache.compress(messages('b'), 'safe');
  const [again] = cache.compress(messages('a'), 'safe').steps;
  expect(again).not.toBe(first);
  // One that is too long by itself drives out nothing.
  cache.compress(messages('long'), 'safe');
  expect(cache.compress(messages('a'), 'safe').steps[0]).toBe(again);
});
