import { test } from 'vitest';
import { NO_USAGE } from '../../../src/usage.ts';
import { awsError } from '../../../src/wire/answer/aws-error.ts';
import { dataIn, describeError, eventsIn, parseObject, without } from '../../../src/wire/answer/events.ts';
import { googleError } from '../../../src/wire/answer/google-error.ts';
import { errorEvent } from '../../../src/wire/answer/inspected-events.ts';
import { endResponseAtLimit } from '../../../src/wire/answer/responses-ending.ts';
import {
  answerHead,
  isDated,
  isSameModel,
  messageIdIn,
  namesModel,
} from '../../../src/wire/answer/served-model.ts';
import { usageMember, withTier } from '../../../src/wire/answer/usage.ts';
import { expectFrozen, type Row } from '../../support/frozen.ts';

const row = (name: string, outcome: () => unknown): Row => ({ name, outcome });
const data = (...values: unknown[]) => values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join('');

/** What is read of the start and the end of an answer. */
function read(text: string, isStream: boolean) {
  const answer = Buffer.from(text);
  return {
    head: answerHead(answer, isStream),
    isNamed: namesModel(answer, 'm'),
    id: messageIdIn(answer, isStream),
    usage: usageMember(answer),
  };
}

const LONG = 'x'.repeat(5_000);
const USAGE = { input_tokens: 1 };
const PIECE = { choices: [{ delta: { content: 'a' } }] };
const BODIES: Record<string, unknown> = {
  'id and model first': { id: 'a', model: 'm', usage: USAGE, service_tier: 'flex' },
  'the model last': { choices: [{ id: 'call' }], model: 'm', usage: USAGE },
  'the model last, and the id before': { id: 'a', choices: [1], model: 'm' },
  'the model in the middle, after much': { choices: [LONG], model: 'm', id: 'a', usage: USAGE },
  'the model in the middle of much': { choices: [LONG], model: 'm', id: 'a', x: LONG, usage: USAGE, y: LONG },
  'an inner model first': { inner: { model: 'x', id: 'y', usage: {} }, model: 'm', id: 'a', usage: USAGE },
  'an inner model alone': { inner: { model: 'x', usage: { a: 1 } } },
  'a tier before the usage': { service_tier: 'flex', id: 'a', model: 'm', usage: USAGE },
  'a tier before much': { service_tier: 'flex', model: 'm', usage: USAGE, x: LONG },
  'a tier that the usage has': { model: 'm', usage: { ...USAGE, service_tier: 'own' }, service_tier: 'flex' },
  'an inner tier': { inner: { service_tier: 'x' }, usage: USAGE },
  'a model that is no text': { id: 'a', model: 5, usage: null },
  'an id that is no text': { id: 5, model: 'm' },
  'an escaped name': { id: 'a', model: 'a"b' },
  Gemini: { candidates: [], modelVersion: 'g', responseId: 'r' },
  'a message': { type: 'message', message: { model: 'm', id: 'a' } },
  'a response': { response: { id: 'r', model: 'm', usage: USAGE } },
  nothing: {},
  'a list': [{ model: 'm', id: 'a', usage: USAGE }],
};
const TEXTS: Record<string, string> = {
  'spaces after colons': '{"model": "m", "id": "a"}',
  'two spaces': '{"model":  "m"}',
  'a longer name': '{"model":"mm"}',
  'no value': '{"model"',
  'a text of a model': '"model"',
  'broken JSON': '{"id":"a","model":"m",',
  'no JSON': 'Bad gateway "usage" "id" "model"',
  'an indented body': JSON.stringify({ id: 'a', model: 'm', usage: USAGE }, null, 2),
};
const STREAMS: Record<string, string> = {
  'the model in the eighth event': data(...Array(7).fill(PIECE), { model: 'm', id: 'a' }),
  'the model in the ninth event': data(...Array(8).fill(PIECE), { model: 'm', id: 'a' }),
  'another id later': data({ ...PIECE, id: 'a', model: 'm' }, { ...PIECE, id: 'b', model: 'n' }),
  'an event name': `event: message_start\n${data({ type: 'x', message: { id: 'a', model: 'm' } })}`,
  'a number first': data({ sequence_number: 5, response: { object: 'x', id: 'a', model: 'm' } }),
  'the id of a call first': data({ choices: [{ id: 'call' }], id: 'a', model: 'm' }),
  'Gemini, whose id comes last': data({ modelVersion: 'g', x: { id: 'x' }, responseId: 'r' }),
  'no ids': data(PIECE, PIECE),
  'an inner id that is missing': data({ message: {}, id: 'a' }, { response: {} }, { id: 'b' }),
  'returns at line ends': data({ x: [], id: 'a', model: 'm' }).replaceAll('\n', '\r\n'),
};

test('what is read of bodies and streams', async () => {
  await expectFrozen(import.meta.dirname, 'answers', [
    ...Object.entries(BODIES).map(([name, body]) => row(name, () => read(JSON.stringify(body), false))),
    ...Object.entries(TEXTS).map(([name, text]) => row(name, () => read(text, false))),
    ...Object.entries(STREAMS).map(([name, text]) => row(`a stream: ${name}`, () => read(text, true))),
    ...Object.entries(BODIES).map(([name, body]) =>
      row(`a stream of ${name}`, () => read(data(body).replaceAll(LONG, 'x'), true)),
    ),
  ]);
});

const NAMES: [string, string][] = [
  ['gpt-4o', 'gpt-4o-2024-08-06'],
  ['gpt-4o', 'gpt-4o-mini'],
  ['gpt-4', 'gpt-4-0613'],
  ['gpt-4-0613', 'gpt-4'],
  ['claude-3-5-haiku-latest', 'claude-3-5-haiku-20241022'],
  ['models/Gemini-3', 'gemini-3'],
  ['claude-haiku-4-5@20251001', 'claude-haiku-4-5-20251001'],
  ['claude-haiku-4-5', 'eu.anthropic.claude-haiku-4-5-20251001-v1:0'],
  ['m', 'n'],
];

test('names, events and errors', async () => {
  const streams = [
    '',
    'data: a\n\n',
    'data: a\n\ndata: b',
    'data: a\ndata: b\n\n',
    'data:a\n\n',
    ': c\n\ndata: x\r\n\r\n',
  ];
  const events = Buffer.from('data: a\n\ndata: b\n\ndata: c\n\n');
  const statuses = [400, 401, 404, 418, 429, 499, 500, 503, 504, 529, 599];
  await expectFrozen(import.meta.dirname, 'names-and-events', [
    ...NAMES.map(([a, b]) =>
      row(`${a} = ${b}`, () => [isSameModel(a, b), isSameModel(b, a), isDated(a), isDated(b)]),
    ),
    ...streams.map((text) =>
      row(JSON.stringify(text), () => [dataIn(Buffer.from(text)), [...eventsIn(Buffer.from(text))]]),
    ),
    row('without events', () => [
      without(events, []) === events,
      without(events, [{ start: 9, end: 18 }]).toString(),
      without(events, [
        { start: 0, end: 9 },
        { start: 18, end: 27 },
      ]).toString(),
    ]),
    row('objects in texts', () => ['{"a":1}', '[1]', 'null', '{'].map(parseObject)),
    row('messages of errors', () =>
      [{ message: 'a' }, 'b', { message: 5 }, null, 'x'.repeat(501)].map((error) =>
        describeError(error).slice(0, 9),
      ),
    ),
    row('the longest message', () => describeError('x'.repeat(501)).length),
    row('tiers', () => [
      withTier({}, 'a'),
      withTier({ service_tier: 'b' }, 'a'),
      withTier({}, 5),
      withTier(null, 'a'),
    ]),
    ...['messages', 'gemini', 'responses', 'responses.compact', 'chat'].map((endpoint) =>
      row(`an error in ${endpoint}`, () => errorEvent(endpoint, { message: 'no', code: 'c' }).toString()),
    ),
    ...statuses.map((status) =>
      row(`${status}`, () => [awsError('m', status).__type, googleError('m', status)]),
    ),
  ]);
});

const at = { output_index: 1, item_id: 'i', content_index: 0 };
const opened = (item: object, index = 1) => ({
  type: 'response.output_item.added',
  output_index: index,
  item,
});
const MESSAGE = { type: 'message', id: 'i', status: 'in_progress', content: [] };
const EVENTS: { type: string; [field: string]: unknown }[] = [
  { type: 'response.created', sequence_number: 4, response: { id: 'r', status: 'in_progress' } },
  opened({ type: 'reasoning', id: 'rs', summary: [] }, 0),
  {
    type: 'response.reasoning_summary_part.added',
    output_index: 0,
    summary_index: 0,
    part: { type: 'summary_text', text: '' },
  },
  { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, delta: 'why' },
  { type: 'response.reasoning_summary_part.done', output_index: 0, summary_index: 0, part: {} },
  {
    type: 'response.output_item.done',
    output_index: 0,
    item: { type: 'reasoning', id: 'rs', summary: ['why'] },
  },
  opened(MESSAGE),
  { type: 'response.content_part.added', ...at, part: { type: 'output_text', text: '' } },
  { type: 'response.output_text.delta', ...at, delta: 'He', sequence_number: 20 },
  { type: 'response.output_text.delta', ...at, delta: 'llo' },
  { type: 'response.output_text.done', ...at, text: 'Hello' },
  { type: 'response.content_part.done', ...at, part: { type: 'output_text', text: 'Hello' } },
  { type: 'response.content_part.added', ...at, content_index: 1, part: { type: 'refusal', refusal: '' } },
  { type: 'response.refusal.delta', ...at, content_index: 1, delta: 'no' },
  opened({ type: 'function_call', id: 'f', name: 'n', arguments: '' }, 3),
  { type: 'response.function_call_arguments.delta', output_index: 3, delta: '{"a"' },
  opened({ type: 'custom_tool_call', id: 'c', input: 'x' }, 2),
  { type: 'response.custom_tool_call_input.delta', output_index: 2, delta: 'y' },
  { type: 'response.unknown.delta', output_index: 2, delta: 'z' },
  { type: 'response.output_text.delta', output_index: 9, delta: 'nobody' },
];

function ended(events: readonly { type: string }[], usage?: typeof NO_USAGE) {
  const ending = endResponseAtLimit();
  ending.take(Buffer.from(data(...events)));
  return ending
    .end(usage)
    .toString()
    .split('\n')
    .filter((line) => line.startsWith('data'))
    .map((line) => JSON.parse(line.slice(6)));
}

test('how a response ends at its limit, after each of its events, and after one that is wrong', async () => {
  const usage = {
    ...NO_USAGE,
    ...{ inputTokens: 9, cachedInputTokens: 4, cacheWriteTokens: 2, outputTokens: 5, reasoningTokens: 3 },
  };
  await expectFrozen(import.meta.dirname, 'responses-endings', [
    ...[0, 3, 5, 8, 9, 13, 15, 17].map((last) =>
      row(`after ${last}, ${EVENTS[last]?.type}`, () => ended(EVENTS.slice(0, last + 1)).slice(0, -1)),
    ),
    row('at the end, with usage', () => ended(EVENTS, usage).at(-1)),
    row('an event of a wrong type in each place', () =>
      EVENTS.slice(6).flatMap(
        (event) =>
          ended([...EVENTS.slice(0, 8), { ...event, delta: 5, item: 5, part: 5, response: 5 }]).at(-1).output,
      ),
    ),
  ]);
});
