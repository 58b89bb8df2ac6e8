import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { Pool } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { NANO_PER_USD } from '../../src/money.ts';
import { commandLineOf } from '../cli/cli-home.ts';
import { answer, completion } from '../support/chat-scripts.ts';
import { completionBody, usageOf } from '../support/chat-shapes.ts';
import type { RawResponse, RequestParts } from '../support/client.ts';
import { createGate } from '../support/gate.ts';
import { MODEL, PLAIN, STREAM, startGateway, until } from '../support/gateway.ts';
import type { TestSettings } from '../support/home.ts';
import { json, type Script, status } from '../support/scripts.ts';
import { closeAll, MANY, setBudget, severalTargets } from '../support/several-targets.ts';
import { sse } from '../support/sse-scripts.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { CLAUDE, startBothWires } from '../wire/support/anthropic-gateway.ts';
import { either } from '../wire/support/event-scripts.ts';
import { messageBody, messageStream, text, toolUse } from '../wire/support/messages-shapes.ts';
import { send } from '../wire/support/send.ts';

const HOUR = 3_600_000;
const ON: TestSettings = { 'replay.ttl': '1h', 'optimizer.level': 'off' };

async function served(settings: TestSettings = ON, capUsd = 5) {
  const clock = createVirtualClock(Date.now());
  const gateway = await startGateway({ clock, settings, budget: { period: 'daily', capUsd } });
  const { replays } = gateway.paths;
  const files = () => (existsSync(replays) ? readdirSync(replays) : []);
  return {
    gateway,
    clock,
    files,
    cli: commandLineOf(gateway, 'locally', clock),
    /** How many calls the provider got. */
    calls: () => gateway.upstream.requests.length,
    /** Sends the request, and waits until its answer is on disk. */
    async kept(body: object = PLAIN, parts?: RequestParts): Promise<RawResponse> {
      const before = files().length;
      const response = await gateway.post(body, parts);
      await until(() => files().length > before && files().every((name) => name.endsWith('.answer')));
      return response;
    },
  };
}

const markOf = ({ header }: RawResponse) => header('x-service-replay');

describe('a replay', () => {
  test.each([
    ['a whole answer', PLAIN],
    ['a stream', STREAM],
    ['a stream with its usage', { ...STREAM, stream_options: { include_usage: true }, temperature: 0 }],
  ])('answers %s from disk with the same bytes, at no cost', async (_, body) => {
    const { gateway, kept, calls } = await served();
    const first = await kept(body);
    const second = await gateway.post(body);
    expect([first, second].map(markOf)).toEqual(['miss', 'hit']);
    expect(second.body).toEqual(first.body);
    for (const name of ['content-type', 'transfer-encoding', 'content-length', 'x-request-id'])
      expect(second.header(name)).toBe(first.header(name));
    expect(second.header('x-service-cost-usd')).toBe('0');
    expect(calls()).toBe(1);
    const [paid, replayed] = await gateway.records();
    expect(paid?.costNanoUsd).toBeGreaterThan(0);
    expect(replayed).toMatchObject({ costNanoUsd: 0, savedNanoUsd: paid?.costNanoUsd, outcome: 'ok' });
    const { total } = JSON.parse((await gateway.get('/v1/usage')).text());
    expect(total).toMatchObject({ requests: 2, replayed_requests: 1, saved_usd: total.cost_usd });
  });

  test('serves the SDK of OpenAI, which sees the answer it saw first', async () => {
    const { gateway, files } = await served();
    const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
    const whole = async () => {
      const { data, response, request_id } = await client.chat.completions.create(PLAIN).withResponse();
      return { data, request_id, mark: response.headers.get('x-service-replay') };
    };
    const streamed = async () => {
      const chunks: unknown[] = [];
      for await (const chunk of await client.chat.completions.create(STREAM)) chunks.push(chunk);
      return chunks;
    };
    const [first, stream] = [await whole(), await streamed()];
    await until(() => files().length === 2);
    expect(await whole()).toEqual({ ...first, mark: 'hit' });
    expect(await streamed()).toEqual(stream);
    expect(gateway.upstream.requests).toHaveLength(2);
  });

  test('serves the SDK of Anthropic, also where the answer was translated', async () => {
    const upstream = either(
      messageBody([text('Hello there.'), toolUse('toolu_1', 'look', { at: 'it' })], {
        stop_reason: 'tool_use',
      }),
      messageStream([text('Hello there.')]),
    );
    const gateway = await startBothWires({ settings: ON });
    const client = new Anthropic({ baseURL: gateway.origin, apiKey: gateway.key, maxRetries: 0 });
    const request = {
      model: CLAUDE,
      max_tokens: 100,
      messages: [{ role: 'user' as const, content: 'Hi' }],
    };
    const ask = async () => [
      await client.messages.create(request),
      await client.messages.stream(request).finalMessage(),
      await client.messages.create({ ...request, model: MODEL }),
    ];
    gateway.upstream.queue(upstream, upstream, answer('Hello from another API.'));
    const first = await ask();
    await until(() => readdirSync(gateway.paths.replays).length === 3);
    expect(await ask()).toEqual(first);
    expect(gateway.upstream.requests).toHaveLength(3);
  });

  test('of a response and of its stream has all that they had, reasoning included', async () => {
    const { gateway, files, calls } = await served();
    const body = { model: MODEL, input: 'Hi', store: false };
    const usage = { input_tokens: 5, output_tokens: 3, total_tokens: 8 };
    const output = [
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }] },
      { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] },
    ];
    const response = {
      id: 'resp_1',
      object: 'response',
      model: 'test-model',
      status: 'completed',
      output,
      usage,
    };
    gateway.upstream.script(
      either(response, [
        [
          'response.reasoning_summary_text.delta',
          { type: 'response.reasoning_summary_text.delta', delta: 'Hm.' },
        ],
        ['response.output_text.delta', { type: 'response.output_text.delta', delta: 'Hello' }],
        ['response.completed', { type: 'response.completed', response }],
      ]),
    );
    const ask = (fields: object) => send(gateway, '/v1/responses', { ...body, ...fields });
    const first = [await ask({}), await ask({ stream: true })];
    await until(() => files().length === 2);
    const second = [await ask({}), await ask({ stream: true })];
    expect(second.map(markOf)).toEqual(['hit', 'hit']);
    expect(second.map((each) => each.text())).toEqual(first.map((each) => each.text()));
    // Each of its own fields counts.
    expect(markOf(await ask({ instructions: 'Be brief.' }))).toBe('miss');
    expect(calls()).toBe(3);
  });

  test('fits an exhausted budget, as it costs nothing', async () => {
    const { gateway, kept } = await served();
    await kept();
    await gateway.setBudget({ period: 'daily', capUsd: 0.000001 });
    expect((await gateway.post({ ...PLAIN, user: 'other' })).status).toBe(402);
    expect(markOf(await gateway.post(PLAIN))).toBe('hit');
  });

  test('is as old as its time at most, and not from the future', async () => {
    const { gateway, kept, clock } = await served();
    await kept();
    await clock.advance(HOUR - 1);
    const younger = { headers: { 'x-service-replay': '30m' } };
    expect(markOf(await gateway.post(PLAIN))).toBe('hit');
    expect(markOf(await gateway.post(PLAIN, younger))).toBe('miss');
    await clock.advance(HOUR);
    expect(markOf(await gateway.post(PLAIN))).toBe('miss');
  });

  test('of a broken file is none', async () => {
    const { gateway, kept, files } = await served();
    await kept();
    const file = join(gateway.paths.replays, files()[0] ?? '');
    const bytes = readFileSync(file);
    bytes[bytes.length - 5] = 0;
    writeFileSync(file, bytes);
    // While it is written, the answer is in memory too.
    await expect.poll(async () => markOf(await gateway.post(PLAIN))).toBe('miss');
  });

  test('is readable by its owner only', async () => {
    const { gateway, kept, files } = await served();
    await kept();
    expect(statSync(gateway.paths.replays).mode & 0o777).toBe(0o700);
    expect(statSync(join(gateway.paths.replays, files()[0] ?? '')).mode & 0o777).toBe(0o600);
  });
});

describe('what counts', () => {
  test('a changed body, model, key or project is a miss', async () => {
    const { gateway, kept } = await served({ ...ON, aliases: { other: MODEL } });
    await kept();
    const [sameProject, otherProject] = [await gateway.newKey('default'), await gateway.newKey('neighbour')];
    const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
    expect(markOf(await gateway.post({ ...PLAIN, seed: 1 }))).toBe('miss');
    expect(markOf(await gateway.post({ ...PLAIN, model: 'other' }))).toBe('miss');
    expect(markOf(await gateway.post(PLAIN, bearer(sameProject)))).toBe('miss');
    expect(markOf(await gateway.post(PLAIN, bearer(otherProject)))).toBe('miss');
    expect(markOf(await gateway.post(PLAIN, { headers: { 'openai-beta': 'x=v2' } }))).toBe('miss');
    expect(markOf(await gateway.post(PLAIN))).toBe('hit');
  });

  test('a changed price is a miss', async () => {
    const { gateway, kept, cli } = await served();
    await kept();
    expect((await cli.exec(['prices', 'set', MODEL, '--input', '2', '--output', '2'])).code).toBe(0);
    expect(markOf(await gateway.post(PLAIN))).toBe('miss');
  });

  test('the fields of service are not in the body', async () => {
    const { gateway, kept } = await served();
    await kept({ ...PLAIN, service: { labels: { run: '1' } } });
    expect(markOf(await gateway.post({ ...PLAIN, service: { labels: { run: '2' } } }))).toBe('hit');
    expect(markOf(await gateway.post(PLAIN))).toBe('hit');
  });

  test('requests for variety, and for tools that the provider runs, are not replayed', async () => {
    const { gateway, calls, files } = await served();
    const cases = [{ n: 2 }, { temperature: 0.7 }, { web_search_options: {} }];
    for (const fields of cases)
      for (const _ of [1, 2]) expect(markOf(await gateway.post({ ...PLAIN, ...fields }))).toBeUndefined();
    expect([calls(), files().length]).toEqual([6, 0]);
  });

  test("Gemini's temperature is found in its object", async () => {
    const { gateway, files } = await served();
    gateway.upstream.script(answer('Hello.'));
    const ask = (generationConfig: object) =>
      send(gateway, '/v1beta/models/test-model:generateContent', {
        contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
        generationConfig,
      });
    expect(markOf(await ask({ temperature: 0.5 }))).toBeUndefined();
    expect(markOf(await ask({ temperature: 0 }))).toBe('miss');
    await until(() => files().length === 1);
    expect(markOf(await ask({ temperature: 0 }))).toBe('hit');
  });

  test('any temperature is replayed if the owner says so', async () => {
    const { gateway, kept } = await served({ ...ON, 'replay.any_temperature': 'on' });
    await kept({ ...PLAIN, temperature: 0.7 });
    expect(markOf(await gateway.post({ ...PLAIN, temperature: 0.7 }))).toBe('hit');
  });

  test('the time of a request wins over its key, a key over its project, a project over all', async () => {
    const { gateway, files } = await served({ 'replay.projects': { default: '2h' } });
    const keyId = Number(gateway.db.prepare('SELECT max(id) FROM keys WHERE admin = 0').pluck().get());
    const header = (value: string) => ({ headers: { 'x-service-replay': value } });
    expect(markOf(await gateway.post(PLAIN))).toBe('miss');
    gateway.configure({ 'replay.projects': { default: '2h' }, 'replay.keys': { [keyId]: 'off' } });
    expect(markOf(await gateway.post(PLAIN))).toBeUndefined();
    await until(() => files().length === 1);
    expect(markOf(await gateway.post(PLAIN, header('1h')))).toBe('hit');
    expect(
      markOf(await gateway.post({ ...PLAIN, service: { replay: 'off' } }, header('1h'))),
    ).toBeUndefined();
    const wrong = await gateway.post(PLAIN, header('soon'));
    expect(wrong.status).toBe(400);
    expect(wrong.text()).toContain('24h');
  });

  test('nothing is kept while it is off', async () => {
    const { gateway, files } = await served({ 'optimizer.level': 'off' });
    for (const _ of [1, 2]) expect(markOf(await gateway.post(PLAIN))).toBeUndefined();
    expect(files()).toEqual([]);
  });
});

const choice = (fields: object): Script => {
  const body = completionBody('test-model', 'Hm.', usageOf(5, 2)) as { choices: object[] };
  return json(200, { ...body, choices: [{ ...body.choices[0], ...fields }] });
};

describe('what is not kept', () => {
  test('errors, refusals, and what broke off', async () => {
    const { gateway, calls, files } = await served();
    const cases: Record<string, [Script, object]> = {
      'an error': [status(400), PLAIN],
      'an answer that the provider filtered': [choice({ finish_reason: 'content_filter' }), PLAIN],
      'a refusal': [choice({ message: { role: 'assistant', content: null, refusal: 'No.' } }), PLAIN],
      'an answer without usage': [completion({ usage: 'none' }), PLAIN],
      'a stream that broke off': [sse(['Hello'], { cutAfter: 1, end: 'close' }), STREAM],
      'a stream that ended early': [sse(['a', 'b'], { cutAfter: 1, done: false }), STREAM],
    };
    for (const [i, [what, [script, body]]] of Object.entries(cases).entries()) {
      gateway.upstream.script(script);
      for (const _ of [1, 2]) await gateway.post({ ...body, seed: i }).catch(() => undefined);
      await gateway.settled(2 * (i + 1));
      expect([calls(), files().length], what).toEqual([2 * (i + 1), 0]);
    }
  });

  test('an answer with a limit that gw lowered', async () => {
    const { gateway, files } = await served(ON, 0.002);
    const response = await gateway.post({ ...PLAIN, max_tokens: 5_000 });
    expect(response.header('x-service-max-output-tokens')).toBeDefined();
    await gateway.committed();
    expect(files()).toEqual([]);
  });
});

describe('what is not kept of several targets', () => {
  const replayed = { headers: { 'x-service-replay': '1h' } };
  const settings = { 'optimizer.level': 'off' as const };

  test('the answer of a cheaper model, which a full budget has sent the request to', async () => {
    const several = await severalTargets({ settings });
    onTestFinished(() => closeAll(several));
    const { gateway, upstreams } = several;
    for (const [provider, outputPicoUsd] of Object.entries({ a: 1e11, b: 1e10 }))
      await gateway.setPrice({ provider, model: `m-${provider}`, inputPicoUsd: 0, outputPicoUsd });
    for (const upstream of upstreams) upstream.script(completion({ usage: usageOf(5, 1) }));
    await setBudget(gateway, { cap_usd: 0.15, on_limit: 'fallback', fallback: ['b/m-b'] });
    const ask = (seed: number) => gateway.post({ ...PLAIN, model: 'a/m-a', max_tokens: 1, seed }, replayed);
    const answers = [await ask(1), await ask(2), await ask(2), await ask(1)];
    const from = answers.map((each) => [each.header('x-service-provider'), markOf(each)]);
    expect(from).toEqual([
      ['a', 'miss'],
      ['b', 'miss'],
      ['b', 'miss'],
      ['a', 'hit'],
    ]);
  });

  test('an answer that came after a failed attempt', async () => {
    const several = await severalTargets({ settings });
    onTestFinished(() => closeAll(several));
    const { gateway, upstreams } = several;
    const [first, second] = upstreams;
    first?.script(status(500));
    second?.script(completion());
    const answers = [await gateway.post(MANY, replayed), await gateway.post(MANY, replayed)];
    expect(answers.map(({ status: code }) => code)).toEqual([200, 200]);
    expect(answers.map(markOf)).toEqual(['miss', 'miss']);
  });
});

describe('the same request at the same time', () => {
  test('is one call', async () => {
    const { gateway, calls } = await served();
    const gate = createGate();
    gateway.upstream.script(async (exchange) => {
      await exchange.until(gate.pass());
      await completion()(exchange);
    });
    const first = gateway.post(PLAIN);
    await gate.reached();
    const others = [1, 2, 3].map(() => gateway.post(PLAIN));
    gate.openForGood();
    const answers = await Promise.all([first, ...others]);
    expect(answers.map(markOf)).toEqual(['miss', 'hit', 'hit', 'hit']);
    expect(new Set(answers.map((each) => each.text())).size).toBe(1);
    expect(calls()).toBe(1);
  });

  test('goes on by itself if the first one fails', async () => {
    const { gateway, calls } = await served();
    const gate = createGate();
    gateway.upstream.queue(async (exchange) => {
      await exchange.until(gate.pass());
      await status(400)(exchange);
    });
    const first = gateway.post(PLAIN);
    await gate.reached();
    const others = [1, 2].map(() => gateway.post(PLAIN));
    gate.openForGood();
    expect((await Promise.all([first, ...others])).map((each) => each.status)).toEqual([400, 200, 200]);
    // One that came later than the failure may have waited for the other.
    expect(calls()).toBeGreaterThan(1);
  });
});

test('kept answers stay below replay.max_mb, and go once they are too old', async () => {
  const { gateway, files, clock } = await served({ ...ON, 'replay.max_mb': 1 });
  gateway.upstream.script(completion({ content: 'x'.repeat(200_000), usage: usageOf(10, 10) }));
  const seen = new Set<string>();
  for (let i = 0; i < 12; i++) {
    await gateway.post({ ...PLAIN, seed: i });
    // An answer is kept after it has gone out.
    await until(() => files().some((name) => !seen.has(name)));
    for (const name of files()) seen.add(name);
    await clock.advance(1_000);
  }
  // gw deletes files at any time.
  const sizeOf = (name: string) =>
    statSync(join(gateway.paths.replays, name), { throwIfNoEntry: false })?.size ?? 0;
  const size = () => files().reduce((sum, name) => sum + sizeOf(name), 0);
  await until(() => files().length > 0 && size() <= 1024 ** 2);
  // The newest are kept.
  expect(markOf(await gateway.post({ ...PLAIN, seed: 11 }))).toBe('hit');
  expect(markOf(await gateway.post({ ...PLAIN, seed: 0 }))).toBe('miss');
  await clock.advance(2 * HOUR);
  await until(() => files().length === 0);
});

test('gw replay clear deletes the answers of a project, or all', async () => {
  const { gateway, kept, cli, files } = await served();
  await kept();
  const neighbour = { headers: { authorization: `Bearer ${await gateway.newKey('neighbour')}` } };
  await kept(PLAIN, neighbour);
  const clear = async (...options: string[]) =>
    JSON.parse((await cli.exec(['replay', 'clear', '--json', ...options])).stdout);
  expect(await clear('-p', 'neighbour')).toMatchObject({ project_id: 'neighbour', answers: 1 });
  expect(markOf(await gateway.post(PLAIN))).toBe('hit');
  expect(await clear()).toMatchObject({ project_id: null, answers: 1 });
  expect(files()).toEqual([]);
  expect(markOf(await gateway.post(PLAIN))).toBe('miss');
});

test.runIf(process.env.GW_LONG)('100,000 hits add no growth of memory', { timeout: 600_000 }, async () => {
  // On the real clock: timers of a virtual one stay until they are due.
  const gateway = await startGateway({ settings: ON, budget: { period: 'daily', capUsd: 5 } });
  await gateway.post(PLAIN);
  await until(() => existsSync(gateway.paths.replays) && readdirSync(gateway.paths.replays).length === 1);
  const pool = new Pool(gateway.origin, { connections: 16 });
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const heapAfter = async (hits: number) => {
    const headers = { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' };
    const body = JSON.stringify(PLAIN);
    const client = async () => {
      for (let i = 0; i < hits / 16; i++) {
        const answer = await pool.request({ method: 'POST', path: '/v1/chat/completions', headers, body });
        expect(answer.headers['x-service-replay']).toBe('hit');
        await answer.body.dump();
      }
    };
    await Promise.all(Array.from({ length: 16 }, client));
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = await heapAfter(10_000);
  const since = performance.now();
  const after = await heapAfter(100_000);
  console.log(
    `100,000 hits in ${((performance.now() - since) / 1_000).toFixed(1)} s; heap ${before} to ${after}`,
  );
  expect(after - before).toBeLessThan(8 * 1024 ** 2);
  expect(gateway.upstream.requests).toHaveLength(1);
  await pool.close();
});

test('an eval of 300 cases that runs twice costs once', async () => {
  const { gateway, calls, files } = await served();
  gateway.upstream.script(answer('Forty-two.'));
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
  const cases = Array.from({ length: 300 }, (_, i) => `What is ${i} + ${i}?`);
  async function run() {
    const answers: (string | null | undefined)[] = [];
    for (let at = 0; at < cases.length; at += 20) {
      const batch = cases.slice(at, at + 20).map(async (content) => {
        const messages = [{ role: 'user' as const, content }];
        const { choices } = await client.chat.completions.create({ model: MODEL, messages, temperature: 0 });
        return choices[0]?.message.content;
      });
      answers.push(...(await Promise.all(batch)));
    }
    return answers;
  }
  const costUsd = async () => JSON.parse((await gateway.get('/v1/usage')).text()).total;
  const first = await run();
  await until(() => files().length === cases.length);
  const once = await costUsd();
  expect(await run()).toEqual(first);
  expect(await costUsd()).toMatchObject({
    cost_usd: once.cost_usd,
    saved_usd: once.cost_usd,
    requests: 600,
    replayed_requests: 300,
  });
  expect(calls()).toBe(300);
  const booked = (await gateway.records()).reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0);
  expect(booked / NANO_PER_USD).toBeCloseTo(once.cost_usd, 9);
});
