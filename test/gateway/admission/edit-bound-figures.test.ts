import { expect, test } from 'vitest';
import { editBound } from '../../../src/gateway/admission/edit-bound.ts';
import { measurePrompt } from '../../../src/gateway/admission/measure-prompt.ts';
import { createPromptBases } from '../../../src/gateway/state/prompt-bases.ts';
import type { Target } from '../../../src/gateway/state/resolver.ts';
import { messagesWire } from '../../../src/wire/apis/messages.ts';
import { sealOf } from '../../../src/wire/request/seals.ts';

const TARGET = { provider: { name: 'anthropic' }, model: 'claude-sonnet-4-5' } as Target;
const SCOPE = { model: 'm', key: 'k' };
const text = (value: string) => ({ type: 'text', text: value });
const say = (role: string, ...content: object[]) => ({ role, content });
const FIRST = [say('user', text('Hello'))];
const bytesOf = (...blocks: object[]) =>
  blocks.reduce((sum: number, block) => sum + JSON.stringify(block).length, 0);

const promptOf = (body: object) => {
  const prompt = messagesWire.blocksOf?.(
    messagesWire.parse(Buffer.from(JSON.stringify({ model: 'm', max_tokens: 5, ...body }))),
  );
  if (!prompt) throw new Error('no blocks');
  return prompt;
};

/** The bound of a prompt after one that was counted at 1,000 tokens. */
function boundAfter(
  before: object,
  body: object,
  counts: Partial<{ trailingSpace: number; tokens: number }>[] = [{}],
) {
  const bases = createPromptBases({ monotonic: () => 0 });
  for (const count of counts) {
    const { blocks, keepsReasoning } = promptOf(before);
    bases.remember(
      SCOPE,
      { blocks, keepsReasoning, tokens: 1_000, bytes: 4_000, trailingSpace: 0, ...count },
      { served: 'm', lifetimeMs: 1 },
    );
  }
  return editBound(measurePrompt(promptOf(body), TARGET, bases), bases.find(SCOPE))?.tokens;
}

test('an identical prompt is bounded by what it was counted at', () => {
  expect(boundAfter({ messages: FIRST }, { messages: FIRST, temperature: 1 })).toBe(1_000);
});

test('a prompt without a base has no bound', () => {
  const bases = createPromptBases({ monotonic: () => 0 });
  expect(
    editBound(measurePrompt(promptOf({ messages: FIRST }), TARGET, bases), bases.find(SCOPE)),
  ).toBeUndefined();
});

test('each new block adds its bytes, 48 and 32 for its message; each place 80; the request 64', () => {
  const answer = [text('Yes'), { type: 'tool_use', id: 'a', name: 'T', input: {} }];
  const result = { type: 'tool_result', tool_use_id: 'a', content: 'done' };
  const messages = [...FIRST, say('assistant', ...answer), say('user', result)];
  expect(boundAfter({ messages: FIRST }, { messages })).toBe(
    1_000 + 64 + 80 + bytesOf(...answer, result) + 3 * 48 + 2 * 32,
  );
  const system = (line: string) => [text(`x-anthropic-billing-header: ${line}`), text('Be kind.')];
  expect(boundAfter({ messages: FIRST, system: system('a') }, { messages: FIRST, system: system('b') })).toBe(
    1_000 + 64 + 80 + bytesOf(...system('b').slice(0, 1)) + 48,
  );
});

test('white space that a template may have removed from the end comes back', () => {
  const messages = [...FIRST, say('assistant', text('Yes')), say('user', text('Go'))];
  const plain = boundAfter({ messages: FIRST }, { messages }) ?? 0;
  expect(boundAfter({ messages: FIRST }, { messages }, [{ trailingSpace: 9 }])).toBe(plain + 9);
});

test('the same role after the last block adds that block', () => {
  const next = text('And?');
  expect(boundAfter({ messages: FIRST }, { messages: [...FIRST, say('user', next)] })).toBe(
    1_000 + 64 + 80 + bytesOf(next) + 48 + 32 + bytesOf(text('Hello')),
  );
});

test('other tools add 2,500 once, and another option 1,000', () => {
  const tool = (name: string) => ({ name, input_schema: {} });
  expect(boundAfter({ messages: FIRST }, { messages: FIRST, tools: [tool('A'), tool('B')] })).toBe(
    1_000 + 64 + 80 + bytesOf(tool('A'), tool('B')) + 2 * 48 + 2_500,
  );
  expect(boundAfter({ messages: FIRST, tool_choice: { type: 'any' } }, { messages: FIRST })).toBe(
    1_000 + 64 + 80 + 1_000,
  );
});

test('a reference adds the definition, as often as it stands there; without the tool, those of all deferred tools', () => {
  const far = { name: 'Far', description: 'x'.repeat(500), input_schema: {}, defer_loading: true };
  const off = { ...far, name: 'Off' };
  const found = (...names: string[]) => {
    const content = names.map((name) => ({ type: 'tool_reference', tool_name: name }));
    return { type: 'tool_result', tool_use_id: 'a', content };
  };
  const body = (result: object) => ({
    messages: [...FIRST, say('assistant', text('a')), say('user', result)],
    tools: [far, off],
  });
  const around = 1_000 + 64 + 80 + bytesOf(text('a')) + 2 * (48 + 32);
  const before = { messages: FIRST, tools: [far, off] };
  expect(boundAfter(before, body(found('Far', 'Far')))).toBe(
    around + bytesOf(found('Far', 'Far')) + 2 * (bytesOf(far) + 48),
  );
  expect(boundAfter(before, body(found('Lost')))).toBe(
    around + bytesOf(found('Lost')) + bytesOf(far, off) + 48,
  );
  // What a counted block refers to was counted with it.
  expect(boundAfter(body(found('Far')), body(found('Far')))).toBe(1_000);
});

test('an image by address counts each time, one in the request once', () => {
  const image = (source: object) => ({ messages: [say('user', { type: 'image', source })] });
  const linked = image({ type: 'url', url: 'https://a.example/b.png' });
  expect(boundAfter(linked, linked)).toBe(13_000);
  const inline = image({ type: 'base64', data: 'aaaa' });
  expect(boundAfter(inline, inline)).toBe(1_000);
  const block = { type: 'image', source: { type: 'base64', data: 'a'.repeat(90_000) } };
  expect(
    boundAfter(
      { messages: FIRST },
      { messages: [...FIRST, say('assistant', text('a')), say('user', block)] },
    ),
  ).toBe(1_000 + 64 + 80 + bytesOf(text('a'), block) - 90_000 + 12_000 + 2 * (48 + 32));
});

test('the least bound of all bases counts, not that of the longest', () => {
  const bases = createPromptBases({ monotonic: () => 0 });
  const prompts = [FIRST, [...FIRST, say('assistant', text('Yes')), say('user', text('Go'))]].map(
    (messages) => promptOf({ messages }),
  );
  for (const [i, { blocks }] of prompts.entries()) {
    const base = {
      blocks,
      keepsReasoning: true,
      tokens: i === 0 ? 100 : 9_000,
      bytes: 4_000,
      trailingSpace: 0,
    };
    bases.remember(SCOPE, base, { served: 'm', lifetimeMs: 1 });
  }
  const [, long] = prompts;
  const bound = long && editBound(measurePrompt(long, TARGET, bases), bases.find(SCOPE))?.tokens;
  expect(bound).toBeLessThan(1_000);
});

const thought = (letter: string) => ({ type: 'thinking', thinking: letter.repeat(300), signature: letter });
const call = { type: 'tool_use', id: 'a', name: 'T', input: {} };
const result = { type: 'tool_result', tool_use_id: 'a', content: 'done' };
const LOOP = [...FIRST, say('assistant', thought('a'), call), say('user', result)];
const REASONING = bytesOf(thought('a')) + 48;

test('reasoning comes back behind a changed system block, but not behind the line for the bill', () => {
  const prompt = (...system: object[]) => ({ thinking: { type: 'adaptive' }, system, messages: LOOP });
  const changed = 1_000 + 64 + 80 + 48;
  expect(boundAfter(prompt(text('Be kind.')), prompt(text('Be brief')))).toBe(
    changed + bytesOf(text('Be brief')) + REASONING,
  );
  const line = (value: string) => text(`x-anthropic-billing-header: ${value}`);
  expect(boundAfter(prompt(line('a')), prompt(line('b')))).toBe(changed + bytesOf(line('b')));
});

test('reasoning before a removed text of the user comes back', () => {
  const thinking = { type: 'adaptive' };
  const more = [...LOOP, say('assistant', text('Done')), say('user', text('Thanks'))];
  expect(boundAfter({ thinking, messages: more }, { thinking, messages: LOOP })).toBe(
    1_000 + 64 + 80 + REASONING,
  );
});

test('reasoning comes back to a prompt for which thinking was off', () => {
  const turn = [
    ...LOOP,
    say('assistant', text('Done')),
    say('user', text('Thanks')),
    say('assistant', call),
    say('user', result),
  ];
  const next = [...turn, say('assistant', text('Ok')), say('user', text('And?'))];
  const thinking = { type: 'adaptive' };
  const added = 64 + 80 + bytesOf(text('Ok'), text('And?')) + 2 * (48 + 32);
  expect(boundAfter({ thinking, messages: turn }, { thinking, messages: next })).toBe(
    1_000 + added + REASONING,
  );
  expect(boundAfter({ thinking, messages: LOOP }, { thinking, messages: [...LOOP, ...next.slice(-2)] })).toBe(
    1_000 + added,
  );
});

test('sealed reasoning counts at what its answer was billed, with the bytes around the seal', () => {
  const bases = createPromptBases({ monotonic: () => 0 });
  const before = promptOf({ messages: FIRST });
  const base = { blocks: before.blocks, keepsReasoning: true, tokens: 1_000, bytes: 4_000, trailingSpace: 0 };
  bases.remember(SCOPE, base, { served: 'm', lifetimeMs: 1 });
  const seal = sealOf(thought('a'));
  bases.rememberSeal(seal?.id ?? '', 7);
  const bound = editBound(
    measurePrompt(promptOf({ messages: LOOP }), TARGET, bases),
    bases.find(SCOPE),
  )?.tokens;
  const around = bytesOf(thought('a')) - 301;
  expect(bound).toBe(1_000 + 64 + 80 + 7 + around + bytesOf(call, result) + 3 * 48 + 2 * 32);
});
