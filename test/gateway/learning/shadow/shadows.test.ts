import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { formatRequestId } from '../../../../src/ids.ts';
import { removeProject, setPaused } from '../../../../src/store/accounts/projects.ts';
import type { Db } from '../../../../src/store/database/open.ts';
import { answer } from '../../../support/chat-scripts.ts';
import { request } from '../../../support/client.ts';
import type { Exchange } from '../../../support/exchange.ts';
import { createGate } from '../../../support/gate.ts';
import { startGateway, until } from '../../../support/gateway.ts';
import { headerOf } from '../../../support/http-message.ts';
import { hang, json, status } from '../../../support/scripts.ts';
import { closeAll, type SeveralOptions, severalTargets } from '../../../support/several-targets.ts';
import { tmpHome } from '../../../support/tmp-home.ts';
import { startUpstream } from '../../../support/upstream.ts';

const SHADOWS = { 'routing.shadow_share': '100%' };
const tool = { type: 'function', function: { name: 'f' } };

/** `a` is the strong tier, which serves a cold start, and `b` the cheap one. */
async function start({ settings = SHADOWS, ...options }: SeveralOptions = {}) {
  const several = await severalTargets({
    count: 2,
    outputUsd: [10, 1],
    ...options,
    settings: { tiers: { 'm-a': 'strong: a/m-a; fast: b/m-b' }, ...settings },
  });
  onTestFinished(() => closeAll(several));
  const [a, b] = several.upstreams;
  if (!a || !b) throw new Error('there are two upstreams');
  a.script(answer('42'));
  b.script(answer('42'));
  return { ...several, a, b };
}

const ask = (content: string, fields: object = {}) => ({
  model: 'm-a',
  messages: [{ role: 'user', content }],
  ...fields,
});

describe('a shadow', () => {
  test('asks the other tier what was answered, on its own account', async () => {
    const { gateway, a, b } = await start();
    const fields = { stream: true, stream_options: { include_usage: true }, store: true, temperature: 0 };
    const headers = { 'idempotency-key': 'k1', 'x-trace': 't1' };
    const answered = await gateway.post(ask('Six times seven?', { ...fields, service: {} }), { headers });
    const [served, shadow] = await gateway.settled(2);
    const asked = await b.nextRequest();
    expect(JSON.parse(asked.body.toString())).toEqual({
      model: 'm-b',
      messages: [{ role: 'user', content: 'Six times seven?' }],
      temperature: 0,
      max_tokens: 2_048,
    });
    expect(headerOf(asked.head, 'idempotency-key')).toBeUndefined();
    expect(headerOf(asked.head, 'x-trace')).toBe('t1');
    expect(a.requests).toHaveLength(1);
    expect(served && formatRequestId(served.id)).toBe(answered.header('x-service-request-id'));
    expect(served?.flags).toEqual(['stream']);
    expect(shadow).toMatchObject({
      provider: 'b',
      model: 'm-b',
      askedModel: 'm-a',
      outcome: 'ok',
      flags: ['shadow'],
      process: 'gw shadow',
      detail: { shadow: { of: answered.header('x-service-request-id'), tier: 'weak', agrees: true } },
    });
    expect(shadow?.costNanoUsd).toBeGreaterThan(0);
    expect(shadow?.holdNanoUsd).toBeGreaterThan(2_048 * 1_000);
  });

  test('tells whether the two agree, and what is said of the one then teaches of both', async () => {
    const { gateway, b } = await start();
    b.script(answer('41'));
    const { header } = await gateway.post(ask('Six times seven?'));
    const records = await gateway.settled(2);
    expect(records[1]?.detail.shadow).toMatchObject({ agrees: false });
    const told = await request(gateway.origin, {
      path: `/v1/requests/${header('x-service-request-id')}/feedback`,
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      body: { good: true },
    });
    expect(told.json()).toMatchObject({ learnt: true });
  });

  test('keeps nobody waiting, and a daemon that stops waits for no answer of it', async () => {
    const { gateway, b } = await start();
    b.script(hang());
    expect((await gateway.post(ask('Six times seven?'))).status).toBe(200);
    await b.nextRequest();
    expect((await gateway.post(ask('And now?', { service: { route: false } }))).status).toBe(200);
    expect(gateway.holds()).toBe(1);
    await gateway.stop();
  });

  test('that fails harms nothing, and is on record', async () => {
    const { gateway, b } = await start();
    b.script(status(500));
    for (let i = 0; i < 8; i++) {
      expect((await gateway.post(ask(`Six times ${i}?`))).status).toBe(200);
      await gateway.settled(2 * (i + 1));
    }
    const shadows = (await gateway.records()).filter(({ flags }) => flags.includes('shadow'));
    expect(shadows).toHaveLength(8);
    expect(shadows[0]).toMatchObject({ outcome: 'upstream_error', status: 500, costNanoUsd: 0 });
    // Five failures in a row would have opened the breaker.
    expect((await b.nextRequest()).method).toBe('POST');
    expect(b.requests).toHaveLength(8);
  });

  test('is settled and compared with nothing where its answer is nested without end', async () => {
    const { gateway, b } = await start();
    b.script(answer(`${'['.repeat(100_000)}${']'.repeat(100_000)}`));
    await gateway.post(ask('Six times seven?'));
    const [, shadow] = await gateway.settled(2);
    expect(shadow).toMatchObject({ outcome: 'ok', detail: { shadow: { agrees: null } } });
  });

  test('crosses to a provider of the other wire', async () => {
    const { gateway, b } = await start({ wires: ['openai', 'anthropic'] });
    const message = { type: 'message', role: 'assistant', content: [{ type: 'text', text: '42' }] };
    b.script(
      json(200, { ...message, stop_reason: 'end_turn', usage: { input_tokens: 9, output_tokens: 1 } }),
    );
    await gateway.post(ask('Six times seven?'));
    const [, shadow] = await gateway.settled(2);
    expect(shadow).toMatchObject({ provider: 'b', outputTokens: 1, detail: { shadow: { agrees: true } } });
    expect((await b.nextRequest()).path).toBe('/v1/messages');
  });

  test('compares calls of tools', async () => {
    const { gateway, a, b } = await start();
    const calling = (given: string) => {
      const tool_calls = [{ id: 'c', type: 'function', function: { name: 'f', arguments: given } }];
      const choice = { index: 0, finish_reason: 'tool_calls', message: { role: 'assistant', tool_calls } };
      return json(200, { choices: [choice], usage: { prompt_tokens: 9, completion_tokens: 5 } });
    };
    a.script(calling('{"x": 1}'));
    b.script(calling('{"x":1}'));
    await gateway.post(ask('Call it.', { tools: [tool] }));
    expect((await gateway.settled(2))[1]?.detail.shadow).toMatchObject({ agrees: true });
  });
});

describe('what a shadow may cost', () => {
  /** The cheap tier is at a provider of a name that gw knows. */
  async function startWith(weak: string) {
    const upstream = await startUpstream({ script: answer('42') });
    const gateway = await startGateway({ budget: { period: 'daily', capUsd: 10 } });
    onTestFinished(() => closeAll({ gateway, upstreams: [upstream], hits: () => [] }));
    gateway.configure({
      ...SHADOWS,
      'routing.shadow_budget': '$5',
      tiers: { 'test-model': `strong: mock/test-model; fast: ${weak}/w` },
      providers: { [weak]: { baseUrl: upstream.url } },
    });
    await gateway.setPrice({ provider: weak, model: 'w', inputPicoUsd: 1e6, outputPicoUsd: 1e6 });
    gateway.upstream.script(answer('42'));
    return { gateway, upstream };
  }
  const askMock = (fields: object = {}) => ({ ...ask('Six times seven?', fields), model: 'test-model' });

  test.each<[string, object]>([
    ['openrouter', { provider: { max_price: { prompt: 1.000000001, completion: 1.000000001, request: 0 } } }],
    ['openai', { service_tier: 'default' }],
    ['azure', { service_tier: 'default' }],
  ])('is kept to what was held at %s', async (weak, terms) => {
    const { gateway, upstream } = await startWith(weak);
    await gateway.post(askMock());
    expect(JSON.parse((await upstream.nextRequest()).body.toString())).toMatchObject(terms);
    await gateway.settled(2);
  });

  test('is held with thoughts that its shorter limit does not limit', async () => {
    const { gateway, upstream } = await startWith('openrouter');
    const usage = { prompt_tokens: 10, completion_tokens: 50_000 };
    const message = { role: 'assistant', content: '42' };
    upstream.script(json(200, { choices: [{ index: 0, message, finish_reason: 'stop' }], usage }));
    await gateway.post(askMock({ reasoning: { max_tokens: 50_000 } }));
    const [, shadow] = await gateway.settled(2);
    expect(shadow).toMatchObject({ costNanoUsd: 50_010_000, flags: ['shadow'] });
  });

  test.each<[string, (exchange: Exchange) => Promise<void>]>([
    ['breaks off', async (exchange) => exchange.reset()],
    ['grows too long', (exchange) => exchange.write('and so on '.repeat(120_000)).catch(() => {})],
  ])('is no less than what came of an answer that %s', async (_how, end) => {
    const { gateway, upstream } = await startWith('other');
    upstream.script(async (exchange) => {
      await exchange.body;
      const body = `{"choices":[{"index":0,"message":{"role":"assistant","content":"${'and so on '.repeat(600)}`;
      const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9000000\r\n\r\n';
      await exchange.write(head + body);
      await end(exchange);
    });
    await gateway.post(askMock());
    const [, shadow] = await gateway.settled(2);
    expect(shadow?.costNanoUsd).toBeGreaterThanOrEqual(1_800 * 1_000);
  });
});

describe('no shadow', () => {
  /** What comes first has none; of what comes behind it the shadow shows that there would have been time for one. */
  async function expectNone(several: Awaited<ReturnType<typeof start>>, body: object): Promise<void> {
    const { gateway, b } = several;
    expect((await gateway.post(body)).status).toBe(200);
    await gateway.post(ask('Six times seven?'));
    await gateway.settled(3);
    expect(b.requests).toHaveLength(1);
  }

  test.each<[string, object]>([
    ['of several choices', ask('Seven?', { n: 2 })],
    ['where routing is off', ask('Seven?', { service: { route: false } })],
    ['of what the provider’s own tools do', ask('Seven?', { web_search_options: {} })],
    [
      'inside a loop of tools',
      ask('Seven?', {
        messages: [
          { role: 'user', content: 'Seven?' },
          { role: 'assistant', tool_calls: [{ id: 'c', ...tool }] },
          { role: 'tool', tool_call_id: 'c', content: '7' },
        ],
      }),
    ],
    [
      'of what the other tier cannot take',
      ask('Seven?', { messages: [{ role: 'user', content: 'x'.repeat(300 * 1024) }] }),
    ],
  ])('%s', async (_name, body) => {
    await expectNone(await start(), body);
  });

  test('of an answer that can be worded in many ways', async () => {
    const several = await start();
    several.a.queue(answer('It is forty-two, I think.'));
    await expectNone(several, ask('Seven?'));
  });

  test.each<[string, (db: Db) => Promise<void>]>([
    ['paused', (db) => setPaused(db, 'web', Date.now())],
    ['removed', (db) => removeProject(db, 'web', Date.now())],
  ])('for a project that was %s meanwhile', async (_how, stopProject) => {
    const { gateway, a, b } = await start();
    await gateway.newProject('web');
    const headers = { authorization: `Bearer ${await gateway.newKey('web')}` };
    a.script(async (exchange) => {
      await stopProject(gateway.db);
      await answer('42')(exchange);
    });
    expect((await gateway.post(ask('Seven?'), { headers })).status).toBe(200);
    await gateway.settled(1);
    await gateway.get('/health');
    await gateway.stop();
    expect(b.requests).toEqual([]);
  });

  test('where the database cannot be read, which harms nothing', async () => {
    const { gateway, a, b } = await start();
    a.script(async (exchange) => {
      gateway.db.exec('ALTER TABLE projects RENAME COLUMN paused_at TO lost');
      await answer('42')(exchange);
    });
    expect((await gateway.post(ask('Seven?'))).status).toBe(200);
    await until(() => gateway.logged.some(({ msg }) => /no such column/.test(String(msg))));
    expect(b.requests).toEqual([]);
    expect((await gateway.get('/health')).status).toBe(200);
    gateway.db.exec('ALTER TABLE projects RENAME COLUMN lost TO paused_at');
  });

  test('unless it is asked for', async () => {
    const { gateway, b } = await start({ settings: {} });
    for (let i = 0; i < 3; i++) await gateway.post(ask('Seven?'));
    await gateway.stop();
    expect(b.requests).toEqual([]);
  });

  test('beyond what shadows may spend a day, whatever else is spent', async () => {
    const settings = { ...SHADOWS, 'routing.shadow_budget': '$0.005' };
    const { gateway, b } = await start({ settings });
    const body = { content: '42', usage: { prompt_tokens: 1_000, completion_tokens: 1_000 } };
    b.script(json(200, { choices: [{ index: 0, message: body, finish_reason: 'stop' }], usage: body.usage }));
    // One is held at some $0.0027, and costs $0.002: there is room for two, and none for a third.
    for (let i = 0; i < 3; i++) {
      await gateway.post(ask(`Six times ${i}?`));
      await gateway.settled([2, 4, 5][i] ?? 0);
    }
    expect(b.requests).toHaveLength(2);
  });

  test('beyond what those of two daemons on one database may spend together', async () => {
    const options = {
      database: join(tmpHome(), 'shared.db'),
      settings: { ...SHADOWS, 'routing.shadow_budget': '$0.003' },
    };
    const [one, two] = [await start(options), await start(options)];
    const gate = createGate();
    one.b.script(async (exchange) => {
      await gate.pass();
      await answer('42')(exchange);
    });
    await one.gateway.post(ask('Six?'));
    await one.b.nextRequest();
    for (const question of ['Seven?', 'Eight?']) await two.gateway.post(ask(question));
    gate.openForGood();
    expect(await one.gateway.settled(4)).toHaveLength(4);
    expect(two.b.requests).toEqual([]);
  });

  test('of two at once, where there is room for one', async () => {
    const { gateway, a, b } = await start({ settings: { ...SHADOWS, 'routing.shadow_budget': '$0.003' } });
    const gate = createGate();
    a.script(async (exchange) => {
      await gate.pass();
      await answer('42')(exchange);
    });
    const answers = ['Six?', 'Seven?'].map((question) => gateway.post(ask(question)));
    await until(() => a.requests.length === 2);
    gate.openForGood();
    await Promise.all(answers);
    const records = await gateway.settled(3);
    expect(records.filter(({ flags }) => flags.includes('shadow'))).toHaveLength(1);
    expect(b.requests).toHaveLength(1);
  });

  test.each([
    [0.002, 0],
    [0.0025, 0],
    [0.0035, 1],
  ])('where a budget of $%d has no fifth to spare, and nothing is told of that', async (capUsd, shadows) => {
    const settings = { ...SHADOWS, 'admission.min_output_tokens': 10 };
    // A shadow is held at some $0.0022; what is asked is cut to the room that there is.
    const { gateway, b } = await start({ settings, budget: { period: 'daily', capUsd } });
    for (let i = 0; i < 3; i++) expect((await gateway.post(ask(`Six times ${i}?`))).status).toBe(200);
    const records = await gateway.settled(3 + shadows);
    expect(records.every(({ outcome }) => outcome === 'ok')).toBe(true);
    expect(b.requests.length > 0).toBe(shadows > 0);
    expect(gateway.db.prepare('SELECT type FROM events').all()).toEqual([]);
  });
});
