import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ChatAnswerReader } from '../../src/translation/apis/chat/read-answer.ts';
import { readChatRequest } from '../../src/translation/apis/chat/read-request.ts';
import { writeChatRequest } from '../../src/translation/apis/chat/write-request.ts';
import { GeminiAnswerReader } from '../../src/translation/apis/gemini/read-answer.ts';
import { readGeminiRequest } from '../../src/translation/apis/gemini/read-request.ts';
import { writeGeminiRequest } from '../../src/translation/apis/gemini/write-request.ts';
import { MessagesAnswerReader } from '../../src/translation/apis/messages/read-answer.ts';
import { readMessagesRequest } from '../../src/translation/apis/messages/read-request.ts';
import { writeMessagesRequest } from '../../src/translation/apis/messages/write-request.ts';
import { ResponsesAnswerReader } from '../../src/translation/apis/responses/read-answer.ts';
import { readResponsesRequest } from '../../src/translation/apis/responses/read-request.ts';
import { writeResponsesRequest } from '../../src/translation/apis/responses/write-request.ts';
import type { RequestContext } from '../../src/translation/context.ts';
import { type AnswerReader, foldAnswer } from '../../src/translation/conversation/answer.ts';
import type { Conversation, Part, Turn } from '../../src/translation/conversation/conversation.ts';
import { withResults } from '../../src/translation/repair/results.ts';
import { dataIn } from '../../src/wire/answer/events.ts';
import type { Reply, StrictApi } from './providers/strict.ts';
import { type ChatHost, strictChat } from './providers/strict-chat.ts';
import { strictGemini } from './providers/strict-gemini.ts';
import { strictMessages } from './providers/strict-messages.ts';
import { strictResponses } from './providers/strict-responses.ts';

const refuse = (param: string) => {
  throw new Error(`refused ${param}`);
};

const context: RequestContext = {
  provider: 'mock',
  model: 'm',
  maxTokens: 100,
  outputLimit: 'max_tokens',
  dialect: {},
  isCodex: false,
  from: 'responses',
  leaveOut: refuse,
  cannotExpress: refuse,
  refuseRest(rest, at) {
    if (Object.values(rest).some((value) => value !== undefined)) refuse(at);
  },
  paramOf: (field) => field,
  unseal: () => undefined,
  recall: () => undefined,
};

const APIS = {
  chat: { read: readChatRequest, write: writeChatRequest },
  messages: { read: readMessagesRequest, write: writeMessagesRequest },
  responses: { read: readResponsesRequest, write: writeResponsesRequest },
  gemini: { read: readGeminiRequest, write: writeGeminiRequest },
};

const text = fc.string({ minLength: 1, maxLength: 12 }).filter((each) => each.trim() !== '');
const textTurn = (role: 'user' | 'assistant') =>
  text.map((each): Turn => ({ role, parts: [{ type: 'text', text: each }] }));
const args = fc
  .dictionary(fc.constantFrom('a', 'b', 'ü'), fc.jsonValue({ maxDepth: 2 }))
  .map((each) => JSON.stringify(each));

/** A turn with calls, and their results. */
const callTurns = fc
  .record({
    said: fc.option(text),
    calls: fc.array(fc.record({ args, result: text }), { minLength: 1, maxLength: 3 }),
    at: fc.nat(),
  })
  .map(({ said, calls, at }): Turn[] => {
    const idOf = (i: number) => `call_${at}_${i}`;
    const parts: Part[] = said === null ? [] : [{ type: 'text', text: said }];
    const results = calls.map(
      ({ result }, i): Part => ({
        type: 'result',
        id: idOf(i),
        parts: [{ type: 'text', text: result }],
        isError: false,
      }),
    );
    return [
      {
        role: 'assistant',
        parts: [
          ...parts,
          ...calls.map(
            (call, i): Part => ({ type: 'call', id: idOf(i), name: 'f', args: call.args, at: '' }),
          ),
        ],
      },
      { role: 'user', parts: results },
    ];
  });

const conversation = fc
  .record({
    system: fc.option(text),
    first: textTurn('user'),
    rest: fc.array(fc.oneof(fc.tuple(textTurn('assistant'), textTurn('user')), callTurns), { maxLength: 4 }),
    maxTokens: fc.integer({ min: 16, max: 1_000 }),
    temperature: fc.option(fc.constantFrom(0, 0.5, 1), { nil: undefined }),
    isStream: fc.boolean(),
    choice: fc.constantFrom(undefined, 'auto' as const, 'any' as const, { name: 'f' }),
  })
  .map(
    ({ system, first, rest, ...options }): Conversation => ({
      model: 'm',
      turns: [
        ...(system === null ? [] : [{ role: 'system', parts: [{ type: 'text', text: system }] } as Turn]),
        first,
        ...rest.flat(),
      ],
      tools: [{ name: 'f', description: 'd', parameters: { type: 'object', properties: {} } }],
      extra: {},
      ...options,
    }),
  );

/** What a conversation means, whatever its turns are cut into. */
function meaningOf({ turns, tools, choice, maxTokens, temperature, isStream }: Conversation) {
  const said: unknown[] = [];
  let role = '';
  for (const turn of turns) {
    for (const part of turn.parts) {
      if (part.type === 'text' && part.text === '') continue;
      if (part.type === 'text' && role === turn.role) said.push(['text', part.text]);
      else if (part.type === 'text') said.push([turn.role, part.text]);
      else if (part.type === 'call') said.push(['call', part.id, part.name, part.args]);
      else if (part.type === 'result')
        said.push([
          'result',
          part.id,
          part.parts.map((each) => (each.type === 'text' ? each.text : '')).join(''),
        ]);
      role = turn.role;
    }
  }
  const names = tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  return { said: said.map((each) => JSON.stringify(each)), names, choice, maxTokens, temperature, isStream };
}

describe('read(write(conversation)) is the conversation', () => {
  test.each(Object.entries(APIS))('in the API of %s', (_, { read, write }) => {
    fc.assert(
      fc.property(conversation, (each) => {
        const body = JSON.parse(JSON.stringify(write(each, context)));
        delete body.store;
        delete body.include;
        expect(meaningOf(read(body, context))).toEqual(meaningOf(each));
      }),
    );
  });

  test.each<[string, (each: Conversation) => Conversation]>([
    [
      'a lost result',
      (each) => ({ ...each, turns: each.turns.filter(({ parts }) => parts[0]?.type !== 'result') }),
    ],
    ['an order changed', (each) => ({ ...each, turns: each.turns.toReversed() })],
    [
      'another id',
      (each) => ({
        ...each,
        turns: each.turns.map((turn) => ({
          ...turn,
          parts: turn.parts.map((part) => (part.type === 'call' ? { ...part, id: 'x' } : part)),
        })),
      }),
    ],
  ])('the property catches %s', (_, broken) => {
    const { read, write } = APIS.messages;
    const result = fc.check(
      fc.property(conversation, (each) => {
        const body = JSON.parse(JSON.stringify(write(broken(each), context)));
        expect(meaningOf(read(body, context))).toEqual(meaningOf(each));
      }),
    );
    expect(result.failed).toBe(true);
  });
});

test('each call has its result right behind it, exactly once, in whatever order a client sends them', () => {
  const shuffled = conversation.chain((each) =>
    fc.tuple(fc.constant(each), fc.shuffledSubarray(each.turns, { minLength: each.turns.length })),
  );
  fc.assert(
    fc.property(shuffled, ([, turns]) => {
      const repaired = withResults(turns, { leaveOut: () => {} });
      const calls: string[] = [];
      for (const [i, { role, parts }] of repaired.entries()) {
        const made = parts.flatMap((part) => (part.type === 'call' ? [part.id] : []));
        calls.push(...made);
        const next = repaired[i + 1];
        const answered = (next?.parts ?? []).flatMap((part) => (part.type === 'result' ? [part.id] : []));
        if (made.length > 0)
          expect({ role, next: next?.role, answered }).toEqual({
            role: 'assistant',
            next: 'user',
            answered: made,
          });
        else if (role === 'user' && i > 0 && repaired[i - 1]?.role !== 'assistant')
          expect(parts.some(({ type }) => type === 'result')).toBe(false);
      }
      const before = turns.flatMap(({ parts }) =>
        parts.flatMap((part) => (part.type === 'call' ? [part.id] : [])),
      );
      expect(calls.toSorted()).toEqual(before.toSorted());
    }),
  );
});

const reply = fc.record({
  turn: fc.nat({ max: 9 }),
  model: fc.constant('m'),
  reasoning: text,
  text: fc.oneof(fc.constant(''), text),
  calls: fc.array(
    fc.record({
      name: fc.constantFrom('f', 'g'),
      args: fc.dictionary(fc.constantFrom('a', 'b'), fc.string()),
    }),
    { maxLength: 3 },
  ),
  usage: fc.record({ input: fc.nat({ max: 999 }), output: fc.nat({ max: 999 }) }),
});

const STYLES: ChatHost[] = [
  {},
  { reasoningIn: 'reasoning_content', wantsBack: 'extra_content' },
  { reasoningIn: 'reasoning_details', comments: true },
  { reasoningIn: 'reasoning', oneIndex: true, finishReason: 'stop', makesId: (_, i) => `call_${i}` },
  { argumentsAsObject: true, finishReason: '', usageIn: 'choice' },
  { usageIn: 'x_groq' },
];

const READERS: [string, () => StrictApi, () => AnswerReader][] = [
  ...STYLES.map((style): (typeof READERS)[number] => [
    `chat ${JSON.stringify(style)}`,
    () => strictChat(style),
    () => new ChatAnswerReader((prefix) => `${prefix}_new`),
  ]),
  ['messages', strictMessages, () => new MessagesAnswerReader()],
  ['responses', strictResponses, () => new ResponsesAnswerReader()],
  ['gemini', strictGemini, () => new GeminiAnswerReader((prefix) => `${prefix}_new`)],
];

/** An answer without what a whole one has no place for. */
const essence = (events: ReturnType<AnswerReader['whole']>) => {
  const { parts, usage, reason } = foldAnswer(events);
  return { parts, usage, reason: reason === 'calls' ? 'stop' : reason };
};

describe.each(READERS)('answers of %s', (_, apiOf, readerOf) => {
  const streamOf = (each: Reply) => dataIn(Buffer.from(apiOf().stream(each)));

  test('are the same as a stream, and have what the provider said, once', () => {
    fc.assert(
      fc.property(reply, (each) => {
        const reader = readerOf();
        const streamed = [...streamOf(each).flatMap((data) => reader.event(data)), ...reader.end()];
        const whole = essence(readerOf().whole(apiOf().plain(each)));
        expect(essence(streamed)).toEqual(whole);
        const texts = whole.parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
        expect(texts.join('')).toBe(each.text);
        const calls = whole.parts.flatMap((part) =>
          part.type === 'call' ? [{ name: part.name, args: JSON.parse(part.args || '{}') }] : [],
        );
        expect(calls).toEqual(each.calls);
        expect(whole.usage).toMatchObject(each.usage);
        expect(streamed.filter(({ type }) => type === 'end')).toHaveLength(1);
      }),
    );
  });

  test('have an end only if the provider said that they are whole', () => {
    fc.assert(
      fc.property(reply, fc.nat(), (each, at) => {
        const data = streamOf(each);
        const kept = data.slice(0, at % data.length);
        const reader = readerOf();
        const events = [...kept.flatMap((one) => reader.event(one)), ...reader.end()];
        const isSaid = kept.some((one) =>
          /"finish_reason":"|"stop_reason":"|"response\.completed"|"finishReason":"/.test(one),
        );
        expect(events.some(({ type }) => type === 'end')).toBe(isSaid);
      }),
    );
  });
});
