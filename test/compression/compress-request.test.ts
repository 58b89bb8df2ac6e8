import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compressRequest } from '../../src/compression/compress-request.ts';
import { ConversationCache } from '../../src/compression/conversation/conversation.ts';
import { TurnCache } from '../../src/compression/turns/turn-cache.ts';
import type { Form } from '../../src/compression/turns/turns.ts';
import { applyEdits } from '../../src/json/edit.ts';
import { PROPERTY_TIMEOUT_MS, runs } from '../support/simulator.ts';

const ROWS = JSON.stringify(
  Array.from({ length: 60 }, (_, id) => ({ id, name: `item ${id}`, state: 'active', owner: 'team-a' })),
);
const OWN = 'Look at these and tell me which one is off.';
const json = JSON.stringify;

/** How each API writes a question, a call, its result as text and as parts, and what must stay as it is. */
const CONVERSATIONS: Record<Form, string> = {
  chat: `[{"role":"user","content":${json(OWN)},"name":"me"},
    {"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"list","arguments":"{\\"n\\": 1.0}"}}]},
    {"role":"tool" , "tool_call_id":"a","content":${json(ROWS)},"extra":1.0},
    {"role":"tool","tool_call_id":"a","content":[{"type":"text","text":${json(ROWS.replaceAll('item', 'thing'))},"cache_control":{"type":"ephemeral"}}]}]`,
  messages: `[{"role":"user","content":[{"type":"text","text":${json(OWN)}}]},
    {"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"a","name":"list","input":{"n":1.0}},{"type":"tool_use","id":"b","name":"list","input":{}}]},
    {"role":"user","content":[
      {"type":"tool_result" , "tool_use_id":"a","content":${json(ROWS)},"cache_control":{"type":"ephemeral"}},
      {"type":"text","text":"And the next:"},
      {"type":"tool_result","tool_use_id":"b","is_error":false,"content":[{"type":"image","source":{"type":"base64","data":"AA=="}},{"type":"text","text":${json(ROWS.replaceAll('item', 'thing'))}}]}]}]`,
  responses: `[{"role":"user","content":[{"type":"input_text","text":${json(OWN)}}]},
    {"type":"reasoning","id":"rs_1","encrypted_content":"AAAA","summary":[]},
    {"type":"function_call","call_id":"a","name":"list","arguments":"{\\"n\\": 1.0}"},
    {"type":"function_call_output" , "call_id":"a","output":${json(ROWS)}},
    {"type":"custom_tool_call","call_id":"b","name":"list","input":"1.0"},
    {"type":"custom_tool_call_output","call_id":"b","output":[{"type":"input_text","text":${json(ROWS.replaceAll('item', 'thing'))}}]}]`,
  gemini: `[{"role":"user","parts":[{"text":${json(OWN)}}]},
    {"role":"model","parts":[{"text":"I look.","thought":true},{"functionCall":{"name":"list","args":{"n":1.0}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"b","name":"list"}}]},
    {"role":"user","parts":[
      {"functionResponse":{"name" : "list","response":{"output":${json(ROWS)},"n":1.0}}},
      {"functionResponse":{"id":"b","name":"list","response":{"result":${json(ROWS.replaceAll('item', 'thing'))}}}},
      {"inlineData":{"mimeType":"image/png","data":"AA=="}}]}]`,
};
const FORMS = Object.keys(CONVERSATIONS) as Form[];

function run(text: string, form: Form) {
  const bytes = Buffer.from(text);
  const { edits, savings } = compressRequest({ bytes, form, level: 'safe' });
  return { out: applyEdits(bytes, edits).toString(), edits, savings };
}

describe.each(FORMS)('a conversation of %s', (form) => {
  const text = CONVERSATIONS[form];
  const { out, edits, savings } = run(text, form);

  test('has its tool results shortened, as text and as parts', () => {
    expect(edits.length).toBe(2);
    expect(out.length).toBeLessThan(text.length * 0.6);
    expect(out).toContain('item 59');
    expect(out).toContain('thing 59');
  });

  test('is otherwise the bytes that came', () => {
    let at = 0;
    let rest = out;
    for (const edit of [...edits].sort((a, b) => a.start - b.start)) {
      const same = Buffer.from(text).subarray(at, edit.start).toString();
      expect(rest.startsWith(same + edit.text)).toBe(true);
      rest = rest.slice(same.length + edit.text.length);
      at = edit.end;
    }
    expect(rest).toBe(Buffer.from(text).subarray(at).toString());
  });

  test('tells what each turn lost and how much of the prompt comes behind it', () => {
    expect(savings.map(({ tokens }) => tokens > 300)).toEqual([true, true]);
    const [last = 0, first = 0] = savings.map(({ tokensBehind }) => tokensBehind);
    expect(last).toBeGreaterThan(100);
    expect(first).toBeGreaterThan(2.5 * last);
  });

  test('comes out the same when it is compressed again', () => {
    expect(run(out, form).edits).toEqual([]);
  });

  test('has the same beginning however it goes on', () => {
    const all = JSON.parse(out) as unknown[];
    const items = JSON.parse(text) as unknown[];
    for (let count = 1; count < items.length; count++) {
      expect(JSON.parse(run(json(items.slice(0, count)), form).out)).toEqual(all.slice(0, count));
    }
  });
});

test('what shells print is shortened for each of their streams', () => {
  const text = json([
    { role: 'user', content: OWN },
    { type: 'local_shell_call_output', id: 'a', output: ROWS },
    {
      type: 'shell_call_output',
      call_id: 'b',
      output: [{ stdout: ROWS.replaceAll('item', 'thing'), stderr: 'x' }],
    },
  ]);
  const [, local, shell] = JSON.parse(run(text, 'responses').out);
  expect(local.output.length).toBeLessThan(ROWS.length * 0.6);
  expect(shell.output[0].stdout.length).toBeLessThan(ROWS.length * 0.6);
  expect(shell.output[0].stderr).toBe('x');
});

test.each([
  ['a key that stands twice', `[{"role":"tool","content":"x","content":${json(ROWS)}}]`],
  ['no array', `{"role":"tool","content":${json(ROWS)}}`],
  ['no JSON', '[{]'],
])('%s is refused', (_, text) => {
  expect(() => run(text, 'chat')).toThrow();
});

test.each(FORMS)('what %s does not know is passed over', (form) => {
  const odd = [
    null,
    1,
    'x',
    [],
    {},
    { role: 1, content: 2 },
    { role: 'user', content: [null, 1, { type: 'text', text: 3 }] },
  ];
  expect(
    run(json([...odd, { type: 7, role: 'tool' }, { type: 'function_call_output' }]), form).edits,
  ).toEqual([]);
});

test('characters of all lengths before a text do not move its place', () => {
  const text = json([
    { role: 'user', content: 'é 漢字 😀 \u2028 "quotes" \\ and more' },
    { role: 'tool', tool_call_id: 'a', content: ROWS },
  ]);
  const { out } = run(text, 'chat');
  expect(JSON.parse(out)[0]).toEqual(JSON.parse(text)[0]);
  expect(JSON.parse(out)[1].content.length).toBeLessThan(ROWS.length * 0.6);
});

/** Items made of the words that the forms know, in places where they may not belong. */
const WORDS = [
  'user',
  'assistant',
  'tool',
  'system',
  'text',
  'input_text',
  'tool_result',
  'tool_use',
  'function_call',
];
const { item } = fc.letrec<{ item: unknown; value: unknown }>((tie) => ({
  item: fc.dictionary(
    fc.constantFrom(
      'role',
      'type',
      'content',
      'output',
      'text',
      'tool_calls',
      'call_id',
      'tool_call_id',
      'input',
    ),
    tie('value'),
  ),
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom(
      ...WORDS,
      'function_call_output',
      'shell_call_output',
      'stdout',
      'a',
      ROWS,
      null,
      1.5,
      true,
    ),
    fc.array(tie('item'), { maxLength: 3 }),
    tie('item'),
  ),
}));

test(
  'whatever comes in goes out as JSON of the same make, and nothing grows',
  () => {
    const sameMake = (one: unknown, other: unknown): boolean => {
      if (typeof one === 'string' && typeof other === 'string')
        return one === other || other.length < one.length;
      if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
        return one === other;
      return (
        json(Object.keys(one)) === json(Object.keys(other)) &&
        Object.entries(one).every(([key, value]) => sameMake(value, other[key as never]))
      );
    };
    fc.assert(
      fc.property(fc.array(item, { maxLength: 6 }), fc.constantFrom(...FORMS), (items, form) => {
        expect(sameMake(items, JSON.parse(run(json(items), form).out))).toBe(true);
      }),
      runs(0.1),
    );
  },
  PROPERTY_TIMEOUT_MS,
);

test.each(FORMS)('what is kept of earlier turns changes nothing in a conversation of %s', (form) => {
  const known = (JSON.parse(CONVERSATIONS[form]) as object[]).map((item) => JSON.stringify(item));
  // Numbers and words, since what a place begins with may go on there.
  const item = fc.constantFrom(...known, '1', '12', '1.5', '"a"', '"ab"', '{}', '[[1]]', 'null');
  const turn = fc.record({
    keep: fc.double({ min: 0, max: 1, noNaN: true }),
    added: fc.array(item, { minLength: 1, maxLength: 4 }),
    space: fc.constantFrom('', ' '),
  });
  fc.assert(
    fc.property(
      fc.array(turn, { minLength: 2, maxLength: 8 }),
      fc.constantFrom(3_000, 8_000_000),
      (turns, size) => {
        const caches = { turns: new TurnCache(size), conversations: new ConversationCache() };
        let items: string[] = [];
        for (const { keep, added, space } of turns) {
          items = [...items.slice(0, Math.round(items.length * keep)), ...added];
          const bytes = Buffer.from(`[${space}${items.join(`,${space}`)}]`);
          const request = { bytes, form, level: 'safe' } as const;
          expect(compressRequest(request, caches)).toEqual(compressRequest(request));
        }
      },
    ),
    runs(0.05),
  );
});
