import { describe, expect, onTestFinished, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { DIALECTS, type Refusal } from '../support/provider-errors.ts';
import { json, raw, type Script } from '../support/scripts.ts';
import {
  closeAll,
  MANY,
  MANY_STREAM,
  type SeveralOptions,
  severalTargets,
} from '../support/several-targets.ts';
import { startUpstream } from '../support/upstream.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

async function start(options: SeveralOptions = {}) {
  const clock = createVirtualClock();
  const several = await severalTargets({
    clock,
    count: 2,
    // `sibling` is another model of the first provider's key.
    settings: { aliases: { many: 'a/m-a, b/m-b', sibling: 'a/other, b/m-b' } },
    ...options,
  });
  onTestFinished(() => closeAll(several));
  const ask = async (model: string) =>
    (await several.gateway.post({ ...MANY, model })).header('x-service-provider');
  return { ...several, clock, ask };
}

/** The errors of a kind, in each provider's form. */
function of(...kinds: Refusal[]): [string, Refusal, Script][] {
  return Object.entries(DIALECTS).flatMap(([dialect, refusals]) =>
    kinds.flatMap((kind): [string, Refusal, Script][] => {
      const script = refusals[kind];
      return script ? [[dialect, kind, script]] : [];
    }),
  );
}

test.each(of('rateLimit', 'quota', 'key', 'server'))(
  '%s, %s: another target answers, whole and streamed',
  async (_dialect, _kind, script) => {
    const { gateway, upstreams } = await start();
    for (const body of [MANY, MANY_STREAM]) {
      upstreams[0]?.queue(script);
      const answer = await gateway.post(body);
      expect([answer.status, answer.complete, answer.header('x-service-provider')]).toEqual([200, true, 'b']);
    }
    expect(upstreams[0]?.requests.length).toBeLessThanOrEqual(2);
  },
);

test.each(of('badRequest', 'filter', 'noModel', 'tooLong'))(
  '%s, %s: is asked of nobody else, and passes as it came',
  async (_dialect, _kind, script) => {
    const { gateway, upstreams, hits, ask } = await start();
    upstreams[0]?.queue(script, script);
    for (const body of [MANY, MANY_STREAM]) {
      const answer = await gateway.post(body);
      expect([answer.status >= 400 && answer.status < 500, answer.header('x-service-provider')]).toEqual([
        true,
        'a',
      ]);
      expect(answer.json()).toHaveProperty('error');
    }
    expect(hits()).toEqual([2, 0]);
    // Nor does it count against the target's health.
    expect(await ask('many')).toBe('a');
  },
);

test('a larger model is also recognized by its name, at a provider that the user added', async () => {
  const { gateway, upstreams, hits } = await start({
    settings: { aliases: { many: 'a/gpt-4, b/gpt-4, b/gpt-4.1' } },
  });
  const { tooLong } = DIALECTS.azure ?? {};
  if (tooLong) upstreams[0]?.queue(tooLong);
  const answer = await gateway.post(MANY);
  expect([answer.status, answer.header('x-service-model')]).toEqual([200, 'gpt-4.1']);
  expect(hits()).toEqual([1, 1]);
});

test.each(of('tooLong'))('%s, %s: one jump to a larger model', async (_dialect, _kind, script) => {
  const [openai, azure] = await Promise.all([startUpstream(), startUpstream()]);
  const gateway = await startGateway({
    settings: {
      aliases: { many: 'openai/gpt-4, azure/gpt-4, openai/gpt-4.1' },
      providers: { openai: { baseUrl: openai.url }, azure: { baseUrl: azure.url } },
    },
  });
  onTestFinished(() => closeAll({ gateway, upstreams: [openai, azure], hits: () => [] }));
  openai.queue(script);
  const answer = await gateway.post(MANY);
  expect([answer.status, answer.header('x-service-model')]).toEqual([200, 'gpt-4.1']);
  expect([openai.requests.length, azure.requests.length]).toEqual([2, 0]);
  // If that one is too small as well, no other target is tried.
  openai.queue(script, script);
  expect((await gateway.post(MANY)).status).toBe(400);
  expect([openai.requests.length, azure.requests.length]).toEqual([4, 0]);
});

describe('the scope of a block', () => {
  test.each(of('rateLimit'))('%s, %s: that model of the key, for 20 s', async (_dialect, _kind, script) => {
    const { upstreams, ask, clock } = await start();
    upstreams[0]?.queue(script);
    expect(await ask('many')).toBe('b');
    await clock.advance(19_000);
    expect([await ask('many'), await ask('sibling')]).toEqual(['b', 'a']);
    await clock.advance(1_001);
    expect(await ask('many')).toBe('a');
  });

  test.each(of('quota'))('%s, %s: the account, siblings included', async (_dialect, _kind, script) => {
    const { upstreams, ask } = await start();
    upstreams[0]?.script(script);
    for (let i = 0; i < 5; i++) expect([await ask('many'), await ask('sibling')]).toEqual(['b', 'b']);
    expect(upstreams[0]?.requests).toHaveLength(1);
  });

  test.each(of('key'))('%s, %s: the key, until there is a new one', async (_dialect, _kind, script) => {
    const { gateway, upstreams, ask } = await start({ env: { OTHER_KEY: 'sk-other' } });
    upstreams[0]?.queue(script);
    for (let i = 0; i < 5; i++) expect([await ask('many'), await ask('sibling')]).toEqual(['b', 'b']);
    expect(upstreams[0]?.requests).toHaveLength(1);
    const [a = '', b = ''] = upstreams.map(({ url }) => url);
    gateway.configure({
      aliases: { many: 'a/m-a, b/m-b' },
      providers: { a: { baseUrl: a, keyEnv: 'OTHER_KEY' }, b: { baseUrl: b } },
    });
    expect(await ask('many')).toBe('a');
  });
});

describe('the wait in a body or in unusual headers', () => {
  const retryInfo = {
    error: {
      code: 429,
      status: 'RESOURCE_EXHAUSTED',
      message: 'You exceeded your current quota, please check your plan',
      details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34s' }],
    },
  };
  const words = (message: string) => ({ error: { message, type: 'requests', code: 'rate_limit_exceeded' } });
  test.each<[string, unknown, Record<string, string>, number]>([
    ['Gemini’s RetryInfo', retryInfo, {}, 34_000],
    ['OpenAI’s message', words('Please try again in 6m0s.'), {}, 360_000],
    ['OpenAI’s message in milliseconds', words('Please try again in 320ms.'), {}, 320],
    ['x-ms-retry-after-ms', {}, { 'x-ms-retry-after-ms': '4500' }, 4_500],
    ['a header rather than a message', words('Please try again in 1h.'), { 'retry-after': '3' }, 3_000],
    ['fractions of a second', {}, { 'retry-after': '2.5' }, 2_500],
  ])('%s', async (_name, body, headers, quietMs) => {
    const { upstreams, ask, clock } = await start();
    upstreams[0]?.queue(json(429, body, headers));
    expect(await ask('many')).toBe('b');
    await clock.advance(quietMs - 1);
    expect(await ask('many')).toBe('b');
    expect(upstreams[0]?.requests).toHaveLength(1);
    await clock.advance(2);
    expect(await ask('many')).toBe('a');
  });
});

describe('the same errors inside a stream of status 200', () => {
  const SSE = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n';
  const inside = (error: object) => raw(`${SSE}data: ${JSON.stringify(error)}\n\n`);
  test.each<[string, object, string]>([
    ['openai', { error: { message: 'x', type: 'server_error', code: null } }, 'server'],
    ['openrouter', { id: 'c', choices: [], error: { code: 429, message: 'x' } }, 'rate_limit'],
    [
      'anthropic behind a proxy',
      { type: 'error', error: { type: 'overloaded_error', message: 'x' } },
      'server',
    ],
    ['azure', { error: { code: '429', message: 'Please retry after 20 seconds.' } }, 'rate_limit'],
  ])('%s: is a failure like any other before the first content', async (_name, error, word) => {
    const { gateway, upstreams } = await start();
    upstreams[0]?.queue(inside(error));
    const answer = await gateway.post(MANY_STREAM);
    expect([answer.status, answer.complete]).toEqual([200, true]);
    expect(answer.header('x-service-route')).toBe(`attempts=2 (a ${word}, b ok)`);
    expect(answer.text()).not.toContain('"error"');
  });
});
