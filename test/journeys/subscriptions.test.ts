import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openConnection, type RawResponse, request, requestBytes } from '../support/client.ts';
import { createGate } from '../support/gate.ts';
import { type GatewayOptions, type TestGateway, until } from '../support/gateway.ts';
import { json, reset, respond } from '../support/scripts.ts';
import { subscriptionsAt } from '../support/subscriptions.ts';
import { startUpstream } from '../support/upstream.ts';
import { CLAUDE, startBothWires } from '../wire/support/anthropic-gateway.ts';
import { events } from '../wire/support/event-scripts.ts';
import { messageBody, messageStream, text } from '../wire/support/messages-shapes.ts';
import { completedEvents } from '../wire/support/responses-shapes.ts';
import { sentHeader } from '../wire/support/send.ts';

const CANARY = 'canaryQ7xW2';
const TOKEN = `Bearer sk-ant-oat01-${CANARY}`;
const JWT = `Bearer eyJhbGciOiJSUzI1NiJ9.eyJ${CANARY}.c2lnbmF0dXJl`;
const ALLOW = { 'passthrough.subscriptions': 'allow' } as const;
const LIMITS = {
  'anthropic-ratelimit-unified-status': 'allowed',
  'anthropic-ratelimit-unified-5h-utilization': '0.31',
};

interface Parts {
  path?: string;
  headers?: Record<string, string>;
}

async function start(options: GatewayOptions = {}) {
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  const gateway = await startBothWires({
    upstream,
    subscriptions: subscriptionsAt(upstream),
    ...options,
    settings: { ...ALLOW, ...options.settings },
  });
  const ask = (authorization: string, body: unknown, { path, headers }: Parts): Promise<RawResponse> =>
    request(gateway.origin, {
      path: path ?? '/v1/messages?beta=true',
      headers: { authorization, 'x-gw-key': gateway.key, ...headers },
      body,
    });
  return {
    gateway,
    asClaude: (body: unknown = MESSAGE, parts: Parts = {}) => ask(TOKEN, body, parts),
    asCodex: (body: unknown, parts: Parts = {}) =>
      ask(JWT, body, {
        path: '/v1/responses',
        ...parts,
        headers: { 'chatgpt-account-id': 'acc_1', ...parts.headers },
      }),
    ask,
  };
}

const MESSAGE = {
  model: CLAUDE,
  max_tokens: 1_000,
  system: [text('x-anthropic-billing-header: cc_version=2.1.329.3c4;'), text('You are Claude Code.')],
  messages: [{ role: 'user', content: 'Hi' }],
};
const RESPONSE = { model: 'gpt-5.2', input: 'Hi', stream: true, store: false };
const BUDGET = { capUsd: 1, period: 'daily' } as const;

/** What a message of 20 tokens in and 5 out costs at list price: $3 and $15 for a million. */
const LIST_NANO_USD = 20 * 3_000 + 5 * 15_000;

async function spentOf(gateway: TestGateway): Promise<number> {
  const { data } = (await gateway.get('/v1/budgets')).json() as { data: { spent_usd: number }[] };
  return data[0]?.spent_usd ?? Number.NaN;
}

describe('a login of the client', () => {
  test('goes to its own service as it is, with the body, beta headers and query', async () => {
    const { gateway, asClaude } = await start();
    gateway.upstream.queue(json(200, messageBody([text('Hello')]), LIMITS));
    const beta = 'oauth-2025-04-20,claude-code-20250219';
    const answer = await asClaude(MESSAGE, {
      headers: { 'anthropic-beta': beta, 'user-agent': 'claude-cli/2.1.329 (external, cli)' },
    });
    expect(answer.status).toBe(200);
    const [sent] = gateway.upstream.requests;
    expect(sent?.path).toBe('/v1/messages?beta=true');
    expect(sent?.body.toString()).toBe(JSON.stringify(MESSAGE));
    expect(sentHeader(gateway, 'authorization')).toBe(TOKEN);
    expect(sentHeader(gateway, 'anthropic-beta')).toBe(beta);
    expect(sentHeader(gateway, 'user-agent')).toBe('claude-cli/2.1.329 (external, cli)');
    for (const name of ['x-gw-key', 'x-api-key']) expect(sentHeader(gateway, name)).toBeUndefined();
    for (const [name, value] of Object.entries(LIMITS)) expect(answer.header(name)).toBe(value);
    expect(answer.header('x-service-route')).toBe('subscription');
    expect(answer.header('x-service-cost-usd')).toBeUndefined();
  });

  test('is recorded at list price, and costs no money in budgets and reports', async () => {
    // A record whose caller is still looked for is not archived at the stop.
    const { gateway, asClaude } = await start({ budget: BUDGET, settings: { attribution: 'off' } });
    gateway.upstream.queue(json(200, messageBody([text('Hello')])));
    await asClaude();
    expect(await gateway.records()).toMatchObject([
      {
        provider: 'anthropic',
        model: CLAUDE,
        outcome: 'ok',
        flags: ['not_billed'],
        inputTokens: 20,
        outputTokens: 5,
        costNanoUsd: LIST_NANO_USD,
      },
    ]);
    expect(await spentOf(gateway)).toBe(0);
    const usage = (await gateway.get('/v1/usage')).json();
    expect(usage).toMatchObject({ total: { requests: 1, input_tokens: 20, output_tokens: 5, cost_usd: 0 } });
    // Once the records are archived, reports read the rollups.
    await gateway.daemon.stop();
    const sums = 'sum(requests) AS requests, sum(output_tokens) AS output, sum(cost_nano_usd) AS cost';
    expect(gateway.db.prepare(`SELECT ${sums} FROM usage_hours`).get()).toEqual({
      requests: 1,
      output: 5,
      cost: 0,
    });
  });

  test("of Codex goes to ChatGPT's service, and its stream is metered", async () => {
    const { gateway, asCodex } = await start();
    gateway.upstream.queue(
      events(completedEvents(['Hello']), { headers: { 'x-codex-primary-used-percent': '12' } }),
    );
    const answer = await asCodex(RESPONSE);
    expect(answer.header('x-codex-primary-used-percent')).toBe('12');
    const [sent] = gateway.upstream.requests;
    expect(sent?.path).toBe('/backend-api/codex/responses');
    expect(sentHeader(gateway, 'authorization')).toBe(JWT);
    expect(sentHeader(gateway, 'chatgpt-account-id')).toBe('acc_1');
    expect(await gateway.records()).toMatchObject([
      { provider: 'openai', model: 'gpt-5.2', flags: ['stream', 'not_billed'], inputTokens: 20 },
    ]);
  });

  test('passes a spent budget, and a budget that is set while it runs does not count it', async () => {
    const { gateway, asClaude } = await start({ budget: { capUsd: 0, period: 'monthly' } });
    const gate = createGate();
    gateway.upstream.queue(async (exchange) => {
      await exchange.body;
      await exchange.start(200, { 'content-type': 'text/event-stream' });
      await gate.pass();
      for (const [name, data] of messageStream([text('Hello')]))
        await exchange.chunk(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
      await exchange.finish();
    });
    const answer = asClaude({ ...MESSAGE, stream: true });
    await gate.reached();
    await gateway.setBudget(BUDGET);
    gate.open();
    expect((await answer).status).toBe(200);
    await gateway.setBudget({ ...BUDGET, period: 'rolling', windowMs: 3_600_000 });
    const { data } = (await gateway.get('/v1/budgets')).json() as { data: { spent_usd: number }[] };
    expect(data.map(({ spent_usd }) => spent_usd)).toEqual([0, 0, 0]);
  });

  test('may ask for a count of tokens', async () => {
    const { gateway, asClaude } = await start({ budget: { capUsd: 0, period: 'daily' } });
    gateway.upstream.queue(json(200, { input_tokens: 7 }));
    const answer = await asClaude(MESSAGE, { path: '/v1/messages/count_tokens?beta=true' });
    expect(answer.json()).toEqual({ input_tokens: 7 });
    expect(sentHeader(gateway, 'authorization')).toBe(TOKEN);
    expect(gateway.upstream.requests[0]?.path).toBe('/v1/messages/count_tokens?beta=true');
  });
});

describe('a login is not passed on', () => {
  const codeOf = (answer: RawResponse) => (answer.json() as { error: { code: string } }).error.code;

  test('unless the setting allows it', async () => {
    const { gateway, asClaude } = await start({ settings: { 'passthrough.subscriptions': 'refuse' } });
    const answer = await asClaude();
    expect([answer.status, codeOf(answer)]).toEqual([403, 'subscription_refused']);
    expect(answer.text()).toContain('gw config set passthrough.subscriptions allow');
    expect(gateway.upstream.requests).toEqual([]);
    expect(await gateway.records()).toMatchObject([
      { outcome: 'refused', detail: { error: 'subscription_refused' } },
    ]);
  });

  test.each(['/v1/chat/completions', '/v1/responses', '/v1/files', '/v1/messages/batches'])(
    'to %s',
    async (path) => {
      const { gateway, asClaude } = await start();
      const body = { ...MESSAGE, input: 'Hi' };
      const answer = await asClaude(body, { path });
      expect([answer.status, codeOf(answer)]).toEqual([403, 'subscription_refused']);
      expect(gateway.upstream.requests).toEqual([]);
    },
  );

  test("without a key of gw's that is valid", async () => {
    const { gateway, asClaude, ask } = await start();
    const wrong = await asClaude(MESSAGE, { headers: { 'x-gw-key': 'sk-gw-none' } });
    expect([wrong.status, codeOf(wrong)]).toEqual([401, 'invalid_api_key']);
    const none = await request(gateway.origin, {
      path: '/v1/messages',
      headers: { authorization: TOKEN },
      body: MESSAGE,
    });
    expect(none.status).toBe(401);
    expect(none.text()).toContain('gw run --subscription');
    const spoiled = await ask(`Bearer ${gateway.key}`, MESSAGE, { headers: { 'x-gw-key': 'sk-gw-none' } });
    expect(spoiled.status).toBe(401);
    expect(gateway.upstream.requests).toEqual([]);
  });

  test("for a model of the sandbox, which is gw's own", async () => {
    const { gateway, asClaude } = await start();
    const answer = await asClaude({ ...MESSAGE, model: 'sandbox/free' });
    expect(answer.status).toBe(200);
    expect(await gateway.records()).toMatchObject([{ provider: 'sandbox', flags: [] }]);
  });

  test.each([
    ['an API key', 'Bearer sk-proj-mine', {}],
    ['a token without an account', JWT, {}],
  ])("where it is %s: gw's own credentials are used, and billed", async (_, authorization, headers) => {
    const { gateway, ask } = await start();
    gateway.upstream.queue(json(200, messageBody([text('Hello')])));
    await ask(authorization, MESSAGE, { headers });
    expect(sentHeader(gateway, 'authorization')).toBeUndefined();
    expect(sentHeader(gateway, 'x-api-key')).toBe('sk-ant-provider');
    expect(await gateway.records()).toMatchObject([{ flags: [], costNanoUsd: LIST_NANO_USD }]);
  });
});

test('a credential is in no file, log line or error of gw, whatever becomes of the request', async () => {
  const { gateway, asClaude, asCodex } = await start({ budget: BUDGET, mayLog: /./ });
  const said: string[] = [];
  const ask = async (answer: Promise<RawResponse>) => said.push((await answer).text());
  gateway.upstream.queue(json(200, messageBody([text('Hello')])));
  await ask(asClaude());
  gateway.upstream.queue(respond(500, {}, 'no'), json(401, { error: { message: 'expired' } }));
  await ask(asClaude());
  await ask(asClaude());
  gateway.upstream.queue(reset({ afterBytes: 0 }));
  await ask(asCodex(RESPONSE));
  await ask(asClaude('{"model": oops'));
  await ask(asClaude(MESSAGE, { path: '/v1/files' }));
  await ask(asClaude(MESSAGE, { headers: { 'x-gw-key': 'sk-gw-none' } }));
  await ask(asClaude({ ...MESSAGE, service: { explain: true } }));
  // A client that is gone before the answer.
  const connection = await openConnection(gateway.origin);
  gateway.upstream.queue((exchange) => exchange.untilGone());
  const headers = { authorization: TOKEN, 'x-gw-key': gateway.key };
  const path = '/v1/messages';
  await connection.send(requestBytes(gateway.origin, { path, headers, body: MESSAGE }));
  await until(() => gateway.upstream.requests.length === 5);
  connection.hangUp();
  const records = await gateway.settled(7);
  for (const path of ['/v1/usage', '/health', '/v1/models', `/v1/gw/requests`])
    said.push((await gateway.get(path)).text());
  await gateway.daemon.stop();
  expect(JSON.stringify([said, records, gateway.logged])).not.toContain(CANARY);
  const { home } = gateway.paths;
  const files = readdirSync(home, { recursive: true, encoding: 'utf8' }).map((name) => join(home, name));
  const withCanary = files.filter((file) => statSync(file).isFile() && readFileSync(file).includes(CANARY));
  expect(withCanary).toEqual([]);
  expect(files.some((file) => file.endsWith('.db'))).toBe(true);
});
