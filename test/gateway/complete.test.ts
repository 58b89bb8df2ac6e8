import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { complete } from '../../src/gateway/complete.ts';
import type { Gateway } from '../../src/gateway/context/gateway.ts';
import { formatRequestId } from '../../src/ids.ts';
import { chatWire } from '../../src/wire/apis/chat.ts';
import { completion } from '../support/chat-scripts.ts';
import { completionBody, usageOf } from '../support/chat-shapes.ts';
import { type RequestParts, request } from '../support/client.ts';
import { deferred } from '../support/deferred.ts';
import { createGate } from '../support/gate.ts';
import { MODEL, PLAIN, STREAM, startGateway } from '../support/gateway.ts';
import { metered } from '../support/metered.ts';
import { hang, json, reset, type Script, status } from '../support/scripts.ts';
import { closeAll, MANY, severalTargets } from '../support/several-targets.ts';
import { sse } from '../support/sse-scripts.ts';
import { type Stages, type StagesOptions, startStages } from '../support/stages.ts';
import { CLAUDE, startBothWires } from '../wire/support/anthropic-gateway.ts';
import { messageBody, text } from '../wire/support/messages-shapes.ts';
import { send } from '../wire/support/send.ts';

const USAGE = usageOf(20, 10);
const COST = 20 * 1_000 + 10 * 2_000;
const BUDGET = { budget: { period: 'daily' as const, capUsd: 1 } };

/** How many holds are open and how many records are written: what another process sees in the database. */
async function rows({ holds, records }: Pick<Stages, 'holds' | 'records'>) {
  // Reading the records commits what has been settled.
  const { length } = await records();
  return { holds: holds(), records: length };
}

describe('complete()', () => {
  it.each([
    ['plain', MANY, completion({ usage: USAGE })],
    ['streaming', { ...MANY, stream: true }, sse(['Hi'], { usage: USAGE })],
  ])('holds before it sends, and settles before it ends the answer: %s', async (_kind, body, script) => {
    const stages = await startStages(BUDGET);
    const { exchange, connection } = await stages.receive(body);
    const seen: object[] = [];
    const look = async (when: string) =>
      void seen.push({ when, ended: exchange.response.writableEnded, ...(await rows(stages)) });
    const gateway: Gateway = {
      ...stages.gateway,
      settleRetry: {
        ...stages.gateway.settleRetry,
        async settle(record) {
          await look('settling');
          const settled = await stages.gateway.settleRetry.settle(record);
          await look('settled');
          return settled;
        },
      },
    };
    stages.upstreams[0]?.queue(async (upstream) => {
      await upstream.body;
      await look('sent');
      await script(upstream);
    });
    await complete(gateway, chatWire, exchange);
    await look('complete');
    expect(seen).toEqual([
      { when: 'sent', ended: false, holds: 1, records: 0 },
      { when: 'settling', ended: false, holds: 1, records: 0 },
      { when: 'settled', ended: false, holds: 0, records: 1 },
      { when: 'complete', ended: true, holds: 0, records: 1 },
    ]);
    const answer = await connection.response();
    expect([answer.status, answer.complete]).toEqual([200, true]);
    expect(await stages.records()).toMatchObject([{ outcome: 'ok', costNanoUsd: COST }]);
    connection.hangUp();
  });

  it('commits the record when a stream closes, before [DONE] is sent', async () => {
    const gateway = await startGateway();
    const gate = createGate();
    gateway.upstream.queue(sse(['one'], { usage: USAGE, pace: gate.pass }));
    const connection = await gateway.open(STREAM);
    gate.open(3);
    await connection.bodyUntil('"stop"');
    expect(await rows(gateway)).toEqual({ holds: 1, records: 0 });
    gate.openForGood();
    await connection.bodyUntil('[DONE]');
    expect(await gateway.records()).toMatchObject([
      { model: 'test-model', inputTokens: 20, outputTokens: 10 },
    ]);
    expect(gateway.holds()).toBe(0);
    connection.hangUp();
  });

  it('commits the record before a stream without [DONE] or a plain answer ends', async () => {
    const gateway = await startGateway();
    for (let i = 1; i <= 25; i++) {
      gateway.upstream.queue(sse(['one'], { done: false }));
      expect((await gateway.post(STREAM)).complete).toBe(true);
      expect(await gateway.records()).toHaveLength(2 * i - 1);
      expect((await gateway.post(PLAIN)).status).toBe(200);
      expect(await gateway.records()).toHaveLength(2 * i);
    }
  });

  it('optimizes a request before it holds its worst case', async () => {
    const items = Array.from({ length: 200 }, (_, id) => ({ id, name: `item ${id}`, state: 'active' }));
    const call = { id: 'call_1', type: 'function', function: { name: 'list', arguments: '{}' } };
    const messages = [
      { role: 'user', content: 'List the items.' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: JSON.stringify(items) },
      { role: 'user', content: 'How many are there?' },
    ];
    const gateway = await startGateway(BUDGET);
    const body = { model: MODEL, messages, max_tokens: 5 };
    await gateway.post(body);
    await gateway.post({ ...body, service: { optimize: false } });
    const [short, whole] = await gateway.settled(2);
    expect(short?.savedTokens).toBeGreaterThan(100);
    expect(short?.holdNanoUsd).toBeLessThan(0.8 * (whole?.holdNanoUsd ?? 0));
  });
});

describe('complete() refuses a request', () => {
  it('at the first stage that objects to it', async () => {
    const gateway = await startBothWires({ budget: { period: 'daily', capUsd: 0.003 } });
    const service = { budget_id: 'nope' };
    // Wrong in every respect; each step corrects one fault.
    let body: object = { model: 'nobodys', messages: 7, logprobs: true, max_tokens: 100_000, service };
    let headers: Record<string, string> = { authorization: 'Bearer no', 'content-type': 'text/plain' };
    const ask = async () => {
      const parts = { method: 'POST', path: '/v1/chat/completions', headers };
      const answer = await request(gateway.origin, { ...parts, body: JSON.stringify(body) });
      const { error } = answer.json() as { error?: { code: string } };
      return [answer.status, error?.code];
    };
    expect(await ask()).toEqual([401, 'invalid_api_key']);
    headers = { ...headers, authorization: `Bearer ${gateway.key}` };
    expect(await ask()).toEqual([415, 'unsupported_media_type']);
    headers = { ...headers, 'content-type': 'application/json' };
    expect(await ask()).toEqual([400, 'invalid_type']);
    body = { ...body, messages: PLAIN.messages };
    expect(await ask()).toEqual([403, 'budget_forbidden']);
    body = { ...body, service: undefined };
    expect(await ask()).toEqual([404, 'model_not_found']);
    body = { ...body, model: `anthropic/${CLAUDE}` };
    expect(await ask()).toEqual([400, 'unsupported_parameter']);
    body = { ...body, logprobs: undefined };
    expect(await ask()).toEqual([402, 'budget_exceeded']);
    body = { ...body, max_tokens: 5 };
    expect([gateway.upstream.requests, gateway.holds()]).toEqual([[], 0]);
    gateway.upstream.queue(reset(), json(200, messageBody([text('Hello')])));
    expect(await ask()).toEqual([502, 'upstream_failed']);
    expect(await ask()).toEqual([200, undefined]);
    // All are recorded, but for the one without a valid key.
    const records = await gateway.settled(8);
    expect(records.map(({ status: code, outcome }) => [code, outcome])).toEqual([
      [415, 'refused'],
      [400, 'refused'],
      [403, 'refused'],
      [404, 'refused'],
      [400, 'refused'],
      [402, 'blocked'],
      [502, 'upstream_failed'],
      [200, 'ok'],
    ]);
  });

  it.each<[string, RequestParts, number, string, string]>([
    ['invalid JSON', { body: '{"model":' }, 400, 'refused', ''],
    ['a body that is no object', { body: '[]' }, 400, 'refused', ''],
    ['another content type', { body: 'hi', headers: { 'content-type': 'text/plain' } }, 415, 'refused', ''],
    ['a body that is too large', { body: { ...PLAIN, user: 'x'.repeat(2_000) } }, 413, 'refused', ''],
    ['a mistyped field', { body: { ...PLAIN, stream: 'yes' } }, 400, 'refused', MODEL],
    [
      'an unknown budget',
      { body: { ...PLAIN, service: { budget_id: 'default/weekly' } } },
      404,
      'refused',
      MODEL,
    ],
    ['an unknown model', { body: { ...PLAIN, model: 'nobodys' } }, 404, 'refused', 'nobodys'],
    ['no room', { body: { ...PLAIN, max_tokens: 1_000_000 } }, 402, 'blocked', MODEL],
  ])(
    'with %s: one record under the id of the answer, no hold, nothing sent',
    async (_name, parts, code, outcome, askedModel) => {
      const settings = { 'limits.max_body_bytes': 1_024 };
      const budget = { period: 'daily' as const, capUsd: 0.0001 };
      const gateway = await startGateway({ budget, settings });
      const answer = await gateway.post(parts.body, parts);
      expect(answer.status).toBe(code);
      const records = await gateway.records();
      expect(records).toMatchObject([{ status: code, outcome, askedModel, costNanoUsd: 0 }]);
      expect(formatRequestId(records[0]?.id ?? 0)).toBe(answer.header('x-service-request-id'));
      const { error } = answer.json() as { error: { code: string } };
      if (outcome === 'refused') expect(records[0]?.detail).toEqual({ error: error.code });
      expect([gateway.holds(), gateway.upstream.requests]).toEqual([0, []]);
    },
  );

  it('without a key: no record', async () => {
    const gateway = await startGateway();
    await request(gateway.origin, { method: 'POST', path: '/v1/chat/completions', body: PLAIN });
    expect([gateway.holds(), await gateway.records()]).toEqual([0, []]);
  });

  it('that its provider refuses: the hold is released', async () => {
    const gateway = await startGateway(BUDGET);
    gateway.upstream.queue(status(500));
    expect((await gateway.post({ ...PLAIN, max_tokens: 5 })).status).toBe(500);
    expect(await gateway.records()).toMatchObject([{ outcome: 'upstream_error', costNanoUsd: 0 }]);
    expect(gateway.holds()).toBe(0);
  });
});

it('complete() explains a request that has no room: nothing is sent, held or recorded', async () => {
  const gateway = await startGateway({ budget: { period: 'daily', capUsd: 0.0001 } });
  const body = { ...PLAIN, max_tokens: 1_000_000 };
  expect((await gateway.post(body)).status).toBe(402);
  const answer = await gateway.post({ ...body, service: { explain: true } });
  expect([answer.status, answer.json()]).toMatchObject([200, { object: 'gw.route' }]);
  // A refusal leaves no trace either.
  expect((await gateway.post({ ...body, model: 'nobodys', service: { explain: true } })).status).toBe(404);
  expect([gateway.upstream.requests, await rows(gateway)]).toEqual([[], { holds: 0, records: 1 }]);
});

describe('complete() makes one request of several attempts', () => {
  /** A script that notes what is in the database when it is asked. */
  function watched(gateway: Parameters<typeof rows>[0], seen: object[], script: Script): Script {
    return async (exchange) => {
      await exchange.body;
      seen.push(await rows(gateway));
      await script(exchange);
    };
  }
  const HELD = { holds: 1, records: 0 };

  it('at the next target: one hold at a time, one record', async () => {
    const several = await severalTargets(BUDGET);
    const { gateway, upstreams, hits } = several;
    const seen: object[] = [];
    const empty = json(200, { choices: [], usage: USAGE });
    const scripts = [empty, status(503), completion({ usage: USAGE })];
    for (const [i, script] of scripts.entries()) upstreams[i]?.queue(watched(gateway, seen, script));
    const answer = await gateway.post(MANY);
    expect([answer.status, answer.header('x-service-cost-usd')]).toEqual([200, String((2 * COST) / 1e9)]);
    expect(answer.header('x-service-route')).toBe('attempts=3 (a server, b 503, c ok)');
    expect([seen, hits()]).toEqual([
      [HELD, HELD, HELD],
      [1, 1, 1],
    ]);
    expect(await rows(gateway)).toEqual({ holds: 0, records: 1 });
    expect(await gateway.records()).toMatchObject([{ provider: 'c', costNanoUsd: 2 * COST }]);
    await closeAll(several);
  });

  it('at a target that lacks the endpoint: translated on a hold of its own', async () => {
    const gateway = await startGateway(BUDGET);
    const seen: object[] = [];
    gateway.upstream.queue(
      watched(gateway, seen, json(404, { error: { message: 'Not Found' } })),
      watched(gateway, seen, json(200, completionBody('test-model', 'Hello', USAGE))),
    );
    const body = { model: MODEL, input: 'Hi', max_output_tokens: 20 };
    const answer = await send(gateway, '/v1/responses', body);
    expect([answer.status, answer.json()]).toMatchObject([200, { object: 'response' }]);
    const paths = gateway.upstream.requests.map(({ path }) => path);
    expect(paths).toEqual(['/v1/responses', '/v1/chat/completions']);
    expect(seen).toEqual([HELD, HELD]);
    expect(await rows(gateway)).toEqual({ holds: 0, records: 1 });
    expect(await gateway.records()).toMatchObject([{ endpoint: 'responses', costNanoUsd: COST }]);
  });
});

it('complete() translates a request for a provider of another API, and its answer back', async () => {
  const gateway = await startBothWires(BUDGET);
  gateway.upstream.queue(completion({ content: 'Hello', usage: USAGE }));
  const messages = [{ role: 'user', content: 'Hi' }];
  const answer = await send(gateway, '/v1/messages', { model: MODEL, messages, max_tokens: 20 });
  expect([answer.status, answer.json()]).toMatchObject([
    200,
    { type: 'message', content: [{ text: 'Hello' }], usage: { input_tokens: 20, output_tokens: 10 } },
  ]);
  expect(gateway.upstream.requests.map(({ path }) => path)).toEqual(['/v1/chat/completions']);
  expect(await gateway.records()).toMatchObject([
    { endpoint: 'messages', provider: 'mock', outcome: 'ok', costNanoUsd: COST },
  ]);
});

describe('complete() of a client that hangs up', () => {
  async function hungUp(script: Script, body: object, options: StagesOptions = BUDGET) {
    const stages = await startStages(options);
    stages.upstreams[0]?.queue(script);
    const { exchange, connection } = await stages.receive({ ...MANY, ...body });
    const completed = complete(stages.gateway, chatWire, exchange);
    return { ...stages, exchange, connection, completed };
  }

  it('while its hold is being written: nothing is sent or paid', async () => {
    const stages = await startStages(BUDGET);
    const { exchange, connection } = await stages.receive(MANY);
    const admitting = deferred<void>();
    const { queue, ledger } = stages.gateway;
    const gateway: Gateway = {
      ...stages.gateway,
      queue: {
        ...queue,
        admit(...of) {
          admitting.resolve();
          return queue.admit(...of);
        },
      },
    };
    const resume = ledger.pause();
    const completed = complete(gateway, chatWire, exchange);
    await admitting.promise;
    connection.hangUp();
    await once(exchange.response, 'close');
    resume();
    await completed;
    expect(stages.upstreams[0]?.requests).toEqual([]);
    expect(await rows(stages)).toEqual({ holds: 0, records: 1 });
    expect(stages.balance()).toEqual({ posted: 0, pending: 0 });
    expect(await stages.records()).toMatchObject([{ outcome: 'client_gone', status: 499, costNanoUsd: 0 }]);
  });

  it('before the first byte: the answer is read to its end, and the hold settled', async () => {
    const gate = createGate();
    const script = metered({ tokens: 7, perTick: 7, tick: gate.pass });
    const { connection, completed, upstreams, exchange, ...stages } = await hungUp(script, {});
    await upstreams[0]?.nextRequest();
    connection.hangUp();
    await once(exchange.response, 'close');
    expect(await rows(stages)).toEqual({ holds: 1, records: 0 });
    gate.openForGood();
    await completed;
    expect(exchange.response.headersSent).toBe(false);
    const [record] = await stages.records();
    expect(record).toMatchObject({ outcome: 'client_gone', status: 499, flags: [], outputTokens: 7 });
    expect([stages.holds(), stages.balance()]).toEqual([0, { posted: record?.costNanoUsd, pending: 0 }]);
  });

  it('after the first byte: the same', async () => {
    const gate = createGate();
    const script = sse(['one', ' two'], { pace: gate.pass });
    const { connection, completed, exchange, ...stages } = await hungUp(script, { stream: true });
    gate.open(2);
    await connection.bodyUntil('one');
    connection.hangUp();
    await once(exchange.response, 'close');
    expect(await rows(stages)).toEqual({ holds: 1, records: 0 });
    gate.openForGood();
    await completed;
    expect(exchange.response.writableEnded).toBe(false);
    const [record] = await stages.records();
    expect(record).toMatchObject({ outcome: 'client_gone', status: 200, flags: ['stream'], outputTokens: 2 });
    expect([stages.holds(), stages.balance()]).toEqual([0, { posted: record?.costNanoUsd, pending: 0 }]);
  });

  it('is settled at the limit when the calls without clients are cut', async () => {
    const { connection, completed, upstreams, exchange, gateway, ...stages } = await hungUp(hang(), {
      max_tokens: 50,
    });
    const seen = await upstreams[0]?.nextRequest();
    connection.hangUp();
    await once(exchange.response, 'close');
    expect(stages.holds()).toBe(1);
    gateway.upstreams.cut();
    await completed;
    await seen?.done;
    expect(seen?.hungUp).toBeDefined();
    expect(await stages.records()).toMatchObject([
      { outcome: 'client_gone', status: 499, flags: ['estimated'], outputTokens: 50 },
    ]);
    expect(stages.holds()).toBe(0);
  });
});
