import { describe, expect, onTestFinished, test } from 'vitest';
import { completion } from '../support/chat-scripts.ts';
import { usageOf } from '../support/chat-shapes.ts';
import type { RawResponse } from '../support/client.ts';
import { createGate } from '../support/gate.ts';
import { type GatewayOptions, PLAIN, startGateway, type TestGateway } from '../support/gateway.ts';
import { json, status } from '../support/scripts.ts';
import { startUpstream } from '../support/upstream.ts';
import { CLAUDE, startBothWires } from '../wire/support/anthropic-gateway.ts';
import { messageBody, messageUsage, text } from '../wire/support/messages-shapes.ts';

const day = (capUsd: number) => ({ budget: { period: 'daily' as const, capUsd } });
const errorOf = (answer: RawResponse) => (answer.json() as { error: Record<string, unknown> }).error;
const words = (bytes: number) => 'what '.repeat(bytes / 5);
const say = (content: string) => [{ role: 'user', content }];

/** The events in the order in which they were committed. */
function events({ db }: TestGateway): string[] {
  return db.prepare('SELECT type FROM events ORDER BY sequence').pluck().all() as string[];
}

/** `first/m` fails over to `second/m`; each has an upstream and prices of its own, in dollars per million tokens. */
async function twoProviders(first: string, options: GatewayOptions & { secondUsd?: number } = {}) {
  const { secondUsd = 2, ...rest } = options;
  const upstreams = [await startUpstream(), await startUpstream()] as const;
  const [one, two] = upstreams;
  const gateway = await startGateway({
    ...rest,
    settings: {
      aliases: { both: `${first}/gpt-4o, second/m` },
      providers: { [first]: { baseUrl: one.url }, second: { baseUrl: two.url } },
    },
    whenDone: (stop) =>
      onTestFinished(async () => {
        await stop();
        await Promise.all(upstreams.map((upstream) => upstream.close()));
      }),
  });
  const price = (provider: string, model: string, usd: number) =>
    gateway.setPrice({ provider, model, inputPicoUsd: usd * 1_000_000, outputPicoUsd: usd * 1_000_000 });
  await price(first, 'gpt-4o', 1);
  await price('second', 'm', secondUsd);
  return { gateway, one, two };
}

describe('a refusal', () => {
  test('says what is spent, held, left and needed, and why', async () => {
    const gateway = await startGateway(day(0.01));
    const gate = createGate();
    gateway.upstream.queue(completion({ usage: usageOf(1_000, 1_000) }), async (exchange) => {
      await gate.pass();
      await completion({ usage: usageOf(5, 1) })(exchange);
    });
    await gateway.post({ ...PLAIN, max_tokens: 1_000 });
    const running = gateway.post({ ...PLAIN, max_tokens: 500 });
    await gateway.upstream.nextRequest();
    await gateway.upstream.nextRequest();
    const body = { ...PLAIN, messages: say(words(7_000)), max_tokens: 400 };
    const refused = await gateway.post(body);
    const [spent, held] = await standing(gateway);
    expect([refused.status, spent]).toEqual([402, 3_000_000]);
    const bytes = JSON.stringify(body).length;
    const need = {
      input_tokens: bytes + 64,
      input_bound: 'bytes',
      output_tokens: 256,
      output_asked_tokens: 400,
      input_usd: (bytes + 64) / 1e6,
      output_usd: 0.000512,
      fees_usd: 0,
    };
    const needed = need.input_usd + need.output_usd;
    expect(errorOf(refused)).toMatchObject({
      code: 'budget_exceeded',
      budget_id: 'default/daily',
      spent_usd: 0.003,
      held_usd: held / 1e9,
      left_usd: (10_000_000 - 3_000_000 - held) / 1e9,
      cap_usd: 0.01,
      needed_usd: expect.closeTo(needed, 9),
      need: { ...need, input_usd: expect.closeTo(need.input_usd, 9) },
      reset_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT00:00:00/),
      command: 'gw budget set 0.02 --period daily -p default',
    });
    expect(errorOf(refused).message).toContain(
      'budget default/daily has no room for this request: $0.0030 of $0.01 is spent, $0.0012 is held by running requests, ' +
        `and test-model needs up to $0.0077 (at most ${bytes + 64} input tokens, counted by bytes, and 256 output tokens). It resets at `,
    );
    gate.openForGood();
    await running;
    const records = await gateway.settled(3);
    expect(records.find(({ outcome }) => outcome === 'blocked')).toMatchObject({
      detail: {
        need: { input_bound: 'bytes', output_asked_tokens: 400 },
        budget: 'default/daily',
        budget_cap_usd: 0.01,
        budget_spent_usd: 0.003,
        budget_held_usd: expect.closeTo(0.0012, 4),
      },
    });
    expect(records.filter(({ outcome }) => outcome === 'ok')).toMatchObject([
      { detail: { need: { output_tokens: 1_000, output_asked_tokens: 1_000 } } },
      { detail: { need: { output_tokens: 500, output_asked_tokens: 500 } } },
    ]);
  });

  test('for the time being says the same', async () => {
    const gateway = await startGateway({ ...day(0.01), settings: { 'admission.max_wait_ms': 20 } });
    const gate = createGate();
    gateway.upstream.queue(async (exchange) => {
      await gate.pass();
      await completion({ usage: usageOf(5, 1) })(exchange);
    });
    const running = gateway.post({ ...PLAIN, max_tokens: 4_500 });
    await gateway.upstream.nextRequest();
    const busy = await gateway.post({ ...PLAIN, messages: say(words(4_000)) });
    const [, held] = await standing(gateway);
    expect([busy.status, errorOf(busy)]).toMatchObject([
      429,
      {
        code: 'budget_busy',
        budget_id: 'default/daily',
        spent_usd: 0,
        held_usd: held / 1e9,
        left_usd: (10_000_000 - held) / 1e9,
        cap_usd: 0.01,
        need: { input_bound: 'bytes', output_tokens: 256, output_asked_tokens: null },
        message: expect.stringContaining('input tokens, counted by bytes, and 256 output tokens)'),
      },
    ]);
    gate.openForGood();
    await running;
  });

  test.each([
    ['exact', 'counted', 1],
    ['edit', 'from an earlier report', 2],
  ])('says that its input was bounded %s', async (bound, inWords, refusedAt) => {
    const { gateway, one } = await twoProviders(bound === 'exact' ? 'openai' : 'mine', day(0.025));
    one.script(completion({ usage: usageOf(2_500, 5) }));
    const model = bound === 'exact' ? 'openai/gpt-4o' : 'mine/gpt-4o';
    const ask = (more: object) =>
      gateway.post({ model, messages: say(words(20_000)), max_tokens: 300, ...more });
    for (let i = 1; i < refusedAt; i++) expect((await ask({})).status).toBe(200);
    await gateway.setBudget({ period: 'daily', capUsd: 0.003 });
    const refused = await ask({ max_tokens: 1_000_000 });
    expect([refused.status, errorOf(refused)]).toMatchObject([402, { need: { input_bound: bound } }]);
    expect(errorOf(refused).message).toContain(`input tokens, ${inWords}, and 256 output tokens)`);
  });

  test('comes after the alert, although the record that reaches the share is written late', async () => {
    const gateway = await startGateway(day(0.01));
    gateway.upstream.script(completion({ usage: usageOf(1_000, 4_000) }));
    const ask = () => gateway.post({ ...PLAIN, messages: say(words(1_000)), max_tokens: 4_100 });
    const [first, second] = [await ask(), await ask()];
    expect([first.status, second.status]).toEqual([200, 402]);
    expect(events(gateway)).toEqual(['budget.threshold_reached', 'budget.exceeded', 'request.blocked']);
  });
});

test('the first count of a prompt makes room for all that wait with the same', async () => {
  // The bytes are bounded by $0.15, the answer by $0.02; the provider counts 4,000 tokens.
  const gateway = await startGateway({ ...day(1), price: { input: 10, output: 50 } });
  const gate = createGate();
  gateway.upstream.script(async (exchange) => {
    await gate.pass();
    await completion({ usage: usageOf(4_000, 400) })(exchange);
  });
  const body = { ...PLAIN, messages: say(words(14_000)), max_tokens: 400 };
  const answers = Array.from({ length: 40 }, () => gateway.post(body));
  const arrivals = async (count: number) => {
    for (let i = 0; i < count; i++) await gateway.upstream.nextRequest();
  };
  await arrivals(6);
  gate.open(6);
  await arrivals(10);
  gate.openForGood();
  const statuses = (await Promise.all(answers)).map((answer) => answer.status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(16);
  expect(await standing(gateway)).toEqual([960_000_000, 0]);
});

/** The money that is spent, and the money that is held. */
async function standing(gateway: TestGateway): Promise<[number, number]> {
  await gateway.committed();
  const row = gateway.db.prepare('SELECT posted_nano_usd, pending_nano_usd FROM budget_periods').raw().get();
  return row as [number, number];
}

describe('a request that moves on to another provider', () => {
  const BODY = { model: 'both', messages: say(words(20_000)), max_tokens: 300 };
  const BYTES = 20_000;

  test('is held there by the tokenizer, the reports and the prices that count there', async () => {
    const { gateway, one, two } = await twoProviders('openai', { ...day(0.1), secondUsd: 3 });
    one.queue(completion({ usage: usageOf(4_000, 5) }), status(500));
    two.queue(completion({ usage: usageOf(BYTES, 300) }));
    // The first provider has counted the prompt by then, and has a tokenizer that gw knows.
    expect((await gateway.post(BODY)).status).toBe(200);
    expect((await gateway.post(BODY)).status).toBe(200);
    const [, moved] = await gateway.settled(2);
    expect(moved).toMatchObject({
      provider: 'second',
      flags: [],
      costNanoUsd: 3_000 * (BYTES + 300),
      detail: { need: { input_bound: 'bytes' }, attempts: [{ outcome: '500' }, {}] },
    });
    expect(moved?.holdNanoUsd).toBeGreaterThanOrEqual(3_000 * (BYTES + 300));
    expect(moved?.holdNanoUsd).toBeLessThan(3_000 * (BYTES + 1_000));
  });

  test('is not sent there where only the count for the first one fits', async () => {
    const { gateway, one, two } = await twoProviders('openai', day(0.015));
    one.queue(status(500));
    const answer = await gateway.post(BODY);
    expect([answer.status, two.requests]).toEqual([500, []]);
    expect(await gateway.settled(1)).toMatchObject([{ provider: 'openai', costNanoUsd: 0 }]);
    expect(await standing(gateway)).toEqual([0, 0]);
  });

  test('is counted exactly at the next one too, where that has a known tokenizer', async () => {
    const { gateway, one, two } = await twoProviders('mine', { ...day(0.03), secondUsd: 1 });
    gateway.configure({
      aliases: { both: 'mine/gpt-4o, openai/gpt-4o' },
      providers: { mine: { baseUrl: one.url }, openai: { baseUrl: two.url } },
    });
    await gateway.setPrice({ provider: 'openai', model: 'gpt-4o', inputPicoUsd: 2e6, outputPicoUsd: 2e6 });
    one.queue(status(500));
    two.queue(completion({ usage: usageOf(4_000, 300) }));
    expect((await gateway.post(BODY)).status).toBe(200);
    const [moved] = await gateway.settled(1);
    expect(moved).toMatchObject({ provider: 'openai', detail: { need: { input_bound: 'exact' } } });
    expect(moved?.holdNanoUsd).toBeGreaterThanOrEqual(2_000 * 4_300);
  });
});

/** A request as Claude Code sends it: tools of 40 kB, a system block for the bill, cache marks, and code that it has read. */
function claudeCodeRequest(model: string, bytes: number) {
  const cache_control = { type: 'ephemeral' };
  const tools = Array.from({ length: 20 }, (_, i) => ({
    name: `Tool${i}`,
    description: `Runs a command in the shell and returns its output, number ${i}.\n`.repeat(29),
    input_schema: {
      type: 'object',
      properties: {
        command: { type: 'string', description: 'The command to run' },
        timeout: { type: 'number' },
      },
      required: ['command'],
    },
  }));
  const system = [
    text('x-anthropic-billing-header: cc_version=2.1.36.abc; cch=0f3a9;'),
    { ...text('You are Claude Code, the official command line agent.'), cache_control },
    { ...text('Keep answers short. Never commit unless asked.\n'.repeat(250)), cache_control },
  ];
  const messages: object[] = [{ role: 'user', content: [text('Find out why the test fails, and mend it.')] }];
  const body = {
    model,
    max_tokens: 32_000,
    stream: true,
    metadata: { user_id: 'user_1_account__session_2' },
    thinking: { type: 'enabled', budget_tokens: 10_000 },
    tools,
    system,
    messages,
  };
  let size = JSON.stringify(body).length;
  for (let i = 0; size < bytes; i++) {
    const id = `toolu_${i}`;
    const code = Array.from(
      { length: Math.min(120, Math.ceil((bytes - size) / 50)) },
      (_, line) => `${line}\tconst value${i * line} = read("${(i * 7919 + line * 104_729) % 1e6}");`,
    );
    const turn = [
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id, name: 'Tool1', input: { command: `cat src/${i}.ts` } }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: code.join('\n') }] },
    ];
    messages.push(...turn);
    size += JSON.stringify(turn).length;
  }
  return body;
}

test.each([
  ['Sonnet', CLAUDE],
  ['Opus', 'claude-opus-4-7'],
])(
  'a first request of Claude Code, 456 kB with 32,000 tokens of output, fits into 5 fresh dollars on %s',
  async (_, model) => {
    const gateway = await startBothWires(day(5));
    gateway.upstream.queue(json(200, messageBody([text('Done')], { usage: messageUsage(150_000, 500) })));
    const body = claudeCodeRequest(model, 456_000);
    expect(JSON.stringify(body.tools).length).toBeGreaterThan(40_000);
    const answer = await gateway.post(body, { path: '/v1/messages' });
    expect([answer.status, answer.header('x-service-max-output-tokens')]).toEqual([200, undefined]);
    const [record] = await gateway.settled(1);
    expect(record).toMatchObject({
      outcome: 'ok',
      detail: { need: { input_bound: 'bytes', output_tokens: 32_000, output_asked_tokens: 32_000 } },
    });
    expect(record?.holdNanoUsd).toBeLessThan(5e9);
  },
);

describe('a small prompt', () => {
  /** $1,000 a million tokens: a request with 60 tokens of input and 40 of output is $0.10. */
  async function dear(capUsd: number, endpoint: string) {
    const gateway = await startGateway(day(capUsd));
    await gateway.setPrice({
      model: 'test-model',
      inputPicoUsd: 1_000_000_000,
      outputPicoUsd: 1_000_000_000,
    });
    const gate = createGate();
    gateway.upstream.script(async (exchange) => {
      await gate.pass();
      const usage = { input_tokens: 60, output_tokens: 40, total_tokens: 100 };
      const answer = endpoint.endsWith('responses')
        ? json(200, {
            id: 'resp_1',
            object: 'response',
            status: 'completed',
            model: 'test-model',
            output: [],
            usage,
          })
        : completion({ usage: usageOf(60, 40) });
      await answer(exchange);
    });
    const bodies: Record<string, object> = {
      '/v1/chat/completions': { ...PLAIN, max_tokens: 40 },
      '/v1/responses': { model: PLAIN.model, input: 'Say hello', max_output_tokens: 40, store: false },
    };
    return { gateway, gate, send: () => gateway.post(bodies[endpoint] ?? {}, { path: endpoint }) };
  }

  test.each(['/v1/chat/completions', '/v1/responses'])(
    'is held by its count, so that a cap is used to the last cent by requests one after another: %s',
    async (endpoint) => {
      const { gateway, gate, send } = await dear(5, endpoint);
      gate.openForGood();
      for (let i = 0; i < 50; i++) expect((await send()).status).toBe(200);
      expect((await send()).status).toBe(402);
      expect(await standing(gateway)).toEqual([5_000_000_000, 0]);
    },
  );

  test('is held by its count where many are sent at once', async () => {
    const { gateway, gate, send } = await dear(5, '/v1/chat/completions');
    const answers = Array.from({ length: 60 }, send);
    await gateway.upstream.nextRequest();
    gate.openForGood();
    const statuses = (await Promise.all(answers)).map((answer) => answer.status);
    expect(statuses.filter((each) => each === 200)).toHaveLength(50);
    expect(await standing(gateway)).toEqual([5_000_000_000, 0]);
  });

  test('is not remembered where the cap has room for many more', async () => {
    const { gateway, gate, send } = await dear(500, '/v1/chat/completions');
    gate.openForGood();
    for (let i = 0; i < 3; i++) await send();
    const bounded = { detail: { need: { input_bound: 'bytes' } } };
    expect(await gateway.settled(3)).toMatchObject([bounded, bounded, bounded]);
  });
});
