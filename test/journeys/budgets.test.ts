import { describe, expect, test } from 'vitest';
import { completion } from '../support/chat-scripts.ts';
import { usageOf } from '../support/chat-shapes.ts';
import type { RawResponse } from '../support/client.ts';
import { createGate } from '../support/gate.ts';
import {
  type GatewayOptions,
  PLAIN,
  requestsIn,
  STREAM,
  startGateway,
  type TestGateway,
} from '../support/gateway.ts';
import type { TestBudget } from '../support/home.ts';
import { json, status } from '../support/scripts.ts';
import { sse } from '../support/sse-scripts.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const DIME = 100_000_000;
/** A request that costs $0.10, no less and no more: one output token of $0.10. */
const TEN_CENTS = { ...PLAIN, max_tokens: 1 };
const USAGE = usageOf(5, 1);

async function tenCentGateway(capUsd: number, options: GatewayOptions = {}): Promise<TestGateway> {
  return startGateway({
    price: { input: 0, output: 100_000 },
    budget: { period: 'daily', capUsd },
    ...options,
  });
}

function money({ db }: TestGateway) {
  return db
    .prepare('SELECT posted_nano_usd AS posted, pending_nano_usd AS pending FROM budget_periods')
    .get();
}

function events({ db }: TestGateway): Record<string, number> {
  const rows = db.prepare('SELECT type, count(*) AS n FROM events GROUP BY type').all() as {
    type: string;
    n: number;
  }[];
  return Object.fromEntries(rows.map(({ type, n }) => [type, n]));
}

const errorOf = (answer: RawResponse) => (answer.json() as { error: Record<string, unknown> }).error;

describe('a cap is a cap', () => {
  const count = process.env.GW_LONG ? 1_000 : 200;
  test.each([
    ['plain', TEN_CENTS],
    ['streaming', { ...TEN_CENTS, stream: true }],
  ])(
    `${count} requests of 10 cents at once on a cap of 5 dollars (%s): 50 are answered, and exactly 5 dollars are spent`,
    async (_name, body) => {
      const gateway = await tenCentGateway(5);
      gateway.upstream.script(async (exchange) => {
        await exchange.body;
        await ('stream' in body ? sse(['x'], { usage: USAGE }) : completion({ usage: USAGE }))(exchange);
      });
      const answers = await Promise.all(Array.from({ length: count }, () => gateway.post(body)));
      const by = (code: number) => answers.filter(({ status }) => status === code);
      expect([by(200).length, by(402).length]).toEqual([50, count - 50]);
      expect(gateway.upstream.requests).toHaveLength(50);
      const records = await gateway.settled(count);
      expect(requestsIn(records)).toBe(count);
      expect(requestsIn(records.filter(({ outcome }) => outcome === 'blocked'))).toBe(count - 50);
      expect(money(gateway)).toEqual({ posted: 50 * DIME, pending: 0 });
      expect(events(gateway)).toEqual({
        'budget.threshold_reached': 1,
        'budget.exceeded': 1,
        // A hundred, and one for those that share a record: two where a minute ended.
        'request.blocked': expect.toSatisfy((n) => n >= 100 && n <= 202),
      });
      expect((await gateway.get('/v1/usage')).json()).toMatchObject({
        total: { requests: count, blocked_requests: count - 50, cost_usd: 5 },
      });
    },
    60_000,
  );

  test('the tighter of two budgets limits, and both are charged', async () => {
    const gateway = await tenCentGateway(5, { alone: true });
    await gateway.setBudget({ period: 'monthly', capUsd: 0.35 });
    gateway.upstream.script(completion({ usage: USAGE }));
    const answers = await Promise.all(Array.from({ length: 10 }, () => gateway.post(TEN_CENTS)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
    expect(errorOf(answers.find(({ status }) => status === 402) as RawResponse)).toMatchObject({
      budget_id: 'default/monthly',
    });
    const rows = gateway.db.prepare('SELECT posted_nano_usd AS posted FROM budget_periods').all();
    expect(rows).toEqual([{ posted: 3 * DIME }, { posted: 3 * DIME }]);
  });

  test('projects do not share caps', async () => {
    const gateway = await tenCentGateway(0.2);
    const web = await gateway.newProject('web');
    await gateway.setBudget({ period: 'daily', capUsd: 0.3 }, web);
    const key = await gateway.newKey('web');
    gateway.upstream.script(completion({ usage: USAGE }));
    const post = (bearer: string) =>
      gateway.post(TEN_CENTS, { headers: { authorization: `Bearer ${bearer}` } });
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => [post(gateway.key), post(key)]).flat(),
    );
    const served = (which: number) =>
      answers.filter(({ status }, i) => i % 2 === which && status === 200).length;
    expect([served(0), served(1)]).toEqual([2, 3]);
  });
});

describe('the refusal', () => {
  async function refused(headers: Record<string, string> = {}, body: object = TEN_CENTS) {
    const gateway = await tenCentGateway(0.05);
    const answer = await gateway.post(body, { headers });
    return { gateway, answer };
  }

  test('is a 402 that says what to do and asks not to retry', async () => {
    const { gateway, answer } = await refused();
    expect(answer.status).toBe(402);
    expect([answer.header('x-should-retry'), answer.header('retry-after')]).toEqual(['false', undefined]);
    const error = errorOf(answer);
    expect(error).toMatchObject({
      type: 'insufficient_quota',
      code: 'budget_exceeded',
      param: null,
      budget_id: 'default/daily',
      spent_usd: 0,
      cap_usd: 0.05,
      needed_usd: 0.1,
      command: 'gw budget set 0.2 --period daily -p default',
    });
    expect(error.message).toContain('default/daily');
    expect(error.message).toContain(String(error.command));
    expect(new Date(String(error.reset_at)).getUTCHours()).toBe(0);
    expect(await gateway.records()).toMatchObject([{ outcome: 'blocked', status: 402, costNanoUsd: 0 }]);
    expect(gateway.upstream.requests).toHaveLength(0);
  });

  test('of a stream is the same, and comes before any event', async () => {
    const { answer } = await refused({}, { ...TEN_CENTS, stream: true });
    expect([answer.status, answer.header('content-type')]).toEqual([402, 'application/json']);
  });

  test.each(['codex_cli_rs', 'codex_vscode'])(
    'for %s is the 429 that it shows and does not retry',
    async (originator) => {
      const { answer } = await refused({ originator });
      expect(answer.status).toBe(429);
      const error = errorOf(answer);
      expect(error).toMatchObject({ type: 'usage_limit_reached', code: 'budget_exceeded' });
      expect(error.resets_at).toBe(Date.parse(String(error.reset_at)) / 1000);
      expect(answer.header('x-codex-promo-message')).toBe(error.message);
      expect([answer.header('x-should-retry'), answer.header('retry-after')]).toEqual(['false', undefined]);
    },
  );

  test('for other originators is a 402', async () => {
    expect((await refused({ originator: 'opencode' })).answer.status).toBe(402);
  });

  test('ends with the next request after the cap is raised', async () => {
    const { gateway } = await refused();
    await gateway.setBudget({ period: 'daily', capUsd: 0.1 });
    gateway.upstream.queue(completion({ usage: USAGE }));
    expect((await gateway.post(TEN_CENTS)).status).toBe(200);
  });

  test('suggests a cap that is enough, for the same period, up to the largest cap', async () => {
    const commandFor = async (budget: TestBudget, price: number, spent: number, asked: number) => {
      const gateway = await startGateway({ price: { input: 0, output: price }, budget });
      gateway.upstream.queue(completion({ usage: usageOf(1, spent) }));
      if (spent > 0) await gateway.post({ ...PLAIN, max_tokens: spent });
      const answer = await gateway.post({ ...PLAIN, max_tokens: asked });
      return errorOf(answer).command;
    };
    // $0.0074 is spent, and the request needs $0.0036.
    expect(await commandFor({ period: 'daily', capUsd: 0.00745 }, 100, 74, 36)).toBe(
      'gw budget set 0.02 --period daily -p default',
    );
    expect(await commandFor({ period: 'rolling', windowMs: 90_000, capUsd: 0.05 }, 100_000, 0, 1)).toBe(
      'gw budget set --max-rate 0.2/90s -p default',
    );
    // A request has to afford 256 tokens.
    expect(await commandFor({ period: 'daily', capUsd: 600_000 }, 2_500_000_000, 0, 700_000)).toBe(
      'gw budget set 1000000 --period daily -p default',
    );
  });

  test('for an unknown price names the command that sets it', async () => {
    const gateway = await tenCentGateway(5, { price: null });
    const answer = await gateway.post(TEN_CENTS);
    expect(answer.status).toBe(402);
    expect(answer.header('x-should-retry')).toBe('false');
    expect(errorOf(answer)).toMatchObject({
      type: 'insufficient_quota',
      code: 'price_unknown',
      command: 'gw prices set mock/test-model --input X --output Y',
    });
    expect(await gateway.records()).toMatchObject([{ status: 402, costNanoUsd: 0 }]);
    expect(gateway.upstream.requests).toHaveLength(0);
    await gateway.setPrice({ model: 'test-model', inputPicoUsd: 1, outputPicoUsd: 1 });
    expect((await gateway.post(TEN_CENTS)).status).toBe(200);
  });
});

describe('an exhausted budget', () => {
  test('admits free models only', async () => {
    const gateway = await tenCentGateway(0.1);
    gateway.upstream.queue(completion({ usage: USAGE }));
    await gateway.post(TEN_CENTS);
    expect((await gateway.post(TEN_CENTS)).status).toBe(402);
    await gateway.setPrice({ model: 'free-model', inputPicoUsd: 0, outputPicoUsd: 0 });
    expect((await gateway.post({ ...PLAIN, model: 'mock/free-model' })).status).toBe(200);
    expect((await gateway.post({ ...PLAIN, model: 'sandbox/free' })).status).toBe(200);
    expect((await gateway.post({ ...PLAIN, model: 'sandbox/echo' })).status).toBe(402);
    expect(money(gateway)).toEqual({ posted: DIME, pending: 0 });
  });

  test('admits local runtimes', async () => {
    const gateway = await tenCentGateway(0);
    gateway.configure({ providers: { ollama: { baseUrl: gateway.upstream.url } } });
    expect((await gateway.post({ ...PLAIN, model: 'ollama/llama3' })).status).toBe(200);
    expect(await gateway.settled(1)).toMatchObject([{ costNanoUsd: 0, flags: [], holdNanoUsd: 0 }]);
  });
});

describe('room that running requests hold', () => {
  test('is given to waiting requests, first come, first served', async () => {
    const gateway = await tenCentGateway(0.4);
    const gate = createGate();
    gateway.upstream.script(async (exchange) => {
      const { user } = JSON.parse((await exchange.body).toString());
      await gate.pass();
      // The first four cost nothing in the end, which makes room for the four that wait.
      const answer = Number(user) < 4 ? { content: '', usage: usageOf(5, 0) } : { usage: usageOf(5, 1) };
      await completion(answer)(exchange);
    });
    const answers: Promise<RawResponse>[] = [];
    for (let i = 0; i < 8; i++) {
      answers.push(gateway.post({ ...TEN_CENTS, user: String(i) }));
      if (i < 4) await gateway.upstream.nextRequest();
      // An answer on another connection shows that the request before has been read.
      await gateway.get('/health');
    }
    for (const next of ['4', '5', '6', '7']) {
      gate.open();
      const seen = await gateway.upstream.nextRequest();
      expect(JSON.parse(seen.body.toString()).user).toBe(next);
    }
    gate.openForGood();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(8).fill(200));
    await gateway.committed();
    expect(money(gateway)).toEqual({ posted: 4 * DIME, pending: 0 });
  });

  test('that is not freed in time is a 429 budget_busy with retry-after', async () => {
    const gateway = await tenCentGateway(0.1, { settings: { 'admission.max_wait_ms': 50 } });
    const gate = createGate();
    gateway.upstream.queue(async (exchange) => {
      await gate.pass();
      await completion({ usage: USAGE })(exchange);
    });
    const first = gateway.post(TEN_CENTS);
    await gateway.upstream.nextRequest();
    const answer = await gateway.post(TEN_CENTS);
    expect([answer.status, answer.header('retry-after')]).toEqual([429, '2']);
    expect(errorOf(answer)).toMatchObject({
      type: 'rate_limit_error',
      code: 'budget_busy',
      budget_id: 'default/daily',
    });
    gate.openForGood();
    expect((await first).status).toBe(200);
    expect((await gateway.settled(2)).map(({ outcome, status }) => [outcome, status])).toEqual(
      expect.arrayContaining([
        ['ok', 200],
        ['refused', 429],
      ]),
    );
    expect(events(gateway)['request.blocked']).toBeUndefined();
  });

  test('that is spent in the end is a 402 for the waiting request', async () => {
    const gateway = await tenCentGateway(0.1);
    const gate = createGate();
    gateway.upstream.queue(async (exchange) => {
      await gate.pass();
      await completion({ usage: USAGE })(exchange);
    });
    const first = gateway.post(TEN_CENTS);
    await gateway.upstream.nextRequest();
    const second = gateway.post(TEN_CENTS);
    await gateway.get('/health');
    gate.openForGood();
    expect([(await first).status, (await second).status]).toEqual([200, 402]);
  });

  test('is freed by an error of the provider', async () => {
    const gateway = await tenCentGateway(0.1);
    gateway.upstream.queue(status(500), status(429), completion({ usage: USAGE }));
    const codes = [];
    for (let i = 0; i < 3; i++) codes.push((await gateway.post(TEN_CENTS)).status);
    expect(codes).toEqual([500, 429, 200]);
  });
});

describe('a new period', () => {
  const NEW_YEAR = Date.UTC(2027, 0, 1);

  test('has room for the next request, and is announced once', async () => {
    const clock = createVirtualClock(NEW_YEAR - 60_000);
    const gateway = await tenCentGateway(0.1, { clock, alone: true });
    gateway.upstream.script(completion({ usage: USAGE }));
    expect((await gateway.post(TEN_CENTS)).status).toBe(200);
    const refused = await gateway.post(TEN_CENTS);
    expect([refused.status, errorOf(refused).reset_at]).toEqual([402, '2027-01-01T00:00:00.000Z']);
    await clock.advance(59_000);
    expect((await gateway.post(TEN_CENTS)).status).toBe(402);
    await clock.advance(1_000);
    expect((await gateway.post(TEN_CENTS)).status).toBe(200);
    expect((await gateway.post(TEN_CENTS)).status).toBe(402);
    expect(events(gateway)).toMatchObject({ 'budget.reset': 1, 'budget.exceeded': 2 });
    const usage = (await gateway.get('/v1/usage')).json();
    expect(usage).toMatchObject({
      data: [
        { day: '2026-12-31', cost_usd: 0.1 },
        { day: '2027-01-01', cost_usd: 0.1 },
      ],
    });
  });

  test('does not count the holds of the previous period', async () => {
    const clock = createVirtualClock(NEW_YEAR - 1_000);
    const gateway = await tenCentGateway(0.1, { clock, alone: true });
    const gate = createGate();
    gateway.upstream.script(async (exchange) => {
      await gate.pass();
      await completion({ usage: USAGE })(exchange);
    });
    const old = gateway.post(TEN_CENTS);
    await gateway.upstream.nextRequest();
    await clock.advance(2_000);
    const young = gateway.post(TEN_CENTS);
    await gateway.upstream.nextRequest();
    gate.openForGood();
    expect([(await old).status, (await young).status]).toEqual([200, 200]);
    await gateway.committed();
    const rows = gateway.db.prepare(
      'SELECT posted_nano_usd AS posted, pending_nano_usd AS pending FROM budget_periods',
    );
    expect(rows.all()).toEqual([
      { posted: DIME, pending: 0 },
      { posted: DIME, pending: 0 },
    ]);
  });
});

describe('the output limit', () => {
  /** The request that the upstream received. */
  async function sent(gateway: TestGateway, body: object) {
    gateway.upstream.queue(json(200, { choices: [], usage: USAGE }));
    const answer = await gateway.post(body);
    expect(answer.status).toBe(200);
    return JSON.parse((await gateway.upstream.nextRequest()).body.toString());
  }

  test("is written if the budget affords less than the model's maximum, in the provider's own field", async () => {
    const gateway = await startGateway({ price: null, budget: { period: 'daily', capUsd: 0.05 } });
    gateway.configure({ providers: { openai: { baseUrl: gateway.upstream.url } } });
    // gpt-4o: $2.50 and $10 for a million tokens, 16,384 tokens at most.
    const limited = await sent(gateway, { ...PLAIN, model: 'openai/gpt-4o' });
    expect(limited.max_completion_tokens).toBeGreaterThan(4_000);
    expect(limited.max_completion_tokens).toBeLessThanOrEqual(5_000);
    expect(limited.max_tokens).toBeUndefined();
    const [record] = await gateway.records();
    expect(record?.holdNanoUsd).toBeLessThanOrEqual(50_000_000);
  });

  test('is not written if the budget affords the maximum, or without a budget', async () => {
    const gateway = await startGateway({ price: null, budget: { period: 'daily', capUsd: 1 } });
    gateway.configure({ providers: { openai: { baseUrl: gateway.upstream.url } } });
    expect(await sent(gateway, { ...PLAIN, model: 'openai/gpt-4o' })).not.toHaveProperty(
      'max_completion_tokens',
    );
    const free = await startGateway();
    expect(await sent(free, PLAIN)).not.toHaveProperty('max_tokens');
  });

  test('is written as max_tokens, per choice, for a model of unknown maximum', async () => {
    const gateway = await startGateway({ budget: { period: 'daily', capUsd: 0.004 } });
    const { max_tokens, n } = await sent(gateway, { ...PLAIN, n: 4 });
    expect(n).toBe(4);
    // $2 per million: 2,000 tokens in all, less the cost of the input.
    expect(max_tokens).toBeLessThanOrEqual(500);
    expect(max_tokens).toBeGreaterThan(400);
  });

  test('of the client stays unchanged', async () => {
    const gateway = await startGateway({ budget: { period: 'daily', capUsd: 1 } });
    expect(await sent(gateway, { ...PLAIN, max_tokens: 77 })).toMatchObject({ max_tokens: 77 });
    expect(await sent(gateway, { ...PLAIN, max_completion_tokens: 78 })).toEqual(
      expect.not.objectContaining({ max_tokens: expect.anything() }),
    );
  });

  test('below the minimum is a 402 instead', async () => {
    const gateway = await startGateway({
      budget: { period: 'daily', capUsd: 0.0005 },
      settings: { 'admission.min_output_tokens': 256 },
    });
    const answer = await gateway.post(PLAIN);
    expect([answer.status, errorOf(answer).code]).toEqual([402, 'budget_exceeded']);
    expect((await gateway.post({ ...PLAIN, max_tokens: 10 })).status).toBe(200);
  });

  test('a stream that exceeds it is booked in full, and flagged if it cost more than the hold', async () => {
    const gateway = await startGateway({ budget: { period: 'daily', capUsd: 1 } });
    gateway.upstream.queue(sse(['a'], { usage: usageOf(5, 5000) }));
    await gateway.post({ ...STREAM, max_tokens: 10 });
    const [record] = await gateway.settled(1);
    expect(record).toMatchObject({ outputTokens: 5000, costNanoUsd: 5 * 1000 + 5000 * 2000 });
    expect(record?.flags).toEqual(['stream', 'overrun', 'underheld']);
  });
});

test.each([
  ['an image', '{"type":"image_url","image_url":{"url":"https://example.com/1.png"}}'],
  [
    'an image in escaped letters',
    '{"type":"image\\u005furl","image\\u005Furl":{"url":"https://example.com/1.png"}}',
  ],
  ['a file', '{"type":"file","file":{"file_id":"file-1"}}'],
  ['a file in escaped letters', '{"type":"fil\\u0065","file":{"fil\\u0065_id":"file-1"}}'],
])('%s is held for by more than its bytes', async (_name, part) => {
  const gateway = await startGateway({ alone: true, budget: { period: 'daily', capUsd: 0.01 } });
  const body = `{"model":"mock/test-model","max_tokens":5,"messages":[{"role":"user","content":[${part}]}]}`;
  expect((await gateway.post(body)).status).toBe(402);
  expect((await gateway.post(body.replace(part, '{"type":"text","text":"Hi"}'))).status).toBe(200);
});

test('the input is counted exactly if its bound does not fit', async () => {
  const gateway = await startGateway({ price: null, budget: { period: 'daily', capUsd: 0.02 } });
  gateway.configure({ providers: { openai: { baseUrl: gateway.upstream.url } } });
  // 20,000 bytes at $2.50 per million would be $0.05; they are about 4,000 tokens, or a cent.
  const content = 'The quick brown fox. '.repeat(1_000);
  gateway.upstream.queue(json(200, { choices: [], usage: usageOf(5_000, 1) }));
  const answer = await gateway.post({
    model: 'openai/gpt-4o',
    messages: [{ role: 'user', content }],
    max_tokens: 100,
  });
  expect(answer.status).toBe(200);
  const [record] = await gateway.settled(1);
  expect(record?.holdNanoUsd).toBeLessThan(20_000_000);
  expect(record?.holdNanoUsd).toBeGreaterThanOrEqual(record?.costNanoUsd ?? 0);
});
