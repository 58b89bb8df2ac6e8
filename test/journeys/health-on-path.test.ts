import { describe, expect, onTestFinished, test } from 'vitest';
import { seededRandom } from '../routing/seeded-random.ts';
import { completion } from '../support/chat-scripts.ts';
import { startGateway } from '../support/gateway.ts';
import { html, json, reset, respond, type Script, status } from '../support/scripts.ts';
import {
  closeAll,
  MANY,
  MANY_STREAM,
  type SeveralOptions,
  severalTargets,
} from '../support/several-targets.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

async function start(options: SeveralOptions = {}) {
  const clock = createVirtualClock();
  const several = await severalTargets({ clock, ...options });
  onTestFinished(() => closeAll(several));
  return { ...several, clock };
}

const noMoney = json(429, {
  error: {
    message: 'You exceeded your current quota',
    type: 'insufficient_quota',
    code: 'insufficient_quota',
  },
});

const LONG = Boolean(process.env.GW_LONG);
/** All of these are answered, which is more than the 99.99 % that gw promises. */
const REQUESTS = LONG ? 10_000 : 60;

describe('one of three equal targets is down', () => {
  test.each<[string, Script]>([
    ['500', status(500)],
    ['503', status(503)],
    [
      '529',
      respond(
        529,
        { 'content-type': 'application/json' },
        '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
      ),
    ],
    ['a reset', reset()],
    ['a page', html(200)],
  ])(
    '%s: every request is answered; at most six reach it, and one each time its wait is over',
    async (_name, script) => {
      const { gateway, upstreams, clock } = await start({ join: ' | ' });
      upstreams[0]?.script(script);
      for (let i = 0; i < REQUESTS; i++) {
        const answer = await gateway.post(i % 2 ? MANY : MANY_STREAM);
        expect([answer.status, answer.complete]).toEqual([200, true]);
      }
      // The clock stands still, so that no probe is due.
      expect(upstreams[0]?.requests.length).toBeLessThanOrEqual(6);
      const before = upstreams[0]?.requests.length ?? 0;
      for (let i = 0; i < 10; i++) {
        await clock.advance(60_000);
        for (let k = 0; k < 6; k++) expect((await gateway.post(MANY)).status).toBe(200);
      }
      expect((upstreams[0]?.requests.length ?? 0) - before).toBeLessThanOrEqual(10);
      await gateway.settled(REQUESTS + 60);
    },
    LONG ? 600_000 : 30_000,
  );

  test('it refuses connections: every request is answered', async () => {
    const { gateway, upstreams } = await start({ join: ' | ' });
    await upstreams[0]?.close();
    for (let i = 0; i < REQUESTS; i++) expect((await gateway.post(MANY)).status).toBe(200);
    const records = await gateway.settled(REQUESTS);
    const refused = records.filter(({ detail }) => JSON.stringify(detail).includes('network'));
    expect(refused.length).toBeLessThanOrEqual(6);
    expect(records.every(({ flags }) => flags.length === 0)).toBe(true);
  }, 600_000);

  test('it hangs: every stream is answered, and no more than six wait for it', async () => {
    const { gateway, upstreams, clock } = await start({ join: ' | ' });
    upstreams[0]?.script(async (exchange) => {
      await exchange.body;
      await clock.advance(60_000);
      await exchange.untilGone();
    });
    const waits: number[] = [];
    for (let i = 0; i < 60; i++) {
      const before = clock.monotonic();
      const answer = await gateway.post(MANY_STREAM);
      expect([answer.status, answer.complete]).toEqual([200, true]);
      waits.push(clock.monotonic() - before);
    }
    expect(upstreams[0]?.requests.length).toBeLessThanOrEqual(6);
    expect(waits.filter((ms) => ms > 0).length).toBeLessThanOrEqual(6);
    expect(Math.max(...waits)).toBe(60_000);
    await gateway.settled(60);
  });

  test('and recovers: it gets its share again', async () => {
    const { gateway, upstreams, clock } = await start({ join: ' | ' });
    upstreams[0]?.script(status(500));
    for (let i = 0; i < 40; i++) await gateway.post(MANY);
    upstreams[0]?.script(completion());
    const before = upstreams[0]?.requests.length ?? 0;
    for (let i = 0; i < 40; i++) {
      await clock.advance(5_000);
      expect((await gateway.post(MANY)).status).toBe(200);
    }
    expect((upstreams[0]?.requests.length ?? 0) - before).toBeGreaterThan(5);
  });
});

test(
  'three that fail 30 % of the time serve all but 0.3 cubed, and none of them is shut out',
  async () => {
    const random = seededRandom(7);
    const { gateway, upstreams, hits, clock } = await start({ join: ' | ' });
    for (const upstream of upstreams) {
      upstream.script((exchange) => (random() < 0.3 ? status(500) : completion())(exchange));
    }
    const requests = LONG ? 10_000 : 300;
    let served = 0;
    for (let i = 0; i < requests; i++) {
      if ((await gateway.post(MANY)).status === 200) served++;
      await clock.advance(200);
    }
    // Within three standard deviations.
    const share = 1 - 0.3 ** 3;
    expect(served).toBeGreaterThan(requests * share - 3 * Math.sqrt(requests * share * (1 - share)));
    const all = hits().reduce((sum, each) => sum + each);
    for (const each of hits()) expect(each / all).toBeGreaterThan(0.2);
  },
  LONG ? 600_000 : 30_000,
);

test('a slow target gets less than 5 % of the later requests', async () => {
  const { gateway, upstreams, clock } = await start({ join: ' | ' });
  const after =
    (ms: number): Script =>
    async (exchange) => {
      await exchange.body;
      await clock.advance(ms);
      await completion()(exchange);
    };
  for (const upstream of upstreams) upstream.script(after(50));
  for (let i = 0; i < 20; i++) await gateway.post(MANY);
  upstreams[0]?.script(after(1_000));
  for (let i = 0; i < 10; i++) await gateway.post(MANY);
  const before = upstreams[0]?.requests.length ?? 0;
  for (let i = 0; i < 100; i++) await gateway.post(MANY);
  expect((upstreams[0]?.requests.length ?? 0) - before).toBeLessThan(5);
});

describe('429', () => {
  const inMs = (ms: number) => new Date(Date.UTC(2026, 0, 1, 12) + ms).toUTCString();
  test.each<[string, Record<string, string>, number]>([
    ['retry-after: 2', { 'retry-after': '2' }, 2_000],
    ['retry-after: 3600', { 'retry-after': '3600' }, 3_600_000],
    ['an HTTP date', { 'retry-after': inMs(90_000) }, 90_000],
    ['retry-after-ms', { 'retry-after-ms': '7500' }, 7_500],
    [
      'Anthropic’s reset',
      {
        'anthropic-ratelimit-requests-remaining': '0',
        'anthropic-ratelimit-requests-reset': new Date(Date.UTC(2026, 0, 1, 12) + 30_000).toISOString(),
      },
      30_000,
    ],
    [
      'x-ratelimit-reset-tokens',
      { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '1m30s' },
      90_000,
    ],
  ])(
    'with %s: nothing reaches the target until then, and another model of the key is served',
    async (_name, headers, quietMs) => {
      const { gateway, upstreams, clock } = await start({ count: 2 });
      upstreams[0]?.queue(status(429, { headers }));
      expect((await gateway.post(MANY)).header('x-service-route')).toBe('attempts=2 (a 429, b ok)');
      for (const ms of [quietMs / 2, quietMs / 2 - 1]) {
        await clock.advance(ms);
        expect((await gateway.post(MANY)).header('x-service-provider')).toBe('b');
      }
      expect(upstreams[0]?.requests).toHaveLength(1);
      expect((await gateway.post({ ...MANY, model: 'a/other' })).header('x-service-provider')).toBe('a');
      await clock.advance(1);
      expect((await gateway.post(MANY)).header('x-service-provider')).toBe('a');
    },
  );

  test.each(['-1', 'soon', '0'])(
    'with retry-after: %s: the other target comes first, without a wait',
    async (retryAfter) => {
      const { gateway, upstreams } = await start({ count: 2 });
      upstreams[0]?.script(status(429, { retryAfter }));
      for (let i = 0; i < 5; i++) expect((await gateway.post(MANY)).status).toBe(200);
      expect(upstreams[0]?.requests.length).toBeLessThanOrEqual(2);
    },
  );

  test('everywhere, without retry-after: one target is tried per request', async () => {
    const { gateway, upstreams, hits } = await start({ count: 2 });
    for (const upstream of upstreams) upstream.queue(status(429));
    expect((await gateway.post(MANY)).status).toBe(429);
    expect((await gateway.post(MANY)).status).toBe(200);
    expect(hits().reduce((sum, each) => sum + each)).toBe(3);
  });

  test('everywhere: the client gets the shortest wait, and no target is tried', async () => {
    const { gateway, upstreams, hits } = await start({ count: 2 });
    upstreams[0]?.script(status(429, { retryAfter: '60' }));
    upstreams[1]?.script(status(429, { retryAfter: '20' }));
    expect((await gateway.post(MANY)).status).toBe(429);
    const answer = await gateway.post(MANY);
    expect([answer.status, answer.header('retry-after')]).toEqual([429, '20']);
    const exactMs = Number(answer.header('retry-after-ms'));
    expect(exactMs > 10_000 && exactMs <= 20_000).toBe(true);
    expect(hits()).toEqual([1, 1]);
  });
});

test('an account without credit is not tried again by the same request, nor are its other models', async () => {
  const { gateway, upstreams } = await start({
    count: 2,
    settings: { aliases: { many: 'a/m-a, a/m-x, a/m-y', other: 'a/m-a, b/m-b' } },
  });
  upstreams[0]?.script(noMoney);
  expect((await gateway.post(MANY)).status).toBe(429);
  expect(upstreams[0]?.requests).toHaveLength(1);
  expect((await gateway.post({ ...MANY, model: 'other' })).header('x-service-route')).toBe('as-asked');
  expect(upstreams[0]?.requests).toHaveLength(1);
});

test('a rejected key blocks its targets; a new key is tried at once', async () => {
  const { gateway, upstreams } = await start({ count: 2 });
  upstreams[0]?.script(json(401, { error: { message: 'bad key', code: 'invalid_api_key' } }));
  for (let i = 0; i < 3; i++) expect((await gateway.post(MANY)).header('x-service-provider')).toBe('b');
  expect(upstreams[0]?.requests).toHaveLength(1);
});

test('a total outage causes no retry storm', async () => {
  const { gateway, upstreams, hits, clock } = await start({ join: ' | ' });
  for (const upstream of upstreams) upstream.script(status(503));
  for (let i = 0; i < 300; i++) {
    expect((await gateway.post(MANY)).status).toBe(503);
    await clock.advance(50);
  }
  const sum = hits().reduce((a, b) => a + b, 0);
  expect(sum).toBeLessThanOrEqual(1.2 * 300);
  for (const upstream of upstreams) upstream.script(completion());
  // Requests that arrive together when the wait is over are all served, and few of them are probes.
  await clock.advance(60_000);
  const answers = await Promise.all(Array.from({ length: 30 }, () => gateway.post(MANY)));
  expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 200));
  expect(hits().reduce((a, b) => a + b, 0) - sum).toBeLessThanOrEqual(1.2 * 30);
}, 30_000);

/** A later turn of a conversation. */
const talkOf = (start: string) => [
  { role: 'user' as const, content: start },
  { role: 'assistant' as const, content: 'Yes.' },
  { role: 'user' as const, content: 'And then?' },
];

test('a restart keeps the rest of a cooldown', async () => {
  const clock = createVirtualClock();
  const several = await severalTargets({ clock, count: 2 });
  onTestFinished(() => closeAll(several));
  const { gateway, upstreams } = several;
  upstreams[0]?.queue(status(429, { retryAfter: '100' }));
  await gateway.post(MANY);
  await clock.advance(1_000);
  await gateway.settled(1);
  // Like a second daemon that starts while the first runs, or after it was killed.
  const providers = Object.fromEntries(
    upstreams.map(({ url }, i) => [['a', 'b'][i] ?? '', { baseUrl: url }]),
  );
  const second = await startGateway({
    clock,
    home: tmpHome(),
    database: gateway.paths.database,
    upstream: gateway.upstream,
    settings: { aliases: { many: 'a/m-a, b/m-b' }, providers },
  });
  expect((await second.post(MANY)).header('x-service-provider')).toBe('b');
  await clock.advance(99_000);
  expect((await second.post(MANY)).header('x-service-provider')).toBe('a');
  await second.stop();
});

test.each(['a restart', 'a kill'])('%s keeps conversations at their targets', async (how) => {
  const clock = createVirtualClock();
  const several = await severalTargets({ clock, count: 2, join: ' | ' });
  onTestFinished(() => closeAll(several));
  const { gateway, upstreams } = several;
  const talk = (i: number) => ({ ...MANY, messages: talkOf(`Talk ${i}`) });
  const where: (string | undefined)[] = [];
  for (let i = 0; i < 12; i++) where.push((await gateway.post(talk(i))).header('x-service-provider'));
  expect(new Set(where).size).toBe(2);
  await gateway.settled(12);
  if (how === 'a kill') await clock.advance(60_000);
  const providers = Object.fromEntries(
    upstreams.map(({ url }, i) => [['a', 'b'][i] ?? '', { baseUrl: url }]),
  );
  const next = () =>
    startGateway({
      clock,
      home: tmpHome(),
      database: gateway.paths.database,
      upstream: gateway.upstream,
      settings: { aliases: { many: 'a/m-a | b/m-b' }, providers },
    });
  if (how === 'a restart') await gateway.stop();
  const second = await next();
  const then: (string | undefined)[] = [];
  for (let i = 0; i < 12; i++) then.push((await second.post(talk(i))).header('x-service-provider'));
  expect(then).toEqual(where);
  await second.stop();
});

test('a clock that jumps does not change a cooldown', async () => {
  const { gateway, upstreams, clock } = await start({ count: 2 });
  upstreams[0]?.queue(status(429, { retryAfter: '60' }));
  await gateway.post(MANY);
  for (const jump of [3_600_000, -7_200_000]) {
    clock.setWallTime(clock.now() + jump);
    expect((await gateway.post(MANY)).header('x-service-provider')).toBe('b');
  }
  await clock.advance(60_000);
  expect((await gateway.post(MANY)).header('x-service-provider')).toBe('a');
});

test('no attempt starts that cannot end in time', async () => {
  const { gateway, upstreams, hits, clock } = await start({ settings: { 'routing.deadline_ms': 1_000 } });
  const failAfter =
    (ms: number): Script =>
    async (exchange) => {
      await exchange.body;
      await clock.advance(ms);
      await status(500)(exchange);
    };
  upstreams[0]?.queue(failAfter(999), failAfter(1_000));
  expect((await gateway.post(MANY)).header('x-service-route')).toBe('attempts=2 (a 500, b ok)');
  const late = await gateway.post(MANY);
  expect([late.status, late.header('x-service-route')]).toEqual([500, 'as-asked']);
  expect(hits()).toEqual([2, 1, 0]);
  // The same for the client's own limit, if it sends one.
  upstreams[0]?.queue(failAfter(600));
  const hasty = await gateway.post(MANY, { headers: { 'x-stainless-timeout': '0.5' } });
  expect(hasty.status).toBe(500);
});

test('the answer, its headers, the record and the upstream request name the same model', async () => {
  const { gateway, upstreams } = await start({ join: ' | ' });
  upstreams[0]?.script(status(500));
  for (let i = 0; i < 20; i++) {
    const before = upstreams.map(({ requests }) => requests.length);
    const answer = await gateway.post(MANY);
    const at = upstreams.findIndex(({ requests }, k) => k > 0 && requests.length > (before[k] ?? 0));
    const sent = JSON.parse(upstreams[at]?.requests.at(-1)?.body.toString() ?? '{}') as { model: string };
    const [record] = (await gateway.settled(i + 1)).slice(-1);
    const said = [
      (answer.json() as { model: string }).model,
      answer.header('x-service-model'),
      record?.model,
    ];
    expect(said).toEqual([sent.model, sent.model, sent.model]);
  }
});
