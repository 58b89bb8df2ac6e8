import { test } from 'vitest';
import { admit } from '../../../src/gateway/admission/admit.ts';
import type { Admitted } from '../../../src/gateway/admission/admitted.ts';
import type { MediaCost } from '../../../src/gateway/admission/quote.ts';
import { meterCall } from '../../../src/gateway/metering/meter.ts';
import { clampCost, type Metering } from '../../../src/gateway/metering/metered.ts';
import { NANO_PER_USD } from '../../../src/money.ts';
import { chatWire } from '../../../src/wire/apis/chat.ts';
import { embeddingsWire } from '../../../src/wire/apis/embeddings.ts';
import { messagesWire } from '../../../src/wire/apis/messages.ts';
import { responsesWire } from '../../../src/wire/apis/responses.ts';
import type { Wire } from '../../../src/wire/wire.ts';
import { expectFrozen, type Row, variationsOf } from '../../support/frozen.ts';
import { openGatewayParts } from '../../support/gateway-parts.ts';

/** What metering reads of an answer, and how its call ended. */
interface Answer {
  status: number;
  usage: unknown;
  usageIs?: 'opening' | 'so far';
  toolResults: { count: number; bytes: number };
  isReadable: boolean;
  isStream: boolean;
  firstByteAt: number;
  lastByteAt: number;
  texts: string[];
  unended: string;
  start: object;
  whole: boolean;
  mayGoOn: boolean;
  stopsOnHangUp: boolean;
  afterMs: number;
  sent?: boolean;
}

const ANSWER: Answer = {
  status: 200,
  usage: { prompt_tokens: 9, completion_tokens: 5 },
  toolResults: { count: 0, bytes: 0 },
  isReadable: true,
  isStream: false,
  firstByteAt: 500,
  lastByteAt: 1_000,
  texts: ['Hello there'],
  unended: '',
  start: {},
  whole: true,
  mayGoOn: false,
  stopsOnHangUp: true,
  afterMs: 2_000,
};
const BROKEN: Answer = {
  ...ANSWER,
  usage: undefined,
  isStream: true,
  unended: 'data: x',
  whole: false,
  mayGoOn: true,
};

const HI = [{ role: 'user', content: 'Hi there' }];
const CHAT = { model: 'mock/test-model', messages: HI, max_tokens: 5_000, stream: true };
const TOOLS = [
  { type: 'web_search' },
  { type: 'code_interpreter', container: { type: 'auto' } },
  { type: 'image_generation', model: 'gpt-image-1-mini' },
  { type: 'file_search', vector_store_ids: ['v'] },
];
const RESPONSE = {
  model: 'openai/gpt-5.4',
  input: 'Hi',
  max_output_tokens: 3_000,
  max_tool_calls: 4,
  tools: TOOLS,
};
const RESPONSE_USAGE = {
  input_tokens: 9_000,
  output_tokens: 500,
  server_tool_calls: { web_search: 3, file_search: 2, image_generation: 1 },
  tool_usage: { image_gen: { input_tokens: 10, output_tokens: 4_000 } },
  containers: ['c1'],
};
const CLAUDE_TOOLS = {
  model: 'anthropic/claude-opus-4-6',
  messages: HI,
  max_tokens: 1_000,
  tools: [
    { type: 'web_search_20250305', name: 'web_search', max_uses: 3 },
    { type: 'code_execution_20250825', name: 'code_execution' },
  ],
};
const CLAUDE_USAGE = {
  ...{ input_tokens: 50, output_tokens: 40, cache_read_input_tokens: 5, cache_creation_input_tokens: 7 },
  ...{ server_tool_use: { web_search_requests: 2 }, containers: ['c1'], speed: 'standard' },
};
/** Answers that name another model than the request. */
const served = (model: string, usage: object = { prompt_tokens: 100, completion_tokens: 50 }): Answer => ({
  ...ANSWER,
  usage,
  start: { id: 'a', model },
});

interface Case {
  body: object;
  wire?: Wire;
  answer: Answer;
  media?: MediaCost | undefined;
  /** Without any, no field of the answer is varied. */
  others?: (value: unknown) => readonly unknown[];
}

const otherValues = (value: unknown) => {
  if (typeof value === 'boolean') return [!value];
  return typeof value === 'number' ? [0, 3 * value, 100_000_000 * value] : [];
};

const CASES: Record<string, Case> = {
  'a reported usage': { body: CHAT, answer: ANSWER, others: otherValues },
  'nothing reported': { body: CHAT, answer: { ...ANSWER, usage: undefined }, others: otherValues },
  'nothing reported by a model with a tokenizer': {
    body: { ...CHAT, model: 'openai/gpt-4o', max_tokens: 20 },
    answer: { ...ANSWER, usage: undefined, texts: ['Hello there '.repeat(9)] },
    others: otherValues,
  },
  'much more than the limit, and nothing reported': {
    body: { ...CHAT, max_tokens: 4 },
    answer: { ...ANSWER, usage: undefined, texts: ['Hello there, '.repeat(30)] },
  },
  'about twice the limit, and nothing reported': {
    body: { ...CHAT, max_tokens: 20 },
    answer: { ...ANSWER, usage: undefined, texts: ['Hello there, '.repeat(10)] },
  },
  'broken off': { body: CHAT, answer: BROKEN, others: otherValues },
  'broken off, with choices': { body: { ...CHAT, n: 3 }, answer: BROKEN, others: otherValues },
  'broken off, and no stream': { body: { ...CHAT, stream: false }, answer: BROKEN },
  'broken off behind an early report': {
    body: { ...CLAUDE_TOOLS, stream: true },
    wire: messagesWire,
    answer: {
      ...BROKEN,
      usage: { input_tokens: 50, output_tokens: 2, cache_creation_input_tokens: 9 },
      usageIs: 'opening',
      toolResults: { count: 2, bytes: 300 },
    },
    others: otherValues,
  },
  'broken off behind a growing report': {
    body: CHAT,
    answer: { ...BROKEN, usage: { prompt_tokens: 7, completion_tokens: 3 }, usageIs: 'so far' },
  },
  'a growing report of a whole answer': {
    body: CHAT,
    answer: { ...ANSWER, usage: { prompt_tokens: 7, completion_tokens: 3 }, usageIs: 'so far' },
  },
  'text, and no output in the report': {
    body: CHAT,
    answer: { ...ANSWER, usage: { prompt_tokens: 9, completion_tokens: 0 } },
  },
  'no text, and no output in the report': {
    body: CHAT,
    answer: { ...ANSWER, texts: [''], usage: { prompt_tokens: 9, completion_tokens: 0 } },
  },
  'figures that contradict each other': {
    body: CHAT,
    answer: { ...ANSWER, usage: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 99 } },
  },
  'no price': { body: { ...CHAT, model: 'mock/other' }, answer: ANSWER, others: otherValues },
  embeddings: {
    body: { model: 'openai/text-embedding-3-small', input: 'Hi' },
    wire: embeddingsWire as unknown as Wire,
    answer: { ...ANSWER, texts: [], usage: { prompt_tokens: 5, total_tokens: 5 } },
    others: otherValues,
  },
  "a response's tools": {
    body: RESPONSE,
    wire: responsesWire,
    answer: { ...ANSWER, usage: RESPONSE_USAGE },
    others: otherValues,
  },
  "a response's tools, none of them told": {
    body: RESPONSE,
    wire: responsesWire,
    answer: { ...ANSWER, usage: { input_tokens: 9, output_tokens: 5 } },
  },
  "a response's tools, nothing reported": {
    body: { ...RESPONSE, stream: true },
    wire: responsesWire,
    answer: { ...BROKEN, texts: ['Hello'] },
  },
  'a search of the old kind': {
    body: { ...RESPONSE, tools: [{ type: 'web_search_preview' }] },
    wire: responsesWire,
    answer: { ...ANSWER, usage: RESPONSE_USAGE },
  },
  'tools of a stored prompt': {
    body: { ...RESPONSE, prompt: { id: 'p' } },
    wire: responsesWire,
    answer: { ...ANSWER, usage: RESPONSE_USAGE },
  },
  'a container of its own': {
    body: { ...RESPONSE, tools: [{ type: 'code_interpreter', container: 'c1' }] },
    wire: responsesWire,
    answer: { ...ANSWER, usage: RESPONSE_USAGE },
  },
  "a message's tools": {
    body: CLAUDE_TOOLS,
    wire: messagesWire,
    answer: { ...ANSWER, usage: CLAUDE_USAGE },
    others: otherValues,
  },
  'another tier than requested': {
    body: { ...CHAT, model: 'openai/gpt-4o', service_tier: 'priority' },
    answer: { ...ANSWER, usage: { prompt_tokens: 9_000, completion_tokens: 50, service_tier: 'default' } },
  },
  'a tier without a known price': {
    body: { ...CHAT, model: 'openai/gpt-5.4-nano', service_tier: 'auto' },
    answer: { ...ANSWER, usage: { prompt_tokens: 9_000, completion_tokens: 50, service_tier: 'priority' } },
  },
  "OpenRouter's own cost": {
    body: { ...CHAT, model: 'openrouter/openai/gpt-4o' },
    answer: served('openai/gpt-4o-mini', { prompt_tokens: 100, completion_tokens: 50, cost: 0.012 }),
    others: (value) => (typeof value === 'number' ? [1e9 * value] : []),
  },
  'a dearer model': { body: { ...CHAT, model: 'openai/gpt-4o-mini' }, answer: served('gpt-4o') },
  'a cheaper model': { body: { ...CHAT, model: 'openai/gpt-4o' }, answer: served('gpt-4o-mini-2024-07-18') },
  'the same model of a date': {
    body: { ...CHAT, model: 'openai/gpt-4o' },
    answer: served('gpt-4o-2024-08-06'),
  },
  'an unknown model': { body: { ...CHAT, model: 'openai/gpt-4o' }, answer: served('gpt-99') },
  'a cheaper model of a relay': { body: CHAT, answer: served('gpt-4o-mini') },
  'a dearer model of a relay': { body: CHAT, answer: served('claude-opus-4-6') },
  'a relay that knows no price': {
    body: { ...CHAT, model: 'mock/other' },
    answer: served('claude-opus-4-6'),
  },
  'a dearer model in a stream': {
    body: { ...CHAT, model: 'openai/gpt-4o-mini' },
    answer: { ...served('gpt-4o'), isStream: true },
  },
  'a dearer model in a tier': {
    body: { ...CHAT, model: 'openai/gpt-4o-mini', service_tier: 'priority' },
    answer: served('gpt-4o', { prompt_tokens: 100, completion_tokens: 50, service_tier: 'priority' }),
  },
  'a cheaper model of a router': {
    body: { ...CHAT, model: 'azure/model-router' },
    answer: served('gpt-4o-mini'),
  },
  'a router without input': {
    body: { ...CHAT, model: 'azure/model-router' },
    answer: served('gpt-4o-mini', { prompt_tokens: 0, completion_tokens: 0 }),
  },
  'a deployment of another name': { body: { ...CHAT, model: 'azure/mine' }, answer: served('gpt-4o') },
  'a deployment that answers as another model': {
    body: { ...CHAT, model: 'azure/mine' },
    answer: served('gpt-4.1'),
  },
  "an advisor's model": {
    body: { ...CLAUDE_TOOLS, model: 'anthropic/claude-haiku-4-5', tools: [] },
    wire: messagesWire,
    answer: served('claude-haiku-4-5', {
      ...{ input_tokens: 100, output_tokens: 10 },
      iterations: [
        { type: 'advisor_message', model: 'claude-opus-4-6', input_tokens: 30, output_tokens: 3 },
        { type: 'message', input_tokens: 100, output_tokens: 10 },
      ],
    }),
  },
};

const UNPRICED = ['mock/other', 'azure/model-router'];

/** With the providers whose prices are known. A model without a price needs a project without a budget. */
const opened = (options: Parameters<typeof openGatewayParts>[0]) =>
  openGatewayParts({
    settings: {
      providers: {
        ...{ openai: {}, anthropic: {}, openrouter: {}, mock: { baseUrl: 'http://127.0.0.1:1/v1' } },
        azure: { baseUrl: 'https://x.openai.azure.com/openai/v1', deployments: { mine: 'gpt-4o' } },
      },
    },
    credentials: { mock: 'k', openai: 'k', anthropic: 'k', openrouter: 'k', azure: 'k' },
    ...options,
  });

test('what is booked of answers, and of those that differ in one thing', async () => {
  const [parts, unbounded] = [await opened({ budget: { period: 'daily', capUsd: 1_000 } }), await opened({})];
  const { gateway, clock } = parts;
  const warnings: string[] = [];
  const containers = { minutesOf: (id: string) => (id === '' ? 20 : 3) };
  const metered = async (admitted: Admitted, rest: Pick<Metering, 'context' | 'target'>, answer: Answer) => {
    const { whole, mayGoOn, stopsOnHangUp, afterMs, texts, start, ...relay } = answer;
    const provider = { ...rest.target.provider, stopsOnHangUp };
    const metering = {
      ...rest,
      ...{ admitted, whole, mayGoOn, sentAt: clock.monotonic() - (afterMs ?? 0) },
      target: { ...rest.target, provider },
      relay: {
        ...relay,
        lastByteAt: relay.lastByteAt && clock.monotonic() - 2_000 + relay.lastByteAt,
        receivedText: () => texts ?? [],
        firstEvents: Buffer.from(`data: ${JSON.stringify(start ?? {})}\n\n`),
        unsent: Buffer.from(JSON.stringify(start ?? {})),
      },
    } as unknown as Metering;
    warnings.length = 0;
    const own = { ...gateway, containers, warn: (message: string) => void warnings.push(message) };
    const end =
      answer.sent === false ? { kind: 'aborted' as const, sent: false } : { kind: 'complete' as const };
    const result = await meterCall(own as unknown as typeof gateway, metering, end);
    const usage = Object.entries(result.usage).filter(([, count]) => count !== 0);
    return {
      ...result,
      usage: Object.fromEntries(usage),
      warnings: warnings.map((each) => each.slice(0, 30)),
    };
  };
  const rows: Row[] = [];
  const second = { picoUsd: 7_000_000_000n, least: 4 };
  const media = (report: object, cost: object): Case => ({
    body: CHAT,
    wire: { ...chatWire, ...report } as Wire,
    answer: { ...ANSWER, usage: { seconds: 9.5 } },
    media: { amount: 5_000, isPrice: true, ...cost } as MediaCost,
    others: (value) => (typeof value === 'number' ? [0, 500, 1e12, -1, 'x'] : []),
  });
  const all: Record<string, Case> = {
    ...CASES,
    'never sent': { body: CHAT, answer: { ...ANSWER, sent: false } },
    'a film, by the second': media({}, { second }),
    'a picture': media({}, {}),
    'a picture whose price is a bound': media({ unreported: 'free' }, { isPrice: false }),
    'an unmetered endpoint': { ...media({ unreported: 'unmetered' }, {}), media: undefined },
    'a free endpoint': { ...media({ unreported: 'free' }, {}), media: undefined },
  };
  for (const [name, { body, wire = chatWire, answer, media, others }] of Object.entries(all)) {
    const { model } = body as typeof CHAT;
    const by = UNPRICED.includes(model) ? unbounded : parts;
    const context = by.contextOf(body, wire);
    const target = await by.targetOf(model);
    const admitted = await admit(by.gateway, context, target, gateway.calendar());
    admitted.quote = { ...admitted.quote, media };
    const outcome = (value: Answer) => () => metered(admitted, { context, target }, value);
    const varied = others ? Array.from(variationsOf(answer, others)) : [];
    const variations = varied.map((other) => ({ name: other.name, outcome: outcome(other.value as Answer) }));
    rows.push({ name, outcome: outcome(answer), variations });
  }
  rows.push({
    name: 'the most that an answer costs',
    outcome: () => clampCost((10_001 * NANO_PER_USD) as never),
  });
  await expectFrozen(import.meta.dirname, 'metering', rows);
});
