import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { RequestView } from '../../src/operations/schemas/requests.ts';
import { requestResponse } from '../../src/store/requests/request-log.ts';
import { factsOf } from '../../src/terminal/request-facts.ts';
import { createTimeFormat } from '../../src/terminal/time.ts';
import { chatRequestOf, promptTokensOf } from '../support/chat-request.ts';
import { completion } from '../support/chat-scripts.ts';
import { completionBody, usageOf } from '../support/chat-shapes.ts';
import { createGate, every } from '../support/gate.ts';
import { PLAIN, STREAM, startGateway, type TestGateway, until } from '../support/gateway.ts';
import { metered } from '../support/metered.ts';
import { namedHost } from '../support/named-host.ts';
import { seededRandom } from '../support/random.ts';
import { json, reset, type Script, status } from '../support/scripts.ts';
import { closeAll, MANY, severalTargets } from '../support/several-targets.ts';
import { sse } from '../support/sse-scripts.ts';
import { startUpstream } from '../support/upstream.ts';
import { CLAUDE, startBothWires } from '../wire/support/anthropic-gateway.ts';
import { messageBody, messageUsage, text } from '../wire/support/messages-shapes.ts';
import { messageItem, responseBody } from '../wire/support/responses-shapes.ts';
import { send, sentBody } from '../wire/support/send.ts';

const LIMIT = 32_000;
const day = (capUsd: number) => ({ budget: { period: 'daily' as const, capUsd } });
/** $1 a million tokens in and $2 out: the limit alone costs $0.064. */
const CENT = day(0.01);
const HEADER = 'x-service-max-output-tokens';

/** The money that is spent, and the money that is held. */
function balance({ db }: TestGateway) {
  return db
    .prepare('SELECT sum(posted_nano_usd) AS posted, sum(pending_nano_usd) AS pending FROM budget_periods')
    .get() as { posted: number; pending: number };
}

describe('a limit that does not fit into the budget', () => {
  test.each([
    ['plain', { ...PLAIN, max_tokens: LIMIT }],
    ['streamed', { ...STREAM, max_tokens: LIMIT }],
  ])('is lowered to what fits, and header and record say so (%s)', async (_, body) => {
    const gateway = await startGateway(CENT);
    gateway.upstream.queue('stream' in body ? sse(['Hi']) : completion({ usage: usageOf(5, 1) }));
    const answer = await gateway.post(body);
    expect(answer.status).toBe(200);
    const { max_tokens: sent } = sentBody(gateway) as { max_tokens: number };
    // A cent, less the input: a byte a token at most.
    expect(sent).toBeGreaterThan(4_800);
    expect(sent).toBeLessThan(5_000);
    expect(answer.header(HEADER)).toBe(String(sent));
    const [record] = await gateway.settled(1);
    expect(record).toMatchObject({ outcome: 'ok', detail: { max_output_tokens: { asked: LIMIT, sent } } });
    expect(record?.holdNanoUsd).toBeLessThanOrEqual(10_000_000);
    if (!record) throw new Error('nothing is on record');
    const shown = requestResponse(record) as unknown as RequestView;
    expect(factsOf(shown, createTimeFormat('UTC'))).toContainEqual([
      'limit',
      `${sent.toLocaleString('en-US')} tokens of output, to fit a budget; the request's own was 32,000`,
    ]);
  });

  test('is lowered for a request without one too', async () => {
    const gateway = await startGateway(CENT);
    const answer = await gateway.post(PLAIN);
    const { max_tokens: sent } = sentBody(gateway) as { max_tokens: number };
    expect(answer.header(HEADER)).toBe(String(sent));
    expect(await gateway.settled(1)).toMatchObject([
      { detail: { max_output_tokens: { asked: null, sent } } },
    ]);
  });

  test.each([
    ['there is room', day(1), { max_tokens: LIMIT }, LIMIT],
    ['there is room, and gw writes a limit since none is known', day(1), {}, LIMIT],
    ['there is no budget', {}, { max_tokens: LIMIT }, LIMIT],
  ])('is left alone and not mentioned where %s', async (_, options, fields, expected) => {
    const gateway = await startGateway(options);
    const answer = await gateway.post({ ...PLAIN, ...fields });
    expect(sentBody(gateway)).toMatchObject({ max_tokens: expected });
    expect(answer.header(HEADER)).toBeUndefined();
    const [record] = await gateway.settled(1);
    expect(record?.detail).not.toHaveProperty('max_output_tokens');
  });

  test('is refused where less than the least fits, and keeps the room of an own limit below that', async () => {
    const gateway = await startGateway(day(0.0005));
    expect((await gateway.post({ ...PLAIN, max_tokens: LIMIT })).status).toBe(402);
    expect((await gateway.post({ ...PLAIN, max_tokens: 100 })).status).toBe(200);
    expect(sentBody(gateway)).toMatchObject({ max_tokens: 100 });
  });

  test('of messages stays above the thinking that was asked for', async () => {
    const gateway = await startBothWires(day(0.2));
    const usage = messageUsage(10, 5);
    gateway.upstream.script(json(200, messageBody([text('Hi')], { usage })));
    const thinking = { type: 'enabled', budget_tokens: 10_000 };
    const body = { model: CLAUDE, max_tokens: LIMIT, thinking, messages: PLAIN.messages };
    // $15 a million tokens: 13,000 fit, the thinking and 256 more.
    expect((await send(gateway, '/v1/messages', body)).status).toBe(200);
    const { max_tokens: sent } = sentBody(gateway) as { max_tokens: number };
    expect(sent).toBeGreaterThanOrEqual(10_256);
    expect(sent).toBeLessThan(14_000);
    const more = { ...body, thinking: { type: 'enabled', budget_tokens: 20_000 } };
    expect((await send(gateway, '/v1/messages', more)).status).toBe(402);
  });

  test('of responses is lowered', async () => {
    const gateway = await startGateway(CENT);
    gateway.upstream.script(json(200, responseBody([messageItem('Hi')])));
    const body = { model: 'mock/test-model', input: 'Hi', max_output_tokens: LIMIT };
    const answer = await send(gateway, '/v1/responses', body);
    const { max_output_tokens: sent } = sentBody(gateway) as { max_output_tokens: number };
    expect(sent).toBeLessThan(5_000);
    expect(answer.header(HEADER)).toBe(String(sent));
  });

  test.each([
    ['messages over chat completions', '/v1/messages', { model: 'mock/test-model' }, 4_000],
    ['chat completions over messages', '/v1/chat/completions', { model: `anthropic/${CLAUDE}` }, 500],
  ])('of %s is lowered in the words of the provider', async (_, path, model, atLeast) => {
    const gateway = await startBothWires(CENT);
    gateway.upstream.script(path === '/v1/messages' ? completion() : json(200, messageBody([text('Hi')])));
    const answer = await send(gateway, path, { ...model, max_tokens: LIMIT, messages: PLAIN.messages });
    expect(answer.status).toBe(200);
    const { max_tokens: sent } = sentBody(gateway) as { max_tokens: number };
    expect(sent).toBeGreaterThan(atLeast);
    expect(sent).toBeLessThan(5_000);
    expect(answer.header(HEADER)).toBe(String(sent));
    expect(await gateway.settled(1)).toMatchObject([
      { detail: { max_output_tokens: { asked: LIMIT, sent } } },
    ]);
  });

  test('leaves half of the room to other requests while 16,384 tokens fit, so that they need not wait', async () => {
    const gateway = await startGateway(day(0.2));
    const gate = createGate();
    gateway.upstream.script(async (exchange) => {
      await exchange.body;
      await gate.pass();
      await completion({ usage: usageOf(5, 1) })(exchange);
    });
    const answers = [];
    for (let i = 0; i < 4; i++) {
      answers.push(gateway.post({ ...PLAIN, max_tokens: 1_000_000 }));
      await gateway.upstream.nextRequest();
    }
    const limits = gateway.upstream.requests.map(({ body }) => JSON.parse(String(body)).max_tokens as number);
    // Of 20 cents: half, a quarter, what is enough besides the least, and the rest.
    expect(limits.map((limit) => Math.round(limit / 1_000))).toEqual([50, 25, 17, 8]);
    gate.openForGood();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });

  test('is quoted again at the next target, whose price differs', async () => {
    const several = await severalTargets({ ...CENT, count: 2, outputUsd: [2, 1] });
    onTestFinished(() => closeAll(several));
    const { gateway, upstreams } = several;
    upstreams[0]?.script(status(500));
    const answer = await gateway.post({ ...MANY, max_tokens: LIMIT });
    const [first = 0, second = 0] = upstreams.map(
      ({ requests }) => JSON.parse(String(requests[0]?.body)).max_tokens as number,
    );
    expect(second / first).toBeCloseTo(2, 1);
    expect(answer.header(HEADER)).toBe(String(second));
    expect(await gateway.settled(1)).toMatchObject([
      { detail: { max_output_tokens: { asked: LIMIT, sent: second }, attempts: [{}, {}] } },
    ]);
  });
});

/** The provider generates on to its end, and bills all of it, when its client hangs up. */
function runsOn(tokens: number, onBilled: (input: number, output: number) => void): Script {
  return async (exchange) => {
    const { model, stream, max_completion_tokens, max_tokens } = await chatRequestOf(exchange);
    const total = Math.min(tokens, max_completion_tokens ?? max_tokens ?? tokens);
    const usage = usageOf(promptTokensOf(exchange), total);
    onBilled(promptTokensOf(exchange), total);
    if (stream) return sse(['Hi'], { usage, pace: every(75, systemClock) })(exchange);
    await exchange.until(every(300, systemClock)());
    await json(200, completionBody(model, 'Hi', usage))(exchange);
  };
}

describe('a client that hangs up', () => {
  test('pays for no more than the limit that was sent, if the provider then breaks off', async () => {
    const gateway = await startGateway(CENT);
    const gate = createGate();
    gateway.upstream.queue(reset({ pace: gate.pass }));
    const connection = await gateway.open({ ...STREAM, max_tokens: LIMIT });
    await gateway.upstream.nextRequest();
    connection.hangUp();
    await gateway.get('/health');
    gate.open();
    const [record] = await gateway.settled(1);
    expect(record?.outputTokens).toBe(sentBody(gateway).max_tokens);
    expect(balance(gateway)).toEqual({ posted: record?.costNanoUsd, pending: 0 });
    expect(record?.costNanoUsd).toBeLessThanOrEqual(10_000_000);
  });

  test('at a host of the list ends a stream, and pays for what can have been generated of it', async () => {
    const upstream = await startUpstream();
    const settings = { providers: { openai: { baseUrl: namedHost('api.openai.com', upstream) } } };
    const gateway = await startGateway({ ...day(10), upstream, settings, credentials: { openai: 'key' } });
    onTestFinished(() => upstream.close());
    const gate = createGate();
    upstream.script(metered({ tokens: 1_000, perTick: 5, tick: gate.pass }));
    const leave = async (body: object) => {
      const connection = await gateway.open({
        ...body,
        model: 'openai/gpt-4o',
        max_completion_tokens: 9_000,
      });
      const seen = await upstream.nextRequest();
      gate.open(4);
      await gate.reached();
      connection.hangUp();
      await gateway.get('/health');
      return seen;
    };
    const cut = await leave(STREAM);
    await cut.done;
    expect(cut.hungUp).toBeDefined();
    const whole = await leave(PLAIN);
    gate.openForGood();
    await whole.done;
    expect(whole.hungUp).toBeUndefined();
    const [streamed, plain] = await gateway.settled(2);
    expect(streamed).toMatchObject({ flags: ['stream', 'estimated'] });
    expect(streamed?.outputTokens).toBeGreaterThanOrEqual(20);
    expect(streamed?.outputTokens).toBeLessThan(5_000);
    expect(plain).toMatchObject({ flags: [], outputTokens: 1_000 });
    await gateway.stop();
  });

  test('whose provider breaks off itself, pays for the whole limit at a host that may go on', async () => {
    const gateway = await startGateway(day(1));
    gateway.upstream.queue(reset({ afterBytes: 80 }));
    await gateway.post({ ...PLAIN, max_tokens: 3_000 });
    expect(await gateway.settled(1)).toMatchObject([{ outcome: 'upstream_failed', outputTokens: 3_000 }]);
  });
});

const LEAVERS = process.env.GW_LONG ? 400 : 80;

test(`${LEAVERS} requests on a cap of a cent, most of them broken off at a host that goes on: no less is booked than billed, and no more billed than the cap`, {
  timeout: 60_000,
}, async () => {
  const gateway = await startGateway({ ...CENT, settings: { 'admission.max_wait_ms': 50 } });
  const random = seededRandom(process.env.GW_SEED ?? 'leavers');
  const bills: number[] = [];
  gateway.upstream.script((exchange) =>
    runsOn(random(2).readUInt16LE() % 3_000, (input, output) => bills.push(input * 1_000 + output * 2_000))(
      exchange,
    ),
  );
  async function ask(i: number): Promise<void> {
    const body = { ...(i % 2 ? STREAM : PLAIN), max_tokens: 1 + (random(2).readUInt16LE() % LIMIT) };
    const connection = await gateway.open(body);
    if (i % 3 > 0 && !('stream' in body)) return void (await connection.response());
    await every(random(1).readUInt8() % 50, systemClock)();
    connection.hangUp();
  }
  for (let i = 0; i < LEAVERS; i += 10) await Promise.all(Array.from({ length: 10 }, (_, j) => ask(i + j)));
  await gateway.get('/health');
  await until(() => gateway.holds() === 0, 20_000);
  const billed = bills.reduce((sum, bill) => sum + bill, 0);
  expect(bills.length).toBeGreaterThan(0);
  expect(billed).toBeLessThanOrEqual(10_000_000);
  expect(balance(gateway).posted).toBeGreaterThanOrEqual(billed);
  expect(balance(gateway)).toMatchObject({ pending: 0 });
});
