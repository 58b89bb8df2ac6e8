import { gzipSync } from 'node:zlib';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { toFile } from 'openai';
import { describe, expect, onTestFinished, test } from 'vitest';
import { NANO_PER_USD } from '../../src/money.ts';
import { request } from '../support/client.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { json, respond } from '../support/scripts.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { startUpstream } from '../support/upstream.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { CLAUDE, startBothWires } from '../wire/support/anthropic-gateway.ts';

const DAY_MS = 24 * 3_600_000;
const GPT = 'gpt-4.1-mini';
/** Dollars per million tokens of single requests. */
const PRICES = { [GPT]: [0.4, 1.6], [CLAUDE]: [3, 15], 'claude-haiku-4-5': [1, 5] } as const;

/** Nano-dollars at half the price. */
const half = (model: keyof typeof PRICES, input: number, output: number) =>
  Math.ceil(((input * PRICES[model][0] + output * PRICES[model][1]) / 2e6) * NANO_PER_USD - 1e-3);

type Options = Parameters<typeof startGateway>[0] & object;

/** A provider that sells OpenAI's models at OpenAI's prices, under a cap. */
async function served(capUsd?: number, options: Options = {}) {
  const gateway = await startGateway({
    ...options,
    ...(capUsd === undefined ? {} : { budget: { capUsd, period: 'lifetime' } as const }),
  });
  gateway.configure({
    providers: { mock: { baseUrl: gateway.upstream.url, pricesOf: 'openai' } },
    'admission.max_wait_ms': 0,
  });
  return { gateway, sdk: clientOf(gateway) };
}

const clientOf = (gateway: TestGateway, key = gateway.key) =>
  new OpenAI({ baseURL: gateway.url, apiKey: key, maxRetries: 0 });

const line = (i: number, body: object = {}, url = '/v1/chat/completions') =>
  JSON.stringify({
    custom_id: `request-${i}`,
    method: 'POST',
    url,
    body: { model: GPT, max_completion_tokens: 1_000, messages: [{ role: 'user', content: 'Hi' }], ...body },
  });
const lines = (count: number, body?: object) =>
  Array.from({ length: count }, (_, i) => line(i, body)).join('\n');

async function upload(
  gateway: TestGateway,
  content: string,
  { id = 'file-in', sdk = clientOf(gateway) } = {},
) {
  gateway.upstream.queue(json(200, { id, object: 'file', purpose: 'batch', bytes: content.length }));
  await sdk.files.create({ purpose: 'batch', file: await toFile(Buffer.from(content), 'in.jsonl') });
}

const create = (sdk: OpenAI, file = 'file-in') =>
  sdk.batches.create({ input_file_id: file, endpoint: '/v1/chat/completions', completion_window: '24h' });

const batch = (status: string, more: object = {}, id = 'batch_1') =>
  json(200, { id, object: 'batch', status, input_file_id: 'file-in', ...more });
const counts = (completed: number, failed = 0) => ({
  request_counts: { completed, failed, total: completed + failed },
});
const usage = (input: number, output: number) => ({
  usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
});

/** The records of batches that have ended: those of polls cost nothing, and have no job. */
async function batches(gateway: TestGateway) {
  return (await gateway.records()).filter(({ detail }) => detail?.job !== undefined);
}

async function held(gateway: TestGateway): Promise<number> {
  await gateway.committed();
  return gateway.holds();
}

describe("OpenAI's batches", () => {
  test('are held by their file, and booked once by what a poll reports, at half the price', async () => {
    const { gateway, sdk } = await served(0.02);
    await upload(gateway, lines(10));
    gateway.upstream.queue(batch('validating'), batch('validating', {}, 'batch_2'));
    await create(sdk);
    await create(sdk);
    await expect(create(sdk)).rejects.toMatchObject({ status: 429, code: 'budget_busy' });
    const done = { ...counts(10), ...usage(100, 2_000), model: `${GPT}-2025-04-14` };
    gateway.upstream.queue(batch('in_progress'), batch('finalizing'));
    for (const _ of [1, 2]) await sdk.batches.retrieve('batch_1');
    expect(await batches(gateway)).toEqual([]);
    gateway.upstream.queue(batch('completed', done), batch('completed', done));
    for (const _ of [1, 2]) await sdk.batches.retrieve('batch_1');
    const [record, ...others] = await batches(gateway);
    expect(others).toEqual([]);
    expect(record).toMatchObject({
      ...{ endpoint: 'batches', model: GPT, upstreamMessageId: 'batch_1', outcome: 'ok', flags: [] },
      costNanoUsd: half(GPT, 100, 2_000),
      ...{ inputTokens: 100, outputTokens: 2_000 },
      detail: { job: 'completed', batch: { requests: 10 } },
    });
    expect(record?.requestBytes).toBeGreaterThan(50);
    // Ten times a thousand tokens of output, and the bytes of the input.
    expect(record?.holdNanoUsd).toBeGreaterThan(half(GPT, 0, 10_000));
    expect(record?.holdNanoUsd).toBeLessThan(half(GPT, 10 * 250, 10_000));
    expect(await held(gateway)).toBe(1);
    gateway.upstream.queue(batch('cancelled', { ...counts(0) }, 'batch_2'));
    await sdk.batches.retrieve('batch_2');
    expect(await held(gateway)).toBe(0);
  });

  test('without usage in their object are booked when their results are fetched', async () => {
    const { gateway, sdk } = await served(1);
    await upload(gateway, lines(3));
    gateway.upstream.queue(batch('validating'));
    await create(sdk);
    const end = batch('completed', { ...counts(2, 1), output_file_id: 'file-out' });
    gateway.upstream.queue(end);
    await sdk.batches.retrieve('batch_1');
    expect(await held(gateway)).toBe(1);
    // They are the results of this project alone.
    const stranger = clientOf(gateway, await gateway.newKey('neighbour'));
    await expect(stranger.files.content('file-out')).rejects.toMatchObject({ status: 404 });
    const answer = (usage: object, object = 'chat.completion') =>
      JSON.stringify({ response: { status_code: 200, body: { object, model: `${GPT}-2025-04-14`, usage } } });
    const results = [
      answer({ prompt_tokens: 50, completion_tokens: 700 }),
      // Responses count their tokens under other names.
      answer({ input_tokens: 30, output_tokens: 200 }, 'response'),
      JSON.stringify({ response: { status_code: 400, body: { error: { message: 'No.' } } } }),
    ].join('\n');
    const type = { 'content-type': 'application/octet-stream' };
    gateway.upstream.queue(respond(200, type, results), respond(200, type, results));
    for (const _ of [1, 2]) expect(await (await sdk.files.content('file-out')).text()).toBe(results);
    expect(await batches(gateway)).toMatchObject([
      { costNanoUsd: half(GPT, 50, 700) + half(GPT, 30, 200), inputTokens: 80, outputTokens: 900, flags: [] },
    ]);
  });

  test.each([
    ['failed', {}, 0, 'upstream_failed'],
    ['cancelled', counts(0), 0, 'ok'],
    ['expired', { ...counts(4), ...usage(40, 400), output_file_id: 'file-out' }, half(GPT, 40, 400), 'ok'],
  ] as const)('that are %s cost what was answered', async (status, more, costNanoUsd, outcome) => {
    const { gateway, sdk } = await served(1);
    await upload(gateway, lines(5));
    gateway.upstream.queue(batch('validating'), batch('cancelling'), batch(status, more));
    await create(sdk);
    await sdk.batches.cancel('batch_1');
    // A list shows ends, too.
    await sdk.batches.retrieve('batch_1');
    expect(await batches(gateway)).toMatchObject([{ costNanoUsd, outcome, detail: { job: status } }]);
  });

  test('whose counts are still 0 when they are done are not taken for empty', async () => {
    const { gateway, sdk } = await served(1);
    await upload(gateway, lines(5));
    gateway.upstream.queue(batch('validating'), batch('completed', { ...counts(0), ...usage(0, 0) }));
    await create(sdk);
    await sdk.batches.retrieve('batch_1');
    expect(await held(gateway)).toBe(1);
    const done = { object: 'batch', id: 'batch_1', status: 'completed', ...counts(5), ...usage(70, 700) };
    gateway.upstream.queue(json(200, { object: 'list', data: [done], has_more: false }));
    const headers = { authorization: `Bearer ${gateway.adminKey}` };
    await request(gateway.origin, { method: 'GET', path: '/v1/batches', headers });
    expect(await batches(gateway)).toMatchObject([{ costNanoUsd: half(GPT, 70, 700) }]);
  });

  test('are refused under a cap with the reason', async () => {
    const { gateway, sdk } = await served(1);
    const refusal = async (content: string) => {
      await upload(gateway, content);
      return create(sdk).then(
        () => 'accepted',
        ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
      );
    };
    await expect(create(sdk, 'file-elsewhere')).rejects.toMatchObject({ status: 404 });
    for (const [content, reason] of [
      [`${line(1)}\n${line(2, { tools: [{ type: 'web_search' }] }, '/v1/responses')}`, 'request 2'],
      [line(1, {}, '/v1/images/generations'), "/v1/images/generations, which gw can't bound"],
      [line(1, { model: 'gpt-unknown' }), 'no output limit|price of mock/gpt-unknown is unknown'],
      [line(1, { model: 'gpt-unknown', max_completion_tokens: null }), 'no output limit'],
      ['{"custom_id":"1","url":"/v1/chat/completions"}', 'has no "body"'],
      [line(1).replace('"max_completion_tokens"', '"max_completion_tokens":1,$&'), 'twice'],
      ['no JSON', 'request 1'],
    ] as const)
      expect(await refusal(content), content).toMatch(new RegExp(`^cost_unbounded: .*(${reason})`));
    expect(await held(gateway)).toBe(0);
  });

  test('of a file that gw has not seen are refused under a cap, and booked by their usage without one', async () => {
    const capped = await served(1, { alone: true });
    await expect(create(capped.sdk)).rejects.toMatchObject({
      ...{ status: 402, code: 'cost_unbounded' },
      message: expect.stringContaining('gw has not seen the file "file-in"'),
    });
    const open = await served(undefined, { alone: true });
    const ends = [counts(3), { ...counts(3), ...usage(30, 300), model: GPT }];
    open.gateway.upstream.queue(batch('validating'), ...ends.map((end) => batch('completed', end)));
    await create(open.sdk);
    for (const _ of ends) await open.sdk.batches.retrieve('batch_1');
    expect(await batches(open.gateway)).toMatchObject([{ costNanoUsd: half(GPT, 30, 300) }]);
  });

  test('are the key and the project that made them, whoever sees their end', async () => {
    const { gateway, sdk } = await served(1);
    await gateway.newProject('web');
    const other = await gateway.newKey('web');
    await gateway.setBudget({ capUsd: 5, period: 'daily' }, await gateway.newProject('third'));
    await upload(gateway, lines(2));
    await expect(create(clientOf(gateway, other))).rejects.toMatchObject({ status: 404 });
    gateway.upstream.queue(batch('validating'), batch('completed', { ...counts(2), ...usage(9, 90) }));
    await create(sdk);
    await expect(clientOf(gateway, other).batches.retrieve('batch_1')).rejects.toMatchObject({ status: 404 });
    await clientOf(gateway, gateway.adminKey).batches.retrieve('batch_1');
    const [record] = await batches(gateway);
    const created = (await gateway.records()).find(({ endpoint }) => endpoint === 'files');
    expect(record).toMatchObject({ costNanoUsd: half(GPT, 9, 90), project: gateway.project.name });
    expect(record?.keyHint).toBe(created?.keyHint);
  });

  test('outlive their daemon, and are booked in full a week later when nobody asks', async () => {
    const clock = createVirtualClock(Date.now());
    const upstream = await startUpstream();
    onTestFinished(() => upstream.close());
    const options = { clock, upstream, home: tmpHome() };
    const first = await served(1, { ...options, leavesHolds: true });
    await upload(first.gateway, lines(2));
    upstream.queue(batch('validating'));
    await create(first.sdk);
    await first.gateway.stop();
    const { gateway } = await served(1, options);
    clock.setWallTime(clock.now() + 6 * DAY_MS);
    await clock.advance(3_600_000);
    expect(await held(gateway)).toBe(1);
    clock.setWallTime(clock.now() + DAY_MS);
    await clock.advance(3_600_000);
    const [record] = await batches(gateway);
    expect(record).toMatchObject({ outcome: 'ok', flags: ['estimated'], detail: { job: 'overdue' } });
    expect(record?.costNanoUsd).toBe(record?.holdNanoUsd);
  });

  test('above their bound are flagged, and the bound is not used again', async () => {
    const { gateway, sdk } = await served(1);
    await upload(gateway, lines(1));
    gateway.upstream.queue(batch('validating'), batch('completed', { ...counts(1), ...usage(9, 90_000) }));
    await create(sdk);
    await sdk.batches.retrieve('batch_1');
    expect(await batches(gateway)).toMatchObject([{ flags: ['overrun', 'underheld'] }]);
    await expect(create(sdk)).rejects.toMatchObject({ status: 402, code: 'cost_unbounded' });
  });
});

describe("Anthropic's batches", () => {
  const item = (i: number, params: object = {}) => ({
    custom_id: `request-${i}`,
    params: {
      model: CLAUDE,
      max_tokens: 500,
      messages: [{ role: 'user' as const, content: 'Hi' }],
      ...params,
    },
  });
  const state = (status: string, more: object = {}) =>
    json(200, {
      id: 'msgbatch_1',
      type: 'message_batch',
      processing_status: status,
      results_url: null,
      ...more,
    });
  const ended = (succeeded: number) =>
    state('ended', {
      request_counts: { processing: 0, succeeded, errored: 1, canceled: 0, expired: 0 },
      results_url: 'https://api.anthropic.com/v1/messages/batches/msgbatch_1/results',
    });
  const result = (model: string, usage: object) =>
    JSON.stringify({ custom_id: 'request-1', result: { type: 'succeeded', message: { model, usage } } });

  async function anthropic(capUsd: number) {
    const gateway = await startBothWires({ budget: { capUsd, period: 'lifetime' } });
    return { gateway, sdk: new Anthropic({ baseURL: gateway.origin, apiKey: gateway.key, maxRetries: 0 }) };
  }

  test('lead to gw for their results, also from a server that compresses unasked', async () => {
    const { gateway, sdk } = await anthropic(1);
    const url = 'https://api.anthropic.com/v1/messages/batches/msgbatch_1/results';
    const request_counts = { processing: 0, succeeded: 0, errored: 1, canceled: 0, expired: 0 };
    const ended = { id: 'msgbatch_1', processing_status: 'ended', request_counts, results_url: url };
    const body = gzipSync(JSON.stringify(ended));
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    gateway.upstream.queue(state('in_progress'), respond(200, headers, body));
    await sdk.messages.batches.create({ requests: [item(1)] });
    const batch = await sdk.messages.batches.retrieve('msgbatch_1');
    expect(batch.results_url).toBe(`${gateway.origin}/v1/messages/batches/msgbatch_1/results`);
  });

  test('are held by their requests, and booked when the SDK fetches their results through gw', async () => {
    const { gateway, sdk } = await anthropic(1);
    gateway.upstream.queue(state('in_progress'), state('in_progress'), ended(2));
    const requests = [item(1), item(2, { model: 'claude-haiku-4-5' }), item(3)];
    await sdk.messages.batches.create({ requests });
    await sdk.messages.batches.retrieve('msgbatch_1');
    await sdk.messages.batches.retrieve('msgbatch_1');
    expect(await held(gateway)).toBe(1);
    const results = [
      result(`${CLAUDE}-20250929`, { input_tokens: 20, cache_creation_input_tokens: 0, output_tokens: 300 }),
      JSON.stringify({ custom_id: 'request-3', result: { type: 'errored', error: {} } }),
      result('claude-haiku-4-5-20251001', {
        ...{ input_tokens: 10, output_tokens: 100 },
        server_tool_use: { web_search_requests: 0 },
      }),
    ].join('\n');
    gateway.upstream.queue(ended(2), respond(200, { 'content-type': 'application/x-jsonl' }, `${results}\n`));
    const seen = [];
    for await (const each of await sdk.messages.batches.results('msgbatch_1')) seen.push(each.result.type);
    expect(seen).toEqual(['succeeded', 'errored', 'succeeded']);
    const [record] = await batches(gateway);
    expect(record).toMatchObject({
      ...{ endpoint: 'messages/batches', provider: 'anthropic', flags: [], outputTokens: 400 },
      costNanoUsd: half(CLAUDE, 20, 300) + half('claude-haiku-4-5', 10, 100),
    });
    expect(record?.holdNanoUsd).toBeLessThan(half(CLAUDE, 3 * 300, 1_500));
  });

  test('that succeeded with nothing cost nothing; one that does not fit is refused before it is sent', async () => {
    const { gateway, sdk } = await anthropic(0.01);
    gateway.upstream.queue(state('in_progress'), state('canceling'), ended(0));
    await sdk.messages.batches.create({ requests: [item(1)] });
    await sdk.messages.batches.cancel('msgbatch_1');
    await sdk.messages.batches.retrieve('msgbatch_1');
    expect(await batches(gateway)).toMatchObject([{ costNanoUsd: 0, outcome: 'ok' }]);
    const requests = [1, 2, 3].map((i) => item(i));
    await expect(sdk.messages.batches.create({ requests })).rejects.toMatchObject({ status: 402 });
    const tool = { type: 'web_search_20250305', name: 'web_search' } as const;
    await expect(
      sdk.messages.batches.create({ requests: [item(1, { tools: [tool] })] }),
    ).rejects.toMatchObject({ status: 402, message: expect.stringContaining('lets the provider run tools') });
    expect(gateway.upstream.requests).toHaveLength(3);
  });
});
