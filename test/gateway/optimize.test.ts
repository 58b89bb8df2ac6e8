import { describe, expect, it } from 'vitest';
import type { Compressor } from '../../src/compression/compressor.ts';
import { createCompressor } from '../../src/compression/compressor.ts';
import type { RequestView } from '../../src/operations/schemas/requests.ts';
import { readTrials } from '../../src/store/optimizer/trials.ts';
import { requestResponse } from '../../src/store/requests/request-log.ts';
import { factsOf } from '../../src/terminal/request-facts.ts';
import { createTimeFormat } from '../../src/terminal/time.ts';
import { completion } from '../support/chat-scripts.ts';
import { usageOf } from '../support/chat-shapes.ts';
import { MODEL, startGateway } from '../support/gateway.ts';
import { scriptedWorkers } from '../support/scripted-worker.ts';
import { json, status } from '../support/scripts.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { CLAUDE, startBothWires } from '../wire/support/anthropic-gateway.ts';
import { messageBody, text } from '../wire/support/messages-shapes.ts';
import { messageItem, responseBody } from '../wire/support/responses-shapes.ts';
import { send } from '../wire/support/send.ts';

const ROWS = JSON.stringify(
  Array.from({ length: 200 }, (_, id) => ({ id, name: `item ${id}`, state: 'active', owner: 'team-a' })),
);
const CALL = { id: 'call_1', type: 'function' as const, function: { name: 'list', arguments: '{}' } };
const LONG = {
  model: MODEL,
  messages: [
    { role: 'user' as const, content: 'List the items.' },
    { role: 'assistant' as const, content: null, tool_calls: [CALL] },
    { role: 'tool' as const, tool_call_id: 'call_1', content: ROWS },
    { role: 'user' as const, content: 'How many are there?' },
  ],
};
const SIZE = JSON.stringify(LONG).length;

type Sent = { messages: { role: string; content: string | null }[] };

describe('the optimizer on the path of a request', () => {
  it('shortens what tools returned, leaves the rest, and says what was saved', async () => {
    const gateway = await startGateway();
    const answer = await gateway.post(LONG);
    const sent = gateway.upstream.requests.at(-1)?.body ?? Buffer.alloc(0);
    expect(sent.length).toBeLessThan(SIZE * 0.7);
    const { messages } = JSON.parse(sent.toString()) as Sent;
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
    expect(messages[0]).toEqual(LONG.messages[0]);
    expect(messages[1]).toEqual(LONG.messages[1]);
    expect(messages[3]).toEqual(LONG.messages[3]);
    const [record] = await gateway.settled(1);
    expect(record?.savedTokens).toBeGreaterThan(500);
    // With the provider's name before the model's, as the client wrote it.
    expect(record?.requestBytes).toBe(sent.length + 'mock/'.length);
    expect(record?.savedNanoUsd).toBeGreaterThan(0);
    expect(record?.detail.optimizer).toEqual({ changed: { json: 1 }, left: { short_prompt: 1, no_gain: 1 } });
    if (!record) throw new Error('nothing is on record');
    const shown = requestResponse(record) as unknown as RequestView;
    expect(factsOf(shown, createTimeFormat('UTC'))).toContainEqual([
      'optimizer',
      'json changed 1 message; 1 left: nothing to gain; 1 left: short prompts are meant literally',
    ]);
    expect(answer.header('x-service-saved-tokens')).toBe(String(record?.savedTokens));
  });

  it('goes by the level of the request, and of the project', async () => {
    const gateway = await startGateway({ settings: { 'optimizer.level': 'off' } });
    const sizeOf = async (service: object) => {
      await gateway.post({ ...LONG, service });
      return gateway.upstream.requests.at(-1)?.body.length ?? 0;
    };
    const whole = await sizeOf({});
    const safe = await sizeOf({ optimize: true });
    expect(safe).toBeLessThan(whole * 0.7);
    expect(await sizeOf({ optimize: 'safe' })).toBe(safe);
    expect(await sizeOf({ optimize: 'off' })).toBe(whole);
    gateway.configure({ 'optimizer.level': 'off', 'optimizer.projects': { default: 'safe' } });
    expect(await sizeOf({})).toBe(safe);
    expect(await sizeOf({ optimize: false })).toBe(whole);
  });

  it.each([
    ['by the request', { service: { optimize: false } }, undefined],
    ['by the project', {}, { 'optimizer.projects': { default: 'off' as const } }],
    ['for all', {}, { 'optimizer.level': 'off' as const }],
  ])('can be switched off %s', async (_, extra, settings) => {
    const gateway = await startGateway(settings ? { settings } : {});
    await gateway.post({ ...LONG, ...extra });
    const sent = JSON.parse(gateway.upstream.requests.at(-1)?.body.toString() ?? '') as Sent;
    expect(sent.messages).toEqual(LONG.messages);
    expect((await gateway.settled(1))[0]?.savedTokens).toBe(0);
  });
});

/** A conversation for each API, turn by turn: its items, their field, and an answer. */
const CACHED = { cache_control: { type: 'ephemeral' } };
const toolTurn = (i: number, content: unknown, last: boolean) => [
  { role: 'assistant', content: [{ type: 'tool_use', id: `t${i}`, name: 'list', input: { page: i } }] },
  {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: `t${i}`, content, ...(last ? CACHED : {}) }],
  },
];
const page = (i: number) => ROWS.replaceAll('item', `page ${i} item`);
const WIRES = [
  {
    path: '/v1/chat/completions',
    field: 'messages',
    body: { model: MODEL },
    answer: undefined,
    items: (turns: number): object[] => [
      { role: 'user', content: 'List the items.' },
      ...Array.from({ length: turns }, (_, i) => [
        { role: 'assistant', content: null, tool_calls: [{ ...CALL, id: `t${i}` }] },
        { role: 'tool', tool_call_id: `t${i}`, content: i % 2 ? page(i) : [{ type: 'text', text: page(i) }] },
      ]).flat(),
    ],
  },
  {
    path: '/v1/messages',
    field: 'messages',
    body: { model: CLAUDE, max_tokens: 100 },
    answer: messageBody([text('Hello')]),
    // The last result has the cache breakpoint, as agents set it; it moves with each turn.
    items: (turns: number): object[] => [
      { role: 'user', content: [{ type: 'text', text: 'List the items.' }] },
      ...Array.from({ length: turns }, (_, i) =>
        toolTurn(i, i % 2 ? page(i) : [{ type: 'text', text: page(i) }], i === turns - 1),
      ).flat(),
    ],
  },
  {
    path: '/v1/responses',
    field: 'input',
    body: { model: MODEL },
    answer: responseBody([messageItem('Hello')]),
    items: (turns: number): object[] => [
      { role: 'user', content: [{ type: 'input_text', text: 'List the items.' }] },
      ...Array.from({ length: turns }, (_, i) => [
        { type: 'function_call', call_id: `t${i}`, name: 'list', arguments: '{}' },
        {
          type: 'function_call_output',
          call_id: `t${i}`,
          output: i % 2 ? page(i) : [{ type: 'input_text', text: page(i) }],
        },
      ]).flat(),
    ],
  },
];

describe.each(WIRES)('a conversation over $path', ({ path, field, body, answer, items }) => {
  /** The item without its cache breakpoint. */
  const settled = (sent: unknown[]) =>
    JSON.stringify(sent).replaceAll(`,${JSON.stringify(CACHED).slice(1, -1)}`, '');

  it('is shortened the same on every turn, so that the provider finds what it has cached', async () => {
    const gateway = await startBothWires();
    if (answer) gateway.upstream.script(json(200, answer));
    let before: unknown[] = [];
    for (const turns of [1, 2, 3, 4]) {
      const request = { ...body, [field]: items(turns) };
      expect((await send(gateway, path, request)).status).toBe(200);
      const sent = gateway.upstream.requests.at(-1)?.body ?? Buffer.alloc(0);
      expect(sent.length).toBeLessThan(JSON.stringify(request).length * 0.6);
      const out = JSON.parse(sent.toString())[field] as unknown[];
      expect(out).toHaveLength(items(turns).length);
      expect(settled(out.slice(0, before.length))).toBe(settled(before));
      before = out;
    }
    const records = await gateway.settled(4);
    const saved = records.map(({ savedTokens }) => savedTokens);
    expect(saved).toEqual([...saved].sort((a, b) => a - b));
    expect(saved[0]).toBeGreaterThan(500);
  });

  it('keeps its marks, ids and calls, and the bytes around what was shortened', async () => {
    const gateway = await startBothWires();
    if (answer) gateway.upstream.script(json(200, answer));
    // Whitespace that no serializer writes.
    const list = JSON.stringify(items(2)).replaceAll('{"role"', '{ "future": 1.0 ,"role"');
    await send(gateway, path, `{"model":${JSON.stringify(body.model)},"max_tokens":1e2,"${field}":${list}}`);
    const sent = gateway.upstream.requests.at(-1)?.body.toString() ?? '';
    const frame = (json: string) =>
      json.replace(/"(?:[^"\\]|\\.)*"/g, (string) => (string.length > 300 ? '""' : string));
    expect(frame(sent.slice(sent.indexOf(`"${field}"`)))).toBe(frame(`"${field}":${list}}`));
  });
});

describe('what it saves', () => {
  const answerWith = (prompt: number, cached: number) => completion({ usage: usageOf(prompt, 10, cached) });

  it('is told in money, at the cached price where the provider read it from its cache', async () => {
    const gateway = await startGateway();
    const rates = { inputPicoUsd: 1_000_000, cachedInputPicoUsd: 100_000, outputPicoUsd: 2_000_000 };
    await gateway.setPrice({ model: 'test-model', ...rates });
    gateway.upstream.queue(answerWith(4_000, 0), answerWith(4_000, 3_900));
    await gateway.post(LONG);
    await gateway.post(LONG);
    const [fresh, cached] = await gateway.settled(2);
    expect(fresh?.savedNanoUsd).toBe((fresh?.savedTokens ?? 0) * 1_000);
    expect(cached?.savedTokens).toBe(fresh?.savedTokens);
    expect(cached?.savedNanoUsd).toBe((cached?.savedTokens ?? 0) * 100);
    const usage = (await gateway.get('/v1/usage')).json() as { total: Record<string, number> };
    expect(usage.total.saved_tokens).toBe(2 * (fresh?.savedTokens ?? 0));
    expect(usage.total.saved_usd).toBeCloseTo(((fresh?.savedTokens ?? 0) * 1_100) / 1e9, 9);
  });

  it('is nothing where nothing was billed', async () => {
    const gateway = await startGateway();
    gateway.upstream.queue(status(500));
    await gateway.post(LONG);
    expect((await gateway.settled(1))[0]).toMatchObject({ savedTokens: 0, savedNanoUsd: 0 });
  });
});

describe('the holdout', () => {
  const conversation = (name: string, turns: number) => ({
    model: MODEL,
    messages: [
      { role: 'system', content: `You help ${name}.` },
      ...LONG.messages,
      ...Array.from({ length: turns }, (_, i) => [
        { role: 'assistant', content: 'Yes.' },
        { role: 'user', content: `And ${i}?` },
      ]).flat(),
    ],
  });

  it('leaves a share of conversations as they are, on all of their turns, and says so in the record', async () => {
    const gateway = await startGateway({ settings: { 'optimizer.holdout': 50 } });
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    for (const turns of [0, 1, 2]) for (const name of names) await gateway.post(conversation(name, turns));
    const records = await gateway.settled(3 * names.length);
    const held = records.map(({ flags }) => flags.includes('heldOut'));
    expect(held.slice(0, 8)).toEqual(held.slice(8, 16));
    expect(held.slice(0, 8)).toEqual(held.slice(16));
    expect(new Set(held)).toEqual(new Set([true, false]));
    for (const [i, record] of records.entries()) {
      const body = gateway.upstream.requests[i]?.body.toString() ?? '';
      expect(body.includes(JSON.stringify(ROWS))).toBe(held[i]);
      expect(record.savedTokens > 0).toBe(!held[i]);
    }
    const [trial] = await readTrials(gateway.db, gateway.project.id, 'safe');
    const heldOut = held.slice(0, 8).filter(Boolean).length;
    expect(trial).toMatchObject({
      model: 'mock/test-model',
      treated: { conversations: 8 - heldOut, requests: 3 * (8 - heldOut) },
      heldOut: { conversations: heldOut, requests: 3 * heldOut },
    });
    // Both groups are measured alike.
    const perRequest = (side?: { originalTokens: number; requests: number }) =>
      Math.round((side?.originalTokens ?? 0) / (side?.requests ?? 1) / 10);
    expect(perRequest(trial?.treated)).toBe(perRequest(trial?.heldOut));
  });

  it.each([
    ['a request that chooses its own level', 50, { service: { optimize: true } }],
    ['any request if the share is 0', 0, {}],
  ])('does not take %s', async (_, holdout, extra) => {
    const gateway = await startGateway({ settings: { 'optimizer.holdout': holdout } });
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f'])
      await gateway.post({ ...conversation(name, 0), ...extra });
    const records = await gateway.settled(6);
    expect(records.every(({ savedTokens }) => savedTokens > 0)).toBe(true);
    expect(await readTrials(gateway.db, gateway.project.id, 'safe')).toEqual([]);
  });
});

describe('the deadline', () => {
  it('sends the original when it passes, and says so in the record', async () => {
    const clock = createVirtualClock();
    const { workers, startWorker } = scriptedWorkers();
    const compressor = createCompressor({ clock, startWorker });
    const gateway = await startGateway({ compressor, settings: { 'optimizer.deadline_ms': 200 } });
    const answer = gateway.post(LONG);
    await clock.timerSet();
    await clock.advance(1_000 + 200);
    expect(gateway.upstream.requests).toEqual([]);
    await clock.advance(10);
    await answer;
    expect(JSON.parse(gateway.upstream.requests[0]?.body.toString() ?? '').messages).toEqual(LONG.messages);
    expect(workers[0]?.open).toHaveLength(1);
    const [record] = await gateway.settled(1);
    expect(record).toMatchObject({ savedTokens: 0, flags: ['optimizedLate'] });
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('out of order');
      },
    ],
    ['rejects', () => Promise.reject(new Error('out of order'))],
    [
      'answers nonsense',
      () => ({
        edits: [{ start: -5, end: 1e9, text: '}' }],
        savings: [],
        originalTokens: 1,
        conversation: 1,
        work: { changed: {}, left: {} },
      }),
    ],
  ])('is not waited for by a compressor that %s', async (_, compress) => {
    const compressor: Compressor = { compress, warmUp() {}, close: async () => {} };
    const gateway = await startGateway({ compressor });
    expect((await gateway.post(LONG)).status).toBe(200);
    expect(JSON.parse(gateway.upstream.requests[0]?.body.toString() ?? '').messages).toEqual(LONG.messages);
    expect(
      gateway.logged.some(({ msg }) =>
        String(msg).startsWith('the optimizer failed, and the request was sent unchanged'),
      ),
    ).toBe(true);
  });
});
