import { describe, expect, onTestFinished, test } from 'vitest';
import { seededRandom } from '../../routing/seeded-random.ts';
import { completion } from '../../support/chat-scripts.ts';
import { startGateway } from '../../support/gateway.ts';
import { status } from '../../support/scripts.ts';
import { closeAll, type SeveralOptions, severalTargets } from '../../support/several-targets.ts';
import { tmpHome } from '../../support/tmp-home.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

/** `a` is the strong tier, `b` the weak one. */
async function start(tiers: string, { settings, ...options }: SeveralOptions = {}) {
  const clock = createVirtualClock();
  const several = await severalTargets({
    clock,
    count: 2,
    outputUsd: [10, 1],
    ...options,
    settings: { tiers: { 'm-a': tiers }, ...settings },
  });
  onTestFinished(() => closeAll(several));
  return { ...several, clock };
}

const TIERS = 'strong: a/m-a; fast: b/m-b';
const EASY = 'Say hello.';
const HARD =
  'Prove by induction, if n is not even, that \\frac{n}{2} + x^2 >= 3, unless it is otherwise, and explain each condition, without the theorem, only if it does not hold.';

let asked = 0;
function ask(content: string, fields: object = {}) {
  return {
    model: 'm-a',
    max_tokens: 20,
    messages: [{ role: 'user', content: `${content} ${asked++}` }],
    ...fields,
  };
}

/** This many prompts of all lengths, so that scores have quantiles. */
async function warmUp({ gateway }: Awaited<ReturnType<typeof start>>, count = 30, parts = {}): Promise<void> {
  for (let i = 0; i < count; i++) await gateway.post(ask('why if not '.repeat(1 + (i % 15))), parts);
}

describe('with a share', () => {
  test('the first requests go to the requested model, and report what tiering would have chosen', async () => {
    const { gateway, hits } = await start(`${TIERS}; share=50%`);
    const answer = await gateway.post(ask(EASY));
    expect(hits()).toEqual([1, 0]);
    expect(answer.header('x-service-route')).toMatch(
      /^tier=asked; would=strong; asked=m-a; score=0\.\d\d; why=short; basis=prior; by=cold_start$/,
    );
  });

  test('easy requests go to the weak tier, hard ones to the strong, and each says why', async () => {
    const several = await start(`${TIERS}; share=50%`);
    const { gateway } = several;
    await warmUp(several);
    const easy = await gateway.post(ask(EASY));
    expect(easy.header('x-service-provider')).toBe('b');
    expect((easy.json() as { model: string }).model).toBe('m-b');
    expect(easy.header('x-service-route')).toMatch(
      /^tier=fast; asked=m-a; score=0\.\d\d<0\.\d\d; why=short; basis=prior; by=share; saved=\$0\.\d+$/,
    );
    const hard = await gateway.post(ask(HARD));
    expect([hard.header('x-service-provider'), hard.header('x-service-model')]).toEqual(['a', 'm-a']);
    expect(hard.header('x-service-route')).toMatch(/^tier=strong; asked=m-a; score=0\.\d\d>=0\.\d\d; /);
    const records = await gateway.settled(32);
    const [ofEasy] = records.slice(30);
    expect(ofEasy).toMatchObject({ provider: 'b', model: 'm-b', askedModel: 'm-a' });
    expect(ofEasy?.detail.tier).toMatchObject({ chosen: 'fast', applied: true, basis: 'prior', by: 'share' });
    expect(Object(ofEasy?.detail.tier).saved_usd).toBeGreaterThan(0);
  });

  test.each(process.env.GW_LONG ? [0, 0.2, 0.5, 0.8, 1] : [0, 0.5, 1])(
    'of %d, that part of the requests goes to the strong tier',
    async (share) => {
      const { gateway, hits } = await start(`${TIERS}; share=${share}`);
      const random = seededRandom(7);
      const post = () => gateway.post(ask('why if not 7, '.repeat(1 + Math.floor(random() * 20))));
      for (let i = 0; i < 100; i++) await post();
      const [before = 0] = hits();
      for (let i = 0; i < 200; i++) await post();
      const [after = 0] = hits();
      expect(Math.abs((after - before) / 200 - share)).toBeLessThan(0.1);
    },
    30_000,
  );

  test('a project’s own share overrides that of the tiers', async () => {
    const several = await start(`${TIERS}; share=100%`, {
      settings: { 'routing.shares': { default: '0%' } },
    });
    await warmUp(several, 40);
    expect(several.hits()).toEqual([0, 40]);
  });

  test('the price of the chosen tier is held and booked', async () => {
    const several = await start(`${TIERS}; share=0`, { budget: { period: 'daily', capUsd: 1 } });
    await several.gateway.post(ask(EASY, { service: { route: false } }));
    await several.gateway.post(ask(EASY));
    const [dear, cheap] = await several.gateway.settled(2);
    expect(dear?.provider).toBe('a');
    expect(cheap?.provider).toBe('b');
    expect(cheap?.costNanoUsd ?? 0).toBeLessThan((dear?.costNanoUsd ?? 0) / 2);
    expect(cheap?.holdNanoUsd ?? 0).toBeLessThan(dear?.holdNanoUsd ?? 0);
  });
});

test('without a share, every request goes to the requested model', async () => {
  const several = await start(TIERS);
  await warmUp(several, 40);
  expect(several.hits()).toEqual([40, 0]);
  const answer = await several.gateway.post(ask(EASY));
  expect(answer.header('x-service-route')).toMatch(/^tier=asked; would=fast; .* by=cold_start$/);
});

test('"route": false uses the requested model without a decision', async () => {
  const several = await start(`${TIERS}; share=0`);
  await warmUp(several, 20);
  const answer = await several.gateway.post(ask(EASY, { service: { route: false } }));
  expect([answer.header('x-service-provider'), answer.header('x-service-route')]).toEqual(['a', 'off']);
});

test('models without tiers are not affected', async () => {
  const several = await start(`${TIERS}; share=0`);
  const answer = await several.gateway.post({ ...ask(EASY), model: 'a/m-x' });
  expect([answer.header('x-service-model'), answer.header('x-service-route')]).toEqual(['m-x', 'as-asked']);
});

test('a request for the weak model is never sent to the strong one', async () => {
  const several = await start(`${TIERS}; share=100%`);
  await warmUp(several, 25);
  const before = several.hits()[0];
  for (let i = 0; i < 20; i++) await several.gateway.post({ ...ask(HARD), model: 'b/m-b' });
  expect(several.hits()[0]).toBe(before);
});

test('a made-up model name stands for the strong tier until there is a decision', async () => {
  const several = await start(TIERS, { settings: { tiers: { auto: `${TIERS}; share=0.01` } } });
  for (let i = 0; i < 25; i++) await several.gateway.post({ ...ask(i < 20 ? HARD : EASY), model: 'auto' });
  expect(several.hits()).toEqual([20, 5]);
});

test('if the weak tier fails, the requested model answers', async () => {
  const several = await start(`${TIERS}; share=0`);
  await warmUp(several, 20);
  several.upstreams[1]?.script(status(500));
  const answer = await several.gateway.post(ask(EASY));
  expect([answer.status, answer.header('x-service-provider')]).toEqual([200, 'a']);
  expect(answer.header('x-service-route')).toMatch(/^tier=fast; .*; attempts=2 \(b 500, a ok\)/);
});

test('if the strong tier fails, the weak one does not replace it', async () => {
  const several = await start(`${TIERS}; share=1`);
  await warmUp(several, 20);
  several.upstreams[0]?.script(status(500));
  expect((await several.gateway.post(ask(HARD))).status).toBe(500);
  expect(several.hits()[1]).toBe(0);
});

describe('a conversation', () => {
  const turns = (...contents: string[]) => ({
    model: 'm-a',
    max_tokens: 20,
    messages: contents.flatMap((content, i) => [
      ...(i === 0 ? [] : [{ role: 'assistant', content: 'So be it.' }]),
      { role: 'user', content },
    ]),
  });

  /** Prices at which the strong tier's prompt cache is worth more than the weak tier's saving. */
  async function startWithCache() {
    const several = await start(`${TIERS}; share=50%`);
    const { gateway } = several;
    const strong = {
      inputPicoUsd: 1_000_000_000,
      cachedInputPicoUsd: 1_000,
      outputPicoUsd: 10_000_000,
    };
    await gateway.setPrice({ provider: 'a', model: 'm-a', ...strong });
    const weak = { inputPicoUsd: 999_000_000, outputPicoUsd: 1_000_000 };
    await gateway.setPrice({ provider: 'b', model: 'm-b', ...weak });
    await warmUp(several);
    const say = async (...contents: string[]) => {
      const { header } = await gateway.post(turns(...contents));
      return { by: header('x-service-provider'), route: header('x-service-route') };
    };
    return { ...several, say };
  }

  test('moves to the strong tier when it gets hard, and stays there', async () => {
    const { say } = await startWithCache();
    expect((await say(EASY)).by).toBe('b');
    expect((await say(EASY, HARD)).by).toBe('a');
    const { by, route } = await say(EASY, HARD, 'Thanks.');
    expect([by, route]).toEqual(['a', expect.stringContaining('by=sticky')]);
  });

  test('moves back when the cache has been idle for ten minutes', async () => {
    const { say, clock } = await startWithCache();
    await say(EASY, HARD);
    await clock.advance(599_000);
    expect((await say(EASY, HARD, 'Thanks.')).by).toBe('a');
    await clock.advance(600_000);
    const { by, route } = await say(EASY, HARD, 'Thanks.', 'Bye.');
    expect([by, route]).toEqual(['b', expect.stringContaining('by=share')]);
  });

  test('does not stay with a rate-limited tier', async () => {
    const { say, upstreams, hits } = await startWithCache();
    expect((await say(EASY)).by).toBe('b');
    upstreams[1]?.queue(status(429, { retryAfter: '60' }));
    expect((await say(EASY, 'And then?')).route).toMatch(/attempts=2 \(b 429, a ok\)/);
    const [, before] = hits();
    expect((await say(EASY, 'And then?', 'And now?')).by).toBe('a');
    expect(hits()[1]).toBe(before);
  });

  test('keeps its tier within a tool loop', async () => {
    const several = await start(`${TIERS}; share=50%`);
    await warmUp(several);
    const messages: object[] = [{ role: 'user', content: EASY }];
    const by = async () =>
      (await several.gateway.post({ model: 'm-a', max_tokens: 20, messages })).header('x-service-provider');
    expect(await by()).toBe('b');
    messages[0] = { role: 'user', content: EASY };
    for (let i = 0; i < 3; i++) {
      const call = { id: `c${i}`, type: 'function', function: { name: 'f', arguments: '{}' } };
      messages.push({ role: 'assistant', content: null, tool_calls: [call] });
      messages.push({ role: 'tool', tool_call_id: `c${i}`, content: HARD });
      expect(await by()).toBe('b');
    }
  });
});

describe('a request beyond the weak tier’s capabilities goes to the strong one', () => {
  test.each<[string, string, object]>([
    [
      'vision',
      'gpt-3.5-turbo',
      {
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x.y/z.png' } }] },
        ],
      },
    ],
    [
      'jsonSchema',
      'gpt-3.5-turbo',
      { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: {} } } },
    ],
    ['tools', 'o1-mini', { tools: [{ type: 'function', function: { name: 'f' } }] }],
  ])('%s', async (lack, model, fields) => {
    const several = await start(`strong: a/m-a; fast: b/${model}; share=0`);
    await warmUp(several, 20);
    const answer = await several.gateway.post(ask(EASY, fields));
    expect(answer.header('x-service-provider')).toBe('a');
    expect(answer.header('x-service-route')).toContain(`by=needs(${lack})`);
    expect((await several.gateway.post(ask(EASY))).header('x-service-provider')).toBe('b');
  });
});

describe('responses', () => {
  const input = [{ type: 'message', role: 'user', content: EASY }];
  test.each<[string, string, object, string]>([
    ['go to the weak tier if nothing is stored', 'b/m-b', { store: false }, 'm-b'],
    ['stay if they may be stored and the weak tier has another provider', 'b/m-b', {}, 'm-a'],
    ['go to a weak tier of the same provider', 'a/m-b', {}, 'm-b'],
    ['stay if they continue a stored response', 'a/m-b', { previous_response_id: 'resp_1' }, 'm-a'],
  ])('%s', async (_name, fast, fields, model) => {
    const { gateway } = await start(`strong: a/m-a; fast: ${fast}; share=0`, { alone: true });
    const answer = await gateway.post({ model: 'm-a', input, ...fields }, { path: '/v1/responses' });
    expect(answer.header('x-service-model')).toBe(model);
  });

  test.each([
    ['sealed', 'b/m-b', 'sealed'],
    ['share', 'b/m-b', 'gw1.x'],
    ['share', 'a/m-b', 'sealed'],
  ])(
    'that return reasoning keep the tier whose account encrypted it (%s: %s, %s)',
    async (by, fast, seal) => {
      const { gateway } = await start(`strong: a/m-a; fast: ${fast}; share=0`);
      const thought = { type: 'reasoning', summary: [], encrypted_content: seal };
      const ask = async (items: unknown[]) => {
        const body = { model: 'm-a', prompt_cache_key: 'k', store: false, input: items };
        return (await gateway.post(body, { path: '/v1/responses' })).header('x-service-route');
      };
      expect(await ask(input)).toMatch(/^tier=fast; .*by=share/);
      expect(await ask([thought, ...input])).toMatch(new RegExp(`^tier=fast; .*by=${by}`));
    },
  );

  test('that only compact a conversation stay', async () => {
    const { gateway } = await start('strong: a/m-a; fast: a/m-b; share=0');
    const answer = await gateway.post({ model: 'm-a', input }, { path: '/v1/responses/compact' });
    expect(answer.header('x-service-model')).toBe('m-a');
  });
});

test('Anthropic’s API has tiers as well', async () => {
  const { gateway } = await start(`${TIERS}; share=0`, { wires: ['anthropic', 'anthropic'] });
  const answer = await gateway.post(ask(EASY, { system: 'Help.' }), { path: '/v1/messages' });
  expect(answer.header('x-service-route')).toMatch(/^tier=fast; /);
});

test('Gemini’s API has tiers as well', async () => {
  const { gateway } = await start(`${TIERS}; share=0`);
  const body = { contents: [{ parts: [{ text: EASY }] }], systemInstruction: { parts: [{ text: 'Help.' }] } };
  const answer = await gateway.post(body, { path: '/v1beta/models/m-a:generateContent' });
  expect(answer.header('x-service-route')).toMatch(/^tier=fast; /);
});

test('odd requests do not break tiering', async () => {
  const { gateway, upstreams } = await start(`${TIERS}; share=50%`);
  await gateway.post(ask(EASY));
  const odd: unknown[] = [
    [null],
    [1, 'x', []],
    [{}],
    [{ role: 5, content: { a: [] } }],
    [{ role: 'user', content: [null, 3, { text: 4 }, ['x']] }],
    [{ role: 'tool', content: 'x' }],
    [{ role: 'assistant', content: null }],
    Array.from({ length: 500 }, () => ({ role: 'user', content: '' })),
    [{ role: 'user', content: '\ud800' }],
    [{ role: 'user', content: 'x '.repeat(400_000) }],
  ];
  for (const messages of odd) {
    const { status } = await gateway.post({ model: 'm-a', max_tokens: 20, messages });
    expect([JSON.stringify(messages).slice(0, 40), status]).toEqual([expect.any(String), 200]);
  }
  const bytes = '{"model":"m-a","max_tokens":20,"messages":[{"role":"user","content":"\\q"}]}';
  // Invalid JSON inside a request goes to the requested provider to judge.
  upstreams[0]?.script(status(400));
  expect((await gateway.post(bytes)).header('x-service-route')).toBe('as-asked');
});

test('as a budget runs down, the strong share falls to nothing', async () => {
  const capUsd = 0.06;
  const { gateway, upstreams } = await start(`${TIERS}; share=100%`, {
    budget: { period: 'daily', capUsd },
  });
  const random = seededRandom(3);
  for (const upstream of upstreams) {
    upstream.script(completion({ usage: { prompt_tokens: 1, completion_tokens: 20, total_tokens: 21 } }));
  }
  const strong = { before: [] as boolean[], between: [] as boolean[], after: [] as boolean[] };
  let spent = 0;
  for (let i = 0; i < 1_000 && strong.after.length < 20; i++) {
    const answer = await gateway.post(ask('why if not 7, '.repeat(1 + Math.floor(random() * 10))));
    expect(answer.status).toBe(200);
    // The share follows the spending at the previous admission.
    const phase = spent < 0.79 * capUsd ? 'before' : spent > 0.96 * capUsd ? 'after' : 'between';
    strong[phase].push(answer.header('x-service-provider') === 'a');
    spent += Number(answer.header('x-service-cost-usd'));
  }
  const share = (taken: boolean[]) => taken.filter(Boolean).length / taken.length;
  expect(share(strong.before)).toBe(1);
  expect(share(strong.between)).toBeGreaterThan(0.1);
  expect(share(strong.between)).toBeLessThan(0.9);
  expect([strong.after.length, share(strong.after)]).toEqual([20, 0]);
}, 180_000);

test('a restart continues with the recorded scores', async () => {
  const { gateway, upstreams } = await start(`${TIERS}; share=1%`);
  for (let i = 0; i < 20; i++) await gateway.post(ask(HARD));
  await gateway.settled(20);
  const second = await startGateway({
    home: tmpHome(),
    database: gateway.paths.database,
    upstream: gateway.upstream,
    settings: {
      tiers: { 'm-a': `${TIERS}; share=1%` },
      providers: { a: { baseUrl: upstreams[0]?.url ?? '' }, b: { baseUrl: upstreams[1]?.url ?? '' } },
    },
  });
  expect((await second.post(ask(EASY))).header('x-service-provider')).toBe('b');
  await second.stop();
});
