import { describe, expect, onTestFinished, test } from 'vitest';
import type { LoggedRequest } from '../../src/store/requests/request-log.ts';
import { completion } from '../support/chat-scripts.ts';
import { createGate, type Pace } from '../support/gate.ts';
import { hang, html, json, raw, reset, type Script, status } from '../support/scripts.ts';
import {
  closeAll,
  MANY,
  MANY_STREAM,
  type SeveralOptions,
  severalTargets,
} from '../support/several-targets.ts';
import { cut, malformedSse, sse } from '../support/sse-scripts.ts';

async function start(options: SeveralOptions = {}) {
  const several = await severalTargets(options);
  onTestFinished(() => closeAll(several));
  return several;
}

const overloaded = json(529, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } });
const azure429 = json(
  429,
  {
    error: { code: '429', message: 'Requests have exceeded call rate limit. Please retry after 20 seconds.' },
  },
  { 'retry-after': '20' },
);
const openrouter402 = json(402, { error: { code: 402, message: 'Insufficient credits' } });
const noMoneyBody = {
  error: {
    message: 'You exceeded your current quota',
    type: 'insufficient_quota',
    code: 'insufficient_quota',
  },
};
const noMoney = json(429, noMoneyBody);
const wrongKey = json(401, {
  error: { message: 'Incorrect API key', type: 'invalid_request_error', code: 'invalid_api_key' },
});
const lowBalance = json(400, {
  type: 'error',
  error: {
    type: 'invalid_request_error',
    message: 'Your credit balance is too low to access the Anthropic API.',
  },
});

/** The cost of each attempt of a request, in dollars. */
function costsIn(record: LoggedRequest | undefined): number[] {
  return ((record?.detail.attempts ?? []) as { cost_usd: number }[]).map(({ cost_usd }) => cost_usd);
}

describe('x-should-retry of a failed request', () => {
  test.each<[string, Script[], string | undefined]>([
    ['is false if no account has credit', [noMoney, noMoney], 'false'],
    ['is false if one account has no credit, and the other rejects the key', [noMoney, wrongKey], 'false'],
    ['is not set if another target was only busy', [azure429, noMoney], undefined],
    ['is not set if a provider was down', [noMoney, status(503)], undefined],
    [
      'is that of the provider if it sends one',
      [noMoney, json(429, noMoneyBody, { 'x-should-retry': 'true' })],
      'true',
    ],
  ])('%s', async (_name, scripts, told) => {
    const { gateway, upstreams } = await start({ count: 2 });
    for (const [i, script] of scripts.entries()) upstreams[i]?.script(script);
    const answer = await gateway.post(MANY);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.header('x-should-retry')).toBe(told);
  });

  test('is false if the only target has no credit', async () => {
    const { gateway, upstreams } = await start({ count: 1 });
    upstreams[0]?.script(noMoney);
    expect((await gateway.post(MANY)).header('x-should-retry')).toBe('false');
  });
});

describe('an attempt that fails before any of its answer is sent', () => {
  test.each<[string, Script, string]>([
    ['500', status(500), '500'],
    ['503', status(503), '503'],
    ["529 in Anthropic's form", overloaded, '529'],
    ["429 in Azure's form", azure429, '429'],
    ["402 in OpenRouter's form", openrouter402, '402'],
    ['429 for lack of credit', noMoney, '429'],
    ['401', wrongKey, '401'],
    ['400 for lack of credit', lowBalance, '400'],
    ['a reset', reset(), 'network'],
    ['an HTML page with status 200', html(200), 'server'],
    ['no choices', json(200, { choices: [], usage: { prompt_tokens: 3, completion_tokens: 0 } }), 'server'],
    ['an error with status 200', json(200, { error: { message: 'overloaded', code: 503 } }), 'server'],
    ['half an answer', raw('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"cho'), 'network'],
  ])('%s: the next target answers', async (_name, script, word) => {
    const { gateway, upstreams, hits } = await start();
    for (const body of [MANY, MANY_STREAM]) {
      if (body === MANY_STREAM && word !== 'network' && word !== '503') break;
      upstreams[0]?.queue(script);
      const answer = await gateway.post(body);
      expect(answer.status).toBe(200);
      expect(answer.text()).toContain('upstream.');
      expect(answer.complete).toBe(true);
      expect(answer.header('x-service-route')).toBe(`attempts=2 (a ${word}, b ok)`);
      expect([answer.header('x-service-provider'), answer.header('x-service-model')]).toEqual(['b', 'm-b']);
    }
    const [record] = await gateway.settled(1);
    expect(record).toMatchObject({
      provider: 'b',
      model: 'm-b',
      askedModel: 'many',
      outcome: 'ok',
      status: 200,
    });
    expect(record?.detail.attempts).toMatchObject([
      { provider: 'a', model: 'm-a', outcome: word },
      { provider: 'b', model: 'm-b', outcome: 'ok' },
    ]);
    expect(hits()[2]).toBe(0);
  });

  test.each([
    ['400', status(400)],
    ['404', status(404)],
    ['413', status(413)],
    ['422', status(422)],
    ['a content filter', json(400, { error: { message: 'no', code: 'content_filter', type: null } })],
  ])('%s: is the answer, as it came', async (_name, script) => {
    const { gateway, upstreams, hits } = await start();
    upstreams[0]?.queue(script);
    const answer = await gateway.post(MANY);
    expect(answer.status).toBeLessThan(500);
    expect(answer.header('x-service-provider')).toBe('a');
    expect(hits()).toEqual([1, 0, 0]);
    expect(await gateway.settled(1)).toMatchObject([{ outcome: 'upstream_error', detail: {} }]);
  });

  test('three times: the last answer passes unchanged, and the record lists all three', async () => {
    const { gateway, upstreams, hits } = await start();
    for (const [i, code] of [500, 503, 502].entries()) upstreams[i]?.queue(status(code));
    const answer = await gateway.post(MANY);
    expect([answer.status, answer.text()]).toEqual([502, expect.stringContaining('The upstream says 502.')]);
    expect(answer.header('x-service-route')).toBe('attempts=3 (a 500, b 503, c 502)');
    expect(hits()).toEqual([1, 1, 1]);
    expect(await gateway.settled(1)).toMatchObject([
      { outcome: 'upstream_error', status: 502, provider: 'c', costNanoUsd: 0 },
    ]);
  });

  test('with errors of status 200 everywhere: one 502 with the last message', async () => {
    const { gateway, upstreams } = await start({ count: 2 });
    for (const upstream of upstreams)
      upstream.script(json(200, { error: { message: 'no room', code: 500 } }));
    const answer = await gateway.post(MANY);
    expect(answer.status).toBe(502);
    expect(answer.json()).toMatchObject({
      error: { message: 'b answered with an error: no room', type: 'api_error', code: 'upstream_error' },
    });
  });

  test('with all connections refused: one 502 that names the providers', async () => {
    const { gateway, upstreams } = await start({ count: 2 });
    for (const upstream of upstreams) upstream.script(reset());
    const answer = await gateway.post(MANY_STREAM);
    expect(answer.status).toBe(502);
    expect(answer.json()).toMatchObject({ error: { code: 'upstream_failed', type: 'api_error' } });
    expect(answer.header('x-service-route')).toBe('attempts=2 (a network, b network)');
    expect(await gateway.settled(1)).toMatchObject([{ outcome: 'upstream_failed', status: 502 }]);
  });

  test('is not retried with routing off, nor counted against the target', async () => {
    const { gateway, upstreams, hits } = await start();
    upstreams[0]?.script(status(503));
    for (let i = 0; i < 8; i++) {
      const answer = await gateway.post({ ...MANY, service: { route: false } });
      expect([answer.status, answer.header('x-service-route')]).toEqual([503, 'off']);
    }
    expect(hits()).toEqual([8, 0, 0]);
  });
});

describe('a stream', () => {
  const event = (data: unknown) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
  const role = event({ id: 'c', choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] });
  const stream = (...events: string[]) =>
    raw(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n${events.join('')}`);

  test.each<[string, Script, string]>([
    [
      'an error first',
      stream(event({ error: { message: 'overloaded', type: 'server_error', code: 503 } })),
      'server',
    ],
    [
      'an error after the role',
      stream(role, event({ error: { message: 'slow down', code: 429 } })),
      'rate_limit',
    ],
    ['an end before its content', stream(role), 'server'],
    ['[DONE] and nothing else', stream(event('[DONE]')), 'server'],
    ['empty choices', stream(event({ choices: [] }), event('[DONE]')), 'server'],
    ['broken events', malformedSse(), 'server'],
    ['a reset after the role', cut({ afterChunks: 0 }), 'network'],
    ['a page', html(200), 'server'],
  ])('with %s: another target answers, and nothing of the first is seen', async (_name, script, word) => {
    const { gateway, upstreams } = await start();
    upstreams[0]?.queue(script);
    const answer = await gateway.post(MANY_STREAM);
    expect([answer.status, answer.complete]).toEqual([200, true]);
    expect(answer.text().match(/"role":"assistant"/g)).toHaveLength(1);
    expect(answer.text().match(/\[DONE\]/g)).toHaveLength(1);
    expect(answer.header('x-service-route')).toBe(`attempts=2 (a ${word}, b ok)`);
    const [record] = await gateway.settled(1);
    expect(record).toMatchObject({ outcome: 'ok', provider: 'b' });
  });

  test.each([1, 20])('with an error after %i words is not retried', async (words) => {
    const { gateway, upstreams, hits } = await start();
    upstreams[0]?.queue(cut({ afterChunks: words }));
    const answer = await gateway.post(MANY_STREAM);
    expect([answer.status, answer.complete]).toEqual([200, false]);
    expect(answer.text()).toContain(`word${words - 1}`);
    expect(answer.text()).not.toMatch(/\[DONE\]|finish_reason":"/);
    expect(hits()).toEqual([1, 0, 0]);
    expect(await gateway.settled(1)).toMatchObject([
      { outcome: 'upstream_failed', status: 200, provider: 'a' },
    ]);
  });

  test('that ends early ends with an error event, and is recorded as failed', async () => {
    const { gateway, upstreams } = await start();
    upstreams[0]?.queue(cut({ afterChunks: 2, end: 'finish' }));
    const answer = await gateway.post(MANY_STREAM);
    expect(answer.complete).toBe(false);
    const last = answer.text().trim().split('\n\n').at(-1)?.slice('data: '.length) ?? '';
    expect(JSON.parse(last)).toMatchObject({ error: { code: 'upstream_failed', type: 'api_error' } });
    expect(await gateway.settled(1)).toMatchObject([{ outcome: 'upstream_failed' }]);
  });

  test('that fails in a way no other target can fix is an HTTP error, not an empty success', async () => {
    const { gateway, upstreams } = await start({ count: 2 });
    for (const upstream of upstreams)
      upstream.script(stream(event({ error: { message: 'too long', code: 'context_length_exceeded' } })));
    const answer = await gateway.post(MANY_STREAM);
    expect([answer.status, answer.header('content-type')]).toEqual([400, 'application/json']);
    expect(answer.json()).toMatchObject({
      error: { code: 'context_length_exceeded', message: expect.stringContaining('too long') },
    });
    expect(await gateway.settled(1)).toMatchObject([{ outcome: 'upstream_error', status: 400 }]);
  });

  test('that arrives byte by byte, split within characters, is complete', async () => {
    const { gateway, upstreams } = await start();
    upstreams[0]?.queue(status(503));
    upstreams[1]?.queue(sse(['Ça', ' 😀', ' は'], { splitAt: 'every-byte' }));
    const answer = await gateway.post(MANY_STREAM);
    const contents = [...answer.text().matchAll(/"content":"([^"]*)"/g)].map(([, content]) => content);
    expect([answer.complete, contents.join('')]).toEqual([true, 'Ça 😀 は']);
  });

  test('that stalls after its first words breaks off with an error, and is recorded as failed', async () => {
    const { gateway, upstreams, hits } = await start({ settings: { 'upstream.idle_timeout_ms': 200 } });
    const gate = createGate();
    gate.open(3);
    upstreams[0]?.queue(sse(['one', ' two', ' three'], { pace: gate.pass }));
    const answer = await gateway.post(MANY_STREAM);
    expect([answer.status, answer.complete]).toEqual([200, false]);
    expect(answer.text()).toContain('"code":"upstream_timeout"');
    expect(hits()).toEqual([1, 0, 0]);
    expect(await gateway.settled(1)).toMatchObject([{ outcome: 'upstream_failed' }]);
  });

  test('that stalls before its first content is retried at another target', async () => {
    const { gateway, upstreams } = await start({ settings: { 'upstream.idle_timeout_ms': 200 } });
    const gate = createGate();
    gate.open(1);
    upstreams[0]?.queue(sse(['one'], { pace: gate.pass }));
    const answer = await gateway.post(MANY_STREAM);
    expect(answer.header('x-service-route')).toBe('attempts=2 (a timeout, b ok)');
    expect(answer.text().match(/"role":"assistant"/g)).toHaveLength(1);
  });

  test('is sent from its first content on, event by event', async () => {
    const { gateway, upstreams } = await start();
    const gate = createGate();
    upstreams[0]?.queue(sse(['one', 'two'], { pace: gate.pass }));
    const connection = await gateway.open(MANY_STREAM);
    gate.open(2);
    await connection.bodyUntil('one');
    gate.openForGood();
    expect((await connection.response()).complete).toBe(true);
    connection.hangUp();
  });

  test('that does not begin in time is retried at another target, and the first call is ended', async () => {
    const { gateway, upstreams } = await start({ settings: { 'routing.first_byte_timeout_ms': 150 } });
    upstreams[0]?.queue(hang());
    const answer = await gateway.post(MANY_STREAM);
    expect(answer.header('x-service-route')).toBe('attempts=2 (a timeout, b ok)');
    expect(upstreams[0]?.requests[0]?.hungUp).toBeDefined();
    // What the first target may have generated is booked.
    const [record] = await gateway.settled(1);
    expect(record?.flags).toContain('estimated');
    const [failed] = costsIn(record);
    expect(failed).toBeGreaterThan(0);
    expect(record?.costNanoUsd).toBeGreaterThan((failed ?? 0) * 1e9);
  });
});

describe('across APIs', () => {
  test('an Anthropic client is served by an OpenAI target when the other fails, and the other way round', async () => {
    const { gateway, upstreams } = await start({ count: 2, wires: ['anthropic', 'openai'] });
    upstreams[0]?.script(overloaded);
    const headers = { 'anthropic-version': '2023-06-01' };
    for (const stream of [false, true]) {
      const answer = await gateway.post({ ...MANY, stream }, { path: '/v1/messages', headers });
      expect(answer.status).toBe(200);
      expect(answer.text()).toContain('upstream.');
      expect(answer.header('x-service-route')).toBe('attempts=2 (a 529, b ok)');
      expect(answer.text()).toContain('"model":"m-b"');
    }
    const chat = await gateway.post(MANY);
    expect(chat.json()).toMatchObject({ model: 'm-b', choices: [{}] });
  });

  test.each(['embeddings', 'completions', 'responses'])('%s fail over too', async (endpoint) => {
    const { gateway, upstreams } = await start();
    upstreams[0]?.script(status(500));
    upstreams[1]?.script(json(200, { object: 'answer', usage: { prompt_tokens: 3, total_tokens: 3 } }));
    const body = { model: 'many', input: 'Hi', ...(endpoint === 'completions' ? { prompt: 'Hi' } : {}) };
    const answer = await gateway.post(body, { path: `/v1/${endpoint}` });
    expect([answer.status, answer.header('x-service-route')]).toEqual([200, 'attempts=2 (a 500, b ok)']);
    expect(await gateway.settled(1)).toMatchObject([{ endpoint, provider: 'b', inputTokens: 3 }]);
  });
});

describe('a client that hangs up', () => {
  const inTime = (pace: Pace, script: Script): Script => {
    return async (exchange) => {
      await exchange.body;
      await pace();
      await script(exchange);
    };
  };

  test.each<[string, string, Script, object, object]>([
    ['during the first attempt', 'is answered', completion(), MANY, { outputTokens: 4, flags: [] }],
    ['during the first attempt', 'fails', status(500), MANY, { costNanoUsd: 0, flags: [] }],
    ['during the first attempt', 'breaks off', reset(), MANY, { flags: ['estimated'] }],
    ['during the second attempt', 'is answered', completion(), MANY, { outputTokens: 4 }],
    ['while a stream is held back', 'is answered', sse(['a']), MANY_STREAM, { outputTokens: 1, status: 499 }],
    ['while a stream is held back', 'fails', status(500), MANY_STREAM, { costNanoUsd: 0, status: 499 }],
    ['while the second stream is held back', 'is answered', sse(['a']), MANY_STREAM, { outputTokens: 1 }],
  ])(
    '%s, which then %s: no further attempt, and the call is not cut',
    async (when, _, script, body, booked) => {
      const { gateway, upstreams, hits } = await start({ budget: { period: 'daily', capUsd: 10 } });
      const gate = createGate();
      const second = when.includes('second');
      if (second) upstreams[0]?.queue(status(500));
      const running = upstreams[second ? 1 : 0];
      running?.queue(inTime(gate.pass, script));
      const connection = await gateway.open(body);
      const seen = await running?.nextRequest();
      connection.hangUp();
      await gateway.get('/health');
      gate.open();
      await seen?.done;
      expect(seen?.hungUp).toBeUndefined();
      expect(await gateway.settled(1)).toMatchObject([{ outcome: 'client_gone', ...booked }]);
      expect(hits()).toEqual(second ? [1, 1, 0] : [1, 0, 0]);
    },
  );

  test.each<[string, object, Script]>([
    ['an answer', MANY, hang()],
    ['a stream that is held back', MANY_STREAM, sse(['one'], { pace: createGate().pass })],
  ])('ends the call for %s at once where it costs nothing', async (_, body, script) => {
    const { gateway, upstreams, hits } = await start();
    await gateway.setPrice({ provider: 'a', model: 'm-a', inputPicoUsd: 0, outputPicoUsd: 0 });
    upstreams[0]?.queue(script);
    const connection = await gateway.open(body);
    const seen = await upstreams[0]?.nextRequest();
    const left = performance.now();
    connection.hangUp();
    await seen?.done;
    expect(seen?.hungUp).toBeDefined();
    expect(performance.now() - left).toBeLessThan(10_000);
    expect(await gateway.settled(1)).toMatchObject([{ outcome: 'client_gone' }]);
    expect(hits()).toEqual([1, 0, 0]);
  });
});

test('if the next hold cannot be written, the failure is the answer, and its hold is settled', async () => {
  const { gateway, upstreams, hits } = await start({ budget: { period: 'daily', capUsd: 1 } });
  upstreams[0]?.queue(async (exchange) => {
    await exchange.body;
    gateway.db.exec(
      "CREATE TRIGGER no_more_holds BEFORE UPDATE OF hold_nano_usd ON journal BEGIN SELECT RAISE(ABORT, 'disk is full'); END",
    );
    await status(500)(exchange);
  });
  const answer = await gateway.post(MANY);
  expect([answer.status, answer.text()]).toEqual([500, expect.stringContaining('The upstream says 500.')]);
  expect(hits()).toEqual([1, 0, 0]);
  expect(await gateway.settled(1)).toMatchObject([{ outcome: 'upstream_error', costNanoUsd: 0 }]);
  gateway.db.exec('DROP TRIGGER no_more_holds');
});
