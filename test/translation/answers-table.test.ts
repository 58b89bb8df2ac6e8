import { test } from 'vitest';
import { GwError } from '../../src/errors.ts';
import { isObject, objectsIn } from '../../src/json/object.ts';
import { UNKNOWN } from '../../src/providers/dialects/dialects.ts';
import { ChatAnswerReader } from '../../src/translation/apis/chat/read-answer.ts';
import { ChatAnswerWriter } from '../../src/translation/apis/chat/write-answer.ts';
import { ConverseEvents, converseAnswer } from '../../src/translation/apis/converse/write-answer.ts';
import { GeminiAnswerReader } from '../../src/translation/apis/gemini/read-answer.ts';
import { GeminiAnswerWriter } from '../../src/translation/apis/gemini/write-answer.ts';
import { MessagesAnswerReader } from '../../src/translation/apis/messages/read-answer.ts';
import { MessagesAnswerWriter } from '../../src/translation/apis/messages/write-answer.ts';
import { ResponsesAnswerReader } from '../../src/translation/apis/responses/read-answer.ts';
import { ResponsesAnswerWriter } from '../../src/translation/apis/responses/write-answer.ts';
import { createItemMemories } from '../../src/translation/carry/item-memory.ts';
import type { Api } from '../../src/translation/context.ts';
import { type AnswerEvent, foldAnswer } from '../../src/translation/conversation/answer.ts';
import type { AnswerOptions } from '../../src/translation/conversation/answer-writer.ts';
import { readError } from '../../src/translation/errors.ts';
import type { Json } from '../../src/translation/json.ts';
import { translateAnswers, translateBody } from '../../src/translation/translate.ts';
import { expectFrozen, type Row, variationsOf } from '../support/frozen.ts';
import { STEPS, STREAMED, WHOLE } from './support/rich-answers.ts';
import { geminiForMessages } from './support/translations.ts';

const APIS = Object.keys(WHOLE) as Api[];

function counted() {
  let count = 0;
  return (prefix: string) => `${prefix}_${++count}`;
}
const reader = (api: Api) => {
  const all = {
    'chat/completions': () => new ChatAnswerReader(counted()),
    messages: () => new MessagesAnswerReader(),
    responses: () => new ResponsesAnswerReader(),
    gemini: () => new GeminiAnswerReader(counted()),
  };
  return all[api]();
};

/** The least that an answer of a request with these tools and wishes is written by. */
const REQUEST = {
  stream_options: { include_usage: true },
  tools: [
    { type: 'function', name: 'look-up' },
    { type: 'custom', name: 'write-it' },
  ],
  generationConfig: { thinkingConfig: { includeThoughts: true } },
};
const writer = (api: Api, given: Partial<AnswerOptions> = {}) => {
  const options: AnswerOptions = {
    ...{ model: 'asked-1', wantsUsage: true, now: () => 7_000, request: REQUEST, newId: counted() },
    ...{ pack: ({ kind, values }) => `packed ${kind} ${values.length}`, remember: () => {} },
    ...given,
  };
  const all = {
    'chat/completions': () => new ChatAnswerWriter(options),
    messages: () => new MessagesAnswerWriter(options),
    responses: () => new ResponsesAnswerWriter(options),
    gemini: () => new GeminiAnswerWriter(options),
  };
  return all[api]();
};

/** The data of events in a text, with other lines as they are. */
const shown = (text: string): unknown[] =>
  text.split('\n').flatMap((line) => {
    if (line === '' || line.startsWith('event: ')) return [];
    return [/^data: {/.test(line) ? JSON.parse(line.slice(6)) : line];
  });

/** Events without their numbers and ids, and a response without what its request has said. */
const brief = (events: readonly unknown[]): unknown[] =>
  events.map((event) => {
    if (!isObject(event)) return event;
    const {
      sequence_number: _number,
      item_id: _id,
      response,
      object: _object,
      model: _model,
      ...rest
    } = event;
    if (!isObject(response)) return rest;
    const { status, incomplete_details, error, usage, output } = response;
    const kinds = objectsIn(output).map((item) => `${item.type} ${item.status}`);
    return { ...rest, status, incomplete_details, error, usage, kinds };
  });

const row = (name: string, outcome: () => unknown): Row => ({ name, outcome });
const isWord = (value: string) => /^[a-z_.]+$/i.test(value);
const others = (value: unknown) => {
  if (typeof value === 'boolean') return [!value];
  if (typeof value === 'number') return [0];
  return typeof value === 'string' && isWord(value) ? ['other'] : [];
};
const varied = (name: string, value: unknown, outcome: (value: unknown) => unknown): Row => ({
  name,
  outcome: () => outcome(value),
  variations: Array.from(variationsOf(value, others), (other) => ({
    name: other.name,
    outcome: () => outcome(other.value),
  })),
});

const PLAIN_USAGE = { input: 90, cached: 0, written: 0, output: 50, reasoning: 0 };

/** A step as a line. */
const line = ({ type, ...rest }: AnswerEvent) =>
  `${type} ${Object.values(rest)
    .map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))
    .join(' ')}`;

test('which steps are read of an answer of each API, and of one in which one thing differs', async () => {
  const streamed = (api: Api, events: readonly unknown[], isDone = true) => {
    const reading = reader(api);
    const steps = events.flatMap((event) =>
      reading.event(typeof event === 'string' ? event : JSON.stringify(event)),
    );
    return [...steps, ...(isDone ? reading.end() : [])].map(line);
  };
  await expectFrozen(import.meta.dirname, 'read-answers', [
    ...APIS.map((api) =>
      varied(`${api}, whole`, WHOLE[api], (answer) =>
        reader(api)
          .whole(answer as Json)
          .map(line),
      ),
    ),
    ...APIS.map((api) =>
      varied(`${api}, streamed`, STREAMED[api], (events) => streamed(api, events as object[])),
    ),
    ...APIS.flatMap((api) => [
      row(`${api}, an error`, () =>
        streamed(api, [
          ...STREAMED[api].slice(0, 2),
          { type: 'error', error: { message: 'No' } },
          ...STREAMED[api].slice(-1),
        ]),
      ),
      row(`${api}, broken off`, () => streamed(api, STREAMED[api].slice(0, 2))),
      row(`${api}, no JSON`, () => streamed(api, ['x', '[DONE]'])),
      row(`${api}, nothing`, () => reader(api).whole({}).map(line)),
      row(`${api}, more than its end`, () =>
        streamed(api, [...STREAMED[api], '[DONE]', ...STREAMED[api].slice(-2)]).slice(-3),
      ),
    ]),
    row('responses, failed', () =>
      reader('responses')
        .whole({ status: 'failed', error: { message: 'No' } })
        .map(line),
    ),
    ...['content_filter', 'function_call', 'stop', 'other'].map((finish_reason) =>
      row(`chat ends by ${finish_reason}`, () =>
        reader('chat/completions')
          .whole({ choices: [{ finish_reason }] })
          .map(line),
      ),
    ),
    ...['model_context_window_exceeded', 'refusal', 'pause_turn', 'end_turn', null].map((stop_reason) =>
      row(`a message ends by ${stop_reason}`, () => reader('messages').whole({ stop_reason }).map(line)),
    ),
    ...['SAFETY', 'STOP', 'OTHER', undefined].map((finishReason) =>
      row(`Gemini ends by ${finishReason}`, () =>
        reader('gemini')
          .whole({ candidates: [{ finishReason }] })
          .map(line),
      ),
    ),
  ]);
});

test('how an answer is written in each API, and one in which one step differs', async () => {
  const streamed = (api: Api, steps: readonly AnswerEvent[], given: Partial<AnswerOptions> = {}) =>
    shown(writer(api, given).stream(steps));
  const whole = (api: Api, steps: readonly AnswerEvent[], given: Partial<AnswerOptions> = {}) =>
    writer(api, given).whole(foldAnswer(steps));
  const asked: Record<string, Partial<AnswerOptions>> = {
    'without usage': { wantsUsage: false },
    'for a request without anything': { request: {} },
  };
  const reasons = ['stop', 'calls', 'length', 'filter', 'paused'] as const;
  const errors = [
    'Too many',
    { message: 'prompt is too long: 9000 tokens > 8000 maximum' },
    { message: 'maximum context length is 8,000 tokens, got 9000', code: 'x' },
  ];
  await expectFrozen(import.meta.dirname, 'written-answers', [
    ...APIS.map((api): Row => {
      const changed = (name: string, steps: readonly AnswerEvent[], given = {}) => ({
        name,
        outcome: () => brief(streamed(api, steps, given)),
      });
      return {
        ...changed(`${api}, streamed`, STEPS),
        variations: [
          ...STEPS.map((step, i) => changed(`- ${i} ${step.type}`, STEPS.toSpliced(i, 1))),
          changed('reasoning at the end', STEPS.toSpliced(-1, 0, ...STEPS.slice(2, 5))),
          changed(
            'no cache, no reasoning',
            STEPS.map((step) => (step.type === 'usage' ? { ...step, usage: PLAIN_USAGE } : step)),
          ),
          changed('text behind calls', STEPS.toSpliced(-1, 0, { type: 'text', text: 'More' })),
          ...Object.entries(asked).map(([name, given]) => changed(name, STEPS, given)),
        ],
      };
    }),
    ...APIS.map((api) =>
      row(`${api}, the first and the last event with all fields`, () => {
        const events = streamed(api, STEPS.slice(5));
        return [events[0], events[2], events.at(-1)];
      }),
    ),
    ...APIS.map(
      (api): Row => ({
        name: `${api}, whole`,
        outcome: () => whole(api, STEPS),
        variations: [
          ...STEPS.map((step, i) => ({
            name: `- ${i} ${step.type}`,
            outcome: () => whole(api, STEPS.toSpliced(i, 1)),
          })),
          ...Object.entries(asked).map(([name, given]) => ({
            name,
            outcome: () => whole(api, STEPS, given),
          })),
        ],
      }),
    ),
    ...APIS.flatMap((api) => [
      row(`${api}, by reason`, () =>
        reasons.map((reason) => brief(streamed(api, [{ type: 'end', reason }])).slice(-2)),
      ),
      row(`${api}, a sign`, () => [shown(writer(api).sign())]),
      row(`${api}, errors in a stream`, () =>
        brief(streamed(api, [{ type: 'error', error: { message: 'No', code: 'c' } }])),
      ),
      row(`${api}, errors`, () => [
        ...errors.map((error) => writer(api).error(readError(error), 400)),
        ...[404, 429, 500, 529].map((status) => writer(api).error(readError('No'), status)),
      ]),
    ]),
    row('responses, arguments of no call', () =>
      brief(
        streamed('responses', [
          { type: 'arguments', key: 9, text: '{}' },
          { type: 'end', reason: 'stop' },
        ]),
      ),
    ),
    ...[
      ...[
        'text',
        '{"error":"a"}',
        '{"error":{"message":"m","code":1}}',
        '[{"error":{"detail":"d"}}]',
        '{"message":"m"}',
        '{"a":1}',
        '5',
      ],
    ].map((text) => row(`the error ${text}`, () => readError(text))),
  ]);
});

test("how an answer is passed between APIs, with what gw keeps of it, and in Converse's words", async () => {
  const passed = (to: Api, from: Api, callIds: string[] = ['call_1']) => {
    const memory = createItemMemories()(1);
    const kept: Json[] = [];
    const translator = translateAnswers(
      { from, to },
      {
        ...{ provider: 'mock', model: 'm', wantsUsage: true, now: () => 7_000, request: REQUEST, callIds },
        ...{ names: [['look-up', 'look.up']], dialect: UNKNOWN, newId: counted() },
        memory: { ...memory, remember: (item) => void kept.push(item) },
      },
    );
    const events = STREAMED[to].map((event) => `data: ${JSON.stringify(event)}\n\n`);
    const [first = '', ...rest] = events;
    const all = [
      translator.sign(),
      ...[first, rest.slice(0, 2).join(''), ...rest.slice(2)].map((each) =>
        translator.events(Buffer.from(each)),
      ),
      translator.end(),
    ];
    return [shown(all.join('')).map((event) => JSON.stringify(event).length), kept];
  };
  const converse = (events: readonly object[]) => {
    const writing = new ConverseEvents(() => 3.4);
    return events.flatMap((event) => writing.of(event as Json)).map(({ type, payload }) => [type, payload]);
  };
  const { content } = WHOLE.messages;
  const events = [
    ...STREAMED.messages,
    { type: 'content_block_start', index: 3, content_block: { type: 'redacted_thinking', data: 'DATA' } },
    { type: 'content_block_stop', index: 3 },
    { type: 'content_block_start', index: 4, content_block: { type: 'server_tool_use' } },
    { type: 'content_block_stop', index: 4 },
  ];
  const request = {
    model: 'm',
    max_tokens: 9,
    messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'f' }] }],
  };
  const broughtBack = (provider: string, id: string) => {
    const memory = createItemMemories()(1);
    memory.remember({
      id: `turn mock ${id}`,
      text: 'Kept',
      seals: [
        { kind: 'text', values: [{ text: 'Kept' }] },
        { kind: 'other', values: [] },
      ],
    });
    const options = {
      model: 'm',
      maxTokens: 9,
      outputLimit: 'max_tokens' as const,
      dialect: UNKNOWN,
      isCodex: false,
      provider,
    };
    return JSON.parse(
      translateBody(
        Buffer.from(JSON.stringify(request)),
        { from: 'messages', to: 'chat/completions' },
        options,
        memory,
      ).bytes.toString(),
    ).messages[0];
  };
  await expectFrozen(import.meta.dirname, 'passed-answers', [
    ...APIS.flatMap((to) =>
      APIS.filter((from) => from !== to).map((from) => row(`${to} as ${from}`, () => passed(to, from))),
    ),
    row('no calls before', () => passed('messages', 'responses', [])),
    row('an answer that is no object', () => {
      try {
        return geminiForMessages.answers().answer(Buffer.from('[]'), 200);
      } catch (error) {
        return error instanceof GwError && [error.status, error.message];
      }
    }),
    row('reasoning that was kept', () => [
      broughtBack('mock', 'call_1'),
      broughtBack('other', 'call_1'),
      broughtBack('mock', 'call_2'),
    ]),
    varied(
      'converse, whole',
      { content, stop_reason: 'refusal', usage: (WHOLE.messages as { usage: object }).usage },
      (message) => converseAnswer(message as Json, 3.6),
    ),
    varied('converse, streamed', events, (all) => converse(all as object[])),
  ]);
});
