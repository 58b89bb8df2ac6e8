import { expect, test } from 'vitest';
import { createPromptBases } from '../../../src/gateway/state/prompt-bases.ts';
import type { PromptBlock } from '../../../src/wire/request/prompt-block.ts';

const SCOPE = { model: 'm', key: 'k' };
const SOURCE = { served: 'm', lifetimeMs: 1_000 };

const block = (id: string): PromptBlock => ({
  id,
  kind: 'user',
  role: 'user',
  start: 0,
  end: 1,
  without: 0,
  opensMessage: true,
  isJson: false,
  images: 0,
  addressed: 0,
  inline: 0,
});
const base = (tokens: number, ...ids: string[]) => ({
  blocks: ids.map(block),
  tokens,
  bytes: 4_000,
  trailingSpace: 0,
  keepsReasoning: true,
});

function open() {
  let now = 0;
  const bases = createPromptBases({ monotonic: () => now });
  const tokens = (scope = SCOPE) => bases.find(scope).map((each) => each.tokens);
  return { bases, tokens, advance: (ms: number) => (now += ms) };
}

test('a base is found in its scope alone', () => {
  const { bases, tokens } = open();
  bases.remember(SCOPE, base(10, 'a'), SOURCE);
  expect(tokens()).toEqual([10]);
  expect(tokens({ ...SCOPE, key: 'other' })).toEqual([]);
  expect(tokens({ ...SCOPE, model: 'other' })).toEqual([]);
});

test('a base is forgotten when its time is over', () => {
  const { bases, tokens, advance } = open();
  bases.remember(SCOPE, base(10, 'a'), SOURCE);
  advance(999);
  expect(tokens()).toEqual([10]);
  advance(1);
  expect(tokens()).toEqual([]);
});

test('another model that answers to the name clears it, under all keys', () => {
  const { bases, tokens } = open();
  bases.remember(SCOPE, base(10, 'a'), SOURCE);
  bases.remember({ ...SCOPE, key: 'other' }, base(20, 'a'), { ...SOURCE, served: 'm-2026-01-01' });
  expect(tokens()).toEqual([]);
  expect(tokens({ ...SCOPE, key: 'other' })).toEqual([20]);
  bases.forget('m');
  expect(tokens({ ...SCOPE, key: 'other' })).toEqual([]);
});

test('of two counts of one prompt the larger stays', () => {
  const { bases, tokens } = open();
  bases.remember(SCOPE, base(10, 'a', 'b'), SOURCE);
  const { version } = bases;
  bases.remember(SCOPE, base(4, 'a', 'b'), SOURCE);
  expect(tokens()).toEqual([10]);
  expect(bases.version).toBe(version);
});

test('the bases that were used last stay, and the smallest', () => {
  const { bases, tokens } = open();
  for (let i = 0; i < 8; i++) bases.remember(SCOPE, base(i, `small ${i}`), SOURCE);
  bases.remember(SCOPE, base(999, 'used'), SOURCE);
  for (let i = 0; i < 100; i++) {
    const [used] = bases.find(SCOPE).filter((each) => each.tokens === 999);
    if (used) bases.touch(used);
    bases.remember(SCOPE, base(1_000 + i, `${i}`), SOURCE);
  }
  const kept = tokens();
  expect(kept).toHaveLength(40);
  expect(kept).toEqual(expect.arrayContaining([0, 1, 2, 3, 4, 5, 6, 7, 999, 1_099]));
});

test('memory is bounded: the bases that were used longest ago go, and the numbers of their blocks', () => {
  const { bases, tokens } = open();
  const long = (name: number) => base(name, ...Array.from({ length: 1_000 }, (_, i) => `${name} ${i}`));
  for (let i = 0; i < 150; i++) bases.remember({ ...SCOPE, key: `${i}` }, long(i), SOURCE);
  const keys = Array.from({ length: 150 }, (_, i) => ({ ...SCOPE, key: `${i}` }));
  expect(keys.filter((scope) => tokens(scope).length > 0)).toHaveLength(100);
  expect(tokens({ ...SCOPE, key: '149' })).toEqual([149]);
  expect([...bases.numbersOf([block('0 0'), block('149 0')])].map(Boolean)).toEqual([false, true]);
});

test('equal blocks have equal numbers in all bases', () => {
  const { bases } = open();
  bases.remember(SCOPE, base(1, 'a', 'b'), SOURCE);
  bases.remember(SCOPE, base(2, 'b', 'a'), SOURCE);
  const [second, first] = bases.find(SCOPE);
  expect([...(second?.blocks ?? [])]).toEqual([...(first?.blocks ?? [])].reverse());
});

test('a seal keeps the larger of its counts', () => {
  const { bases } = open();
  bases.rememberSeal('s', 5);
  bases.rememberSeal('s', 3);
  expect([bases.sealedTokens('s'), bases.sealedTokens('t')]).toEqual([5, undefined]);
});
