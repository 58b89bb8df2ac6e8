import { describe, expect, onTestFinished, test } from 'vitest';
import { completion } from '../../support/chat-scripts.ts';
import { createGate } from '../../support/gate.ts';
import { until } from '../../support/home.ts';
import { metered } from '../../support/metered.ts';
import { hang, type Script, status } from '../../support/scripts.ts';
import {
  closeAll,
  MANY,
  MANY_STREAM,
  type SeveralOptions,
  severalTargets,
} from '../../support/several-targets.ts';
import { cut, sse } from '../../support/sse-scripts.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const USUAL_MS = 10;
/** The first few take this long, so that it is what 95 % take. */
const SLOW_MS = 30;
const SLOW = 10;
const BUDGET = { budget: { period: 'daily' as const, capUsd: 10 } };

/** A gateway that has seen how long `a` usually takes, and may hedge one request. */
async function start({ settings, ...options }: SeveralOptions = {}, requests = 50) {
  const clock = createVirtualClock();
  const several = await severalTargets({
    clock,
    count: 2,
    ...BUDGET,
    ...options,
    settings: { 'routing.hedge': 'on', ...settings },
  });
  onTestFinished(() => closeAll(several));
  const { gateway, upstreams } = several;
  let asked = 0;
  const good: Script = async (exchange) => {
    const { stream } = JSON.parse((await exchange.body).toString()) as { stream?: boolean };
    await clock.advance(asked++ < SLOW ? SLOW_MS : USUAL_MS);
    await (stream ? sse(['all', ' is', ' well']) : completion({ content: 'all is well' }))(exchange);
  };
  for (const upstream of upstreams) upstream.script(good);
  for (let i = 0; i < requests; i++) {
    await gateway.post(i % 2 ? MANY : MANY_STREAM);
  }
  await until(() => gateway.holds() === 0);
  const before = upstreams.map(({ requests: all }) => all.length);
  const [a, b] = upstreams;
  if (!a || !b) throw new Error('two upstreams were to be there');
  return {
    ...several,
    clock,
    a,
    b,
    /** How many requests each got since. */
    since: () => upstreams.map(({ requests: all }, i) => all.length - (before[i] ?? 0)),
    /** The one record since. */
    record: async () => (await gateway.settled(requests + 1)).at(-1),
    late: () => clock.advance(SLOW_MS),
  };
}

function sums({ db }: Awaited<ReturnType<typeof start>>['gateway']) {
  return db
    .prepare('SELECT sum(posted_nano_usd) AS posted, sum(pending_nano_usd) AS pending FROM budget_periods')
    .get() as { posted: number; pending: number };
}

function attemptsIn(record: { detail: Record<string, unknown> } | undefined) {
  return (record?.detail.attempts ?? []) as { provider: string; outcome: string; cost_usd: number }[];
}

/** Opens a request at an upstream that does not answer, and lets it become later than usual. */
async function openLate(several: Awaited<ReturnType<typeof start>>, body: object, script: Script = hang()) {
  several.a.queue(script);
  const connection = await several.gateway.open(body);
  await until(() => several.since()[0] === 1);
  await several.late();
  return connection;
}

describe.each([
  ['a stream', MANY_STREAM],
  ['a whole answer', MANY],
])('%s that is late', (_name, body) => {
  test('is asked for elsewhere too: the faster is the answer, and the other is hung up on and booked', async () => {
    const several = await start();
    const { gateway, a, since } = several;
    const spentBefore = sums(gateway).posted;
    const connection = await openLate(several, body);
    const answer = await connection.response();
    expect([answer.status, answer.complete]).toEqual([200, true]);
    expect(answer.text()).toMatch(/all/);
    expect(answer.header('x-service-route')).toBe('attempts=2 (a outrun, b ok)');
    expect([answer.header('x-service-provider'), answer.header('x-service-model')]).toEqual(['b', 'm-b']);
    expect(answer.text()).toContain('"model":"m-b"');
    await until(() => a.requests.at(-1)?.hungUp !== undefined);
    expect(since()).toEqual([1, 1]);
    const record = await several.record();
    expect(record).toMatchObject({ provider: 'b', model: 'm-b', outcome: 'ok', status: 200 });
    const [lost, won] = attemptsIn(record);
    expect([lost, won]).toMatchObject([
      { provider: 'a', outcome: 'outrun' },
      { provider: 'b', outcome: 'ok' },
    ]);
    expect(lost?.cost_usd).toBeGreaterThan(0);
    expect(record?.flags).toContain('estimated');
    const cost = Math.round(((lost?.cost_usd ?? 0) + (won?.cost_usd ?? 0)) * 1e9);
    expect(record?.costNanoUsd).toBe(cost);
    expect(sums(gateway)).toEqual({ posted: spentBefore + cost, pending: 0 });
    connection.hangUp();
  });

  test('but is there before the other: the other is hung up on', async () => {
    const several = await start();
    const gate = createGate();
    several.b.queue(hang());
    const script: Script = async (exchange) => {
      await exchange.body;
      await gate.pass();
      await (body === MANY ? completion() : sse(['one']))(exchange);
    };
    const connection = await openLate(several, body, script);
    await until(() => several.since()[1] === 1);
    gate.openForGood();
    const answer = await connection.response();
    expect([answer.status, answer.header('x-service-route')]).toEqual([200, 'attempts=2 (b outrun, a ok)']);
    await until(() => several.b.requests.at(-1)?.hungUp !== undefined);
    expect(await several.record()).toMatchObject({ provider: 'a', outcome: 'ok' });
    connection.hangUp();
  });

  test('holds the worst case of both while both run', async () => {
    const several = await start();
    several.a.queue(hang());
    several.b.queue(hang());
    const connection = await several.gateway.open(body);
    await until(() => several.since()[0] === 1);
    const alone = sums(several.gateway).pending;
    await several.late();
    await until(() => several.since()[1] === 1);
    expect(sums(several.gateway).pending).toBe(2 * alone);
    connection.hangUp();
    expect(await several.record()).toMatchObject({ outcome: 'client_gone' });
  });

  test('and whose client leaves: both are hung up on within 100 ms', async () => {
    const several = await start();
    several.b.queue(hang());
    const connection = await openLate(several, body);
    await until(() => several.since()[1] === 1);
    const left = performance.now();
    connection.hangUp();
    await until(() => [several.a, several.b].every(({ requests }) => requests.at(-1)?.hungUp !== undefined));
    expect(performance.now() - left).toBeLessThan(100);
    const record = await several.record();
    expect(record).toMatchObject({ outcome: 'client_gone', status: 499 });
    expect(attemptsIn(record)).toHaveLength(2);
    expect(sums(several.gateway)).toMatchObject({ pending: 0 });
  });

  test.each([
    ['the first', 'attempts=2 (a 500, b ok)'],
    ['the second', 'attempts=2 (b 500, a ok)'],
  ])('goes on with the other where %s fails', async (which, route) => {
    const several = await start();
    const [first, second] = [createGate(), createGate()];
    const gated =
      (gate: ReturnType<typeof createGate>, fails: boolean): Script =>
      async (exchange) => {
        await exchange.body;
        await gate.pass();
        const good = body === MANY ? completion() : sse(['one']);
        await (fails ? status(500) : good)(exchange);
      };
    several.b.queue(gated(second, which === 'the second'));
    const connection = await openLate(several, body, gated(first, which === 'the first'));
    await until(() => several.since()[1] === 1);
    (which === 'the first' ? first : second).openForGood();
    await (which === 'the first' ? several.a : several.b).requests.at(-1)?.done;
    (which === 'the first' ? second : first).openForGood();
    const answer = await connection.response();
    expect([answer.status, answer.header('x-service-route')]).toEqual([200, route]);
    expect(several.since()).toEqual([1, 1]);
    connection.hangUp();
  });
});

test('what the one that is given up had generated unseen is booked', async () => {
  const several = await start();
  const ticks = createGate();
  several.a.queue(metered({ tokens: 1_000, perTick: 1, tick: ticks.pass }));
  const connection = await several.gateway.open({ ...MANY, max_tokens: 1_000 });
  ticks.open(10);
  await ticks.reached();
  await several.late();
  expect((await connection.response()).header('x-service-route')).toBe('attempts=2 (a outrun, b ok)');
  await until(() => several.a.requests.at(-1)?.hungUp !== undefined);
  const { inputTokens = 0, outputTokens = 0 } = several.a.requests.at(-1)?.hungUp ?? {};
  expect(outputTokens).toBe(10);
  const [lost] = attemptsIn((await several.gateway.settled(51)).at(-1));
  expect(lost?.cost_usd).toBeGreaterThanOrEqual(inputTokens * 1e-6 + outputTokens * 2e-6);
  connection.hangUp();
});

/** The second target fails at once, the first when the gate opens. */
async function openFailing(several: Awaited<ReturnType<typeof start>>) {
  several.b.queue(status(503));
  const gate = createGate();
  const connection = await openLate(several, MANY, async (exchange) => {
    await exchange.body;
    await gate.pass();
    await status(500)(exchange);
  });
  await until(() => several.since()[1] === 1);
  return { connection, gate };
}

test('where both fail, a third target is asked', async () => {
  const several = await start({ count: 3 });
  const { connection, gate } = await openFailing(several);
  gate.openForGood();
  const answer = await connection.response();
  expect(answer.status).toBe(200);
  expect(answer.header('x-service-route')).toMatch(/^attempts=3 \((a 500, b 503|b 503, a 500), c ok\)$/);
  expect(several.since()).toEqual([1, 1, 1]);
  connection.hangUp();
});

test('where both fail and nobody else is left, the last failure is passed on as one', async () => {
  const several = await start();
  const { connection, gate } = await openFailing(several);
  await several.b.requests.at(-1)?.done;
  gate.openForGood();
  const answer = await connection.response();
  expect(answer.status).toBe(500);
  expect(answer.header('x-service-route')).toBe('attempts=2 (b 503, a 500)');
  connection.hangUp();
});

test('a stream that breaks behind its first words is not begun anew by the other', async () => {
  const several = await start();
  several.b.queue(cut({ afterChunks: 2 }));
  const connection = await openLate(several, MANY_STREAM);
  const answer = await connection.response();
  expect([answer.status, answer.complete]).toEqual([200, false]);
  expect(answer.header('x-service-route')).toBe('attempts=2 (a outrun, b ok)');
  expect(attemptsIn(await several.record()).map(({ outcome }) => outcome)).toEqual(['outrun', 'network']);
  connection.hangUp();
});

test('a conversation stays with the faster one', async () => {
  const several = await start({
    settings: { aliases: { many: 'a/m-a, b/m-b', equals: 'a/m-a | b/m-b' } },
  });
  const { gateway, a, since, clock } = several;
  let talk = { ...MANY, model: 'equals', prompt_cache_key: 'k' };
  const ask = async () => (await gateway.post(talk)).header('x-service-provider');
  // Until the conversation is one that begins where it is known what is late.
  for (; (await ask()) !== 'a'; await clock.advance(60_000))
    talk = { ...talk, prompt_cache_key: `${talk.prompt_cache_key}k` };
  a.queue(hang());
  const before = since()[0] ?? 0;
  const connection = await gateway.open(talk);
  await until(() => since()[0] === before + 1);
  await several.late();
  expect((await connection.response()).header('x-service-route')).toBe('attempts=2 (a outrun, b ok)');
  for (let i = 0; i < 5; i++) expect(await ask()).toBe('b');
  connection.hangUp();
});

describe('no second target is asked', () => {
  test.each<[string, SeveralOptions, object]>([
    ['unless that is switched on', { settings: { 'routing.hedge': 'off' } }, {}],
    ['where budgets have no room for both', { budget: { period: 'daily', capUsd: 0.0045 } }, {}],
    ['where it is dearer', { outputUsd: [2, 5] }, {}],
    ['without a route', {}, { service: { route: false } }],
    [
      'where the provider runs tools',
      { settings: { fees: { web_search: '0.01' } } },
      { tools: [{ type: 'web_search' }] },
    ],
  ])('%s', async (_name, options, fields) => {
    const several = await start(options);
    const connection = await openLate(several, { ...MANY, ...fields, max_tokens: 1_000 });

    await several.clock.advance(1_000);
    await several.gateway.get('/health');
    expect(several.since()).toEqual([1, 0]);
    connection.hangUp();
    await several.record();
  });

  test('for more than 2 % of the requests', async () => {
    const several = await start({}, 60);
    const connections = [];
    for (let i = 1; i <= 5; i++) {
      several.a.queue(hang());
      connections.push(await several.gateway.open(MANY));
      await until(() => several.since()[0] === i);
    }
    await several.late();
    await until(() => several.since()[1] === 1);
    await several.clock.advance(1_000);
    expect(several.since()).toEqual([5, 1]);
    for (const connection of connections) connection.hangUp();
    await several.gateway.settled(65);
  });

  test('before it is known what is late', async () => {
    const several = await start({}, 10);
    const connection = await openLate(several, MANY);
    await several.clock.advance(1_000);
    expect(several.since()).toEqual([1, 0]);
    connection.hangUp();
    await several.record();
  });

  test('sooner for errors that came soon', async () => {
    const several = await start();
    several.a.script(status(400));
    for (let i = 0; i < 60; i++) await several.gateway.post(MANY);
    several.a.queue(hang());
    const connection = await several.gateway.open(MANY);
    await until(() => several.since()[0] === 61);
    await several.clock.advance(SLOW_MS - 1);
    await several.gateway.get('/health');
    expect(several.since()).toEqual([61, 0]);
    await several.clock.advance(1);
    await until(() => several.since()[1] === 1);
    connection.hangUp();
    await several.gateway.settled(111);
  });

  test('while another request waits for the room', async () => {
    const several = await start({ budget: { period: 'daily', capUsd: 0.0065 } });
    const holding = { ...MANY, max_tokens: 500 };
    several.a.queue(hang());
    const first = await several.gateway.open(holding);
    await until(() => several.since()[0] === 1);
    const before = several.clock.timers;
    const second = await several.gateway.open({ ...MANY, max_tokens: 2_000 });
    await until(() => several.clock.timers > before);
    await several.late();
    await several.clock.advance(1_000);
    expect(several.since()).toEqual([1, 0]);
    second.hangUp();
    first.hangUp();
    await several.gateway.settled(52);
  });

  test('that is to be left alone', async () => {
    const several = await start();
    several.b.queue(status(429, { retryAfter: '60' }));
    await several.gateway.post({ ...MANY, model: 'b/m-b' });
    const connection = await openLate(several, MANY);
    await several.clock.advance(1_000);
    expect(several.since()).toEqual([1, 1]);
    connection.hangUp();
    await several.gateway.settled(52);
  });
});
