import { describe, expect, test } from 'vitest';
import { admit } from '../../../src/gateway/admission/admit.ts';
import { leastInput } from '../../../src/gateway/admission/input-tokens.ts';
import type { RoutedAttempt } from '../../../src/gateway/attempt/attempt.ts';
import type { Settlement } from '../../../src/gateway/attempt/settle.ts';
import { rememberPrompt } from '../../../src/gateway/learning/remember-prompt.ts';
import { FLAGS } from '../../../src/store/ledger/record.ts';
import { NO_USAGE } from '../../../src/usage.ts';
import { responsesWire } from '../../../src/wire/apis/responses.ts';
import type { Wire } from '../../../src/wire/wire.ts';
import { openGatewayParts } from '../../support/gateway-parts.ts';

const MODEL = 'mock/test-model';
const TEXT = 'A long text. '.repeat(300);
const CHAT = { model: MODEL, messages: [{ role: 'user', content: TEXT }] };
const TOKENS = 900;

const settled: Settlement = {
  usage: { ...NO_USAGE, inputTokens: TOKENS, outputTokens: 50 },
  flags: 0,
  outcome: 'ok',
} as Settlement;

/** A whole answer of the test model, as far as the stage reads it. */
const answer = (fields: object = {}) => ({
  usageIs: undefined,
  isStream: false,
  unsent: Buffer.from(JSON.stringify({ model: 'test-model' })),
  firstEvents: Buffer.alloc(0),
  lastEvents: undefined,
  ...fields,
});

interface Played {
  body?: object;
  settlement?: Partial<Settlement>;
  relay?: object;
}

async function start(wire?: Wire) {
  const parts = await openGatewayParts({ budget: { period: 'daily', capUsd: 1 } });
  const { gateway } = parts;
  const contextOf = (body: object) => parts.contextOf(body, wire);
  const target = await parts.targetOf(MODEL);
  return {
    ...parts,
    contextOf,
    target,
    /** Sends a request and gets an answer to it. */
    async play({ body = CHAT, settlement = {}, relay = {} }: Played = {}) {
      const context = contextOf(body);
      const admitted = await admit(gateway, context, target, gateway.calendar());
      const attempt = { context, target, admitted } as unknown as RoutedAttempt;
      rememberPrompt(gateway, attempt, { relay: answer(relay) as never }, { ...settled, ...settlement });
      await new Promise(setImmediate);
    },
    boundOf: (body: object) => leastInput(gateway, contextOf(body), target),
  };
}

describe('a counted prompt', () => {
  test('bounds the same prompt by its count, and a longer one by that and what is new', async () => {
    const { play, boundOf } = await start();
    expect(boundOf(CHAT).by).toBe('bytes');
    await play();
    expect(boundOf({ ...CHAT, temperature: 1 })).toEqual({ tokens: TOKENS, by: 'edit' });
    const more = [
      ...CHAT.messages,
      { role: 'assistant', content: 'Yes' },
      { role: 'user', content: 'Go on' },
    ];
    const { tokens, by } = boundOf({ ...CHAT, messages: more });
    expect(by).toBe('edit');
    expect(tokens).toBeGreaterThan(TOKENS + 64);
    expect(tokens).toBeLessThan(TOKENS + 500);
  });

  test.each<[string, Played]>([
    ['whose answer was estimated', { settlement: { flags: FLAGS.estimated } }],
    ['whose client hung up', { settlement: { outcome: 'client_gone' } }],
    ['whose usage is an early one', { relay: { usageIs: 'opening' } }],
    ['that another model answered', { relay: { unsent: Buffer.from('{"model":"test-model-mini"}') } }],
    ['that a later version answered', { relay: { unsent: Buffer.from('{"model":"test-model.1"}') } }],
    ['whose answer names no model', { relay: { unsent: Buffer.from('{}') } }],
    ['of which the count can only be a part', { settlement: { usage: { ...NO_USAGE, inputTokens: 200 } } }],
    [
      'that ends with the beginning of an answer',
      { body: { ...CHAT, messages: [...CHAT.messages, { role: 'assistant', content: 'Well' }] } },
    ],
  ])('is not remembered: one %s', async (_what, played) => {
    const { play, boundOf } = await start();
    await play(played);
    expect(boundOf(played.body ?? CHAT).by).toBe('bytes');
  });

  test.each(['test-model', 'test-model-2026-11-01', 'maker/test-model@20261101'])(
    'is remembered if %s answered',
    async (model) => {
      const { play, boundOf } = await start();
      await play({ relay: { unsent: Buffer.from(JSON.stringify({ model })) } });
      expect(boundOf(CHAT).by).toBe('edit');
    },
  );

  test('is remembered from a stream by its first events', async () => {
    const { play, boundOf } = await start();
    const firstEvents = Buffer.from(
      'data: {"id":"a","model":"test-model","choices":[]}\n\ndata: {"choices":[{"del',
    );
    await play({ relay: { isStream: true, unsent: undefined, firstEvents } });
    expect(boundOf(CHAT).by).toBe('edit');
  });

  test('is forgotten after an hour if the name has no date, and at once when another model answers', async () => {
    const { play, boundOf, clock } = await start();
    await play();
    await clock.advance(3_599_000);
    expect(boundOf(CHAT).by).toBe('edit');
    await clock.advance(1_000);
    expect(boundOf(CHAT).by).toBe('bytes');
    await play();
    await play({ body: { ...CHAT, user: 'b' }, relay: { unsent: Buffer.from('{"model":"other"}') } });
    expect(boundOf(CHAT).by).toBe('bytes');
  });

  test('does not bound a request with another field, header, query or credential', async () => {
    const { play, boundOf, contextOf, gateway, target } = await start();
    await play();
    expect(boundOf({ ...CHAT, top_a: 1 }).by).toBe('bytes');
    const beta = contextOf(CHAT);
    beta.exchange.request.headers['openai-beta'] = 'a';
    expect(leastInput(gateway, beta, target).by).toBe('bytes');
    const queried = contextOf(CHAT);
    queried.exchange.request.url = '/v1/chat/completions?a=1';
    expect(leastInput(gateway, queried, target).by).toBe('bytes');
    const provider = { ...target.provider, authHeaders: ['authorization', 'Bearer other'] };
    expect(leastInput(gateway, contextOf(CHAT), { provider, model: target.model }).by).toBe('bytes');
  });

  test('is of no use where its bound was too low before', async () => {
    const { play, boundOf, gateway, target } = await start();
    await play();
    gateway.boundTrust.distrust(target, 'edit', gateway.nextId());
    expect(boundOf(CHAT).by).toBe('bytes');
  });

  test('is no base below a shorter one: some providers leave out what they read from a cache', async () => {
    const { play, boundOf } = await start();
    await play();
    const more = [
      ...CHAT.messages,
      { role: 'assistant', content: 'Yes' },
      { role: 'user', content: 'Go on' },
    ];
    const body = { ...CHAT, messages: more };
    await play({ body, settlement: { usage: { ...NO_USAGE, inputTokens: TOKENS - 1 } } });
    expect(boundOf(body).tokens).toBeGreaterThan(TOKENS);
  });
});

test('sealed reasoning that comes back counts at what it was billed', async () => {
  const { play, boundOf } = await start(responsesWire);
  const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed'.repeat(500) };
  const first = [{ type: 'message', role: 'user', content: TEXT }];
  const usage = { ...NO_USAGE, inputTokens: TOKENS, outputTokens: 50, reasoningTokens: 40 };
  const done = `event: response.output_item.done\ndata: ${JSON.stringify({ type: 'response.output_item.done', item })}\n\n`;
  const firstEvents = Buffer.from(
    'event: response.created\ndata: {"type":"response.created","response":{"model":"test-model"}}\n\n',
  );
  const lastEvents = Buffer.from(done);
  await play({
    body: { model: MODEL, input: first },
    settlement: { usage },
    relay: { isStream: true, unsent: undefined, firstEvents, lastEvents },
  });
  const input = [...first, item, { type: 'message', role: 'user', content: 'Go on' }];
  const { tokens } = boundOf({ model: MODEL, input });
  expect(tokens).toBeLessThan(TOKENS + 40 + 600);
  const other = { ...item, encrypted_content: 'unseen'.repeat(500) };
  expect(boundOf({ model: MODEL, input: [first[0], other, input.at(-1)] }).tokens).toBeGreaterThan(
    TOKENS + 3_000,
  );
});

test('a request that waits is quoted again when its prompt has been counted', async () => {
  const parts = await start();
  const { gateway, target, contextOf, clock } = parts;
  // $1 a million tokens: the bytes of both don't fit into $1 at once.
  const body = { ...CHAT, max_tokens: 1, messages: [{ role: 'user', content: 'word '.repeat(120_000) }] };
  await admit(gateway, contextOf(body), target, gateway.calendar());
  let isAdmitted = false;
  const waiting = admit(gateway, contextOf({ ...body, temperature: 0 }), target, gateway.calendar());
  void waiting.then(() => {
    isAdmitted = true;
  });
  await clock.advance(1_000);
  expect(isAdmitted).toBe(false);
  const attempt = { context: contextOf(body), target, admitted: {} } as unknown as RoutedAttempt;
  leastInput(gateway, attempt.context, target);
  const usage = { ...NO_USAGE, inputTokens: 120_010, outputTokens: 1 };
  rememberPrompt(gateway, attempt, { relay: answer() as never }, { ...settled, usage });
  await new Promise(setImmediate);
  await clock.advance(1_000);
  expect(await waiting).toMatchObject({ quote: { inputTokens: 120_010, inputBound: 'edit' } });
});
