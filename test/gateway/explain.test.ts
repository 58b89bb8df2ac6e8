import { describe, expect, onTestFinished, test } from 'vitest';
import { status } from '../support/scripts.ts';
import { closeAll, MANY, type SeveralOptions, severalTargets } from '../support/several-targets.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

async function start(options: SeveralOptions = {}) {
  const clock = createVirtualClock();
  const several = await severalTargets({ clock, ...options });
  onTestFinished(() => closeAll(several));
  const explain = async (
    fields: object = {},
    path = '/v1/chat/completions',
  ): Promise<Record<string, unknown>> => {
    const service = { explain: true, ...('service' in fields ? (fields.service as object) : {}) };
    const answer = await several.gateway.post({ ...MANY, ...fields, service }, { path });
    return { status: answer.status, ...(answer.json() as Record<string, unknown>) };
  };
  return { ...several, clock, explain };
}

const names = (targets: unknown) => (targets as { provider: string }[]).map(({ provider }) => provider);

test('explaining a request sends, holds, records and learns nothing', async () => {
  const { gateway, explain, hits } = await start({
    budget: { period: 'daily', capUsd: 1 },
    settings: { tiers: { 'm-a': 'strong: a/m-a; fast: b/m-b; share=50%' } },
  });
  const tables = gateway.db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all();
  const rows = () => tables.map((name) => [name, gateway.db.prepare(`SELECT * FROM ${name}`).all()]);
  const before = rows();
  for (let i = 0; i < 30; i++) await explain({ model: i % 2 ? 'many' : 'm-a' });
  await explain({ max_tokens: -1 });
  await explain({ model: 'nobody/none' });
  expect(rows()).toEqual(before);
  expect(hits()).toEqual([0, 0, 0]);
  // Nor does its score count for a share.
  expect(await explain({ model: 'm-a' })).toMatchObject({ tier: { applied: false, by: 'cold_start' } });
});

test('lists the targets in order, why one is blocked, and the worst case of each', async () => {
  const { gateway, upstreams, explain } = await start({ outputUsd: [2, 4, 8] });
  upstreams[0]?.queue(status(429, { retryAfter: '30' }));
  await gateway.post(MANY);
  const plan = await explain();
  expect(plan).toMatchObject({
    status: 200,
    object: 'gw.route',
    model: 'many',
    route: 'as-asked',
    tier: null,
    budget: null,
    targets: [
      { provider: 'b', model: 'm-b', state: 'next' },
      { provider: 'c', model: 'm-c', state: 'next' },
      { provider: 'a', state: 'left_alone', because: 'rate_limit', wait_ms: 30_000 },
    ],
  });
  const costs = (plan.targets as { worst_case_usd: number }[]).map(({ worst_case_usd }) => worst_case_usd);
  expect((costs[1] ?? 0) - (costs[0] ?? 0)).toBeCloseTo(20 * 4e-6, 9);
  expect(await explain({ service: { route: false } })).toMatchObject({
    route: 'off',
    targets: [{ provider: 'a', state: 'next' }],
  });
});

test('names the target that then serves the request', async () => {
  const { gateway, explain } = await start({ join: ' | ' });
  for (let i = 0; i < 10; i++) {
    const talk = { prompt_cache_key: `k${i}` };
    const served = (await gateway.post({ ...MANY, ...talk })).header('x-service-provider');
    expect(names((await explain(talk)).targets)[0]).toBe(served);
  }
});

test('names the targets that cannot serve the request, and why', async () => {
  const { explain } = await start({ count: 2, wires: ['openai', 'anthropic'] });
  const plan = await explain({ logprobs: true });
  expect(plan.targets).toMatchObject([
    { provider: 'a', state: 'next' },
    { provider: 'b', state: 'passed_over', because: expect.stringContaining('logprobs') },
  ]);
});

describe('the outcome of admission', () => {
  const LONG = [{ role: 'user', content: 'hello '.repeat(2_000) }];
  const SMALL = { budget: { period: 'daily' as const, capUsd: 0.002 } };
  test.each<[string, object, string]>([
    ['enough room', {}, 'admitted'],
    ['room for less output', { max_tokens: undefined }, 'admitted, cut to'],
    ['room for less than its own limit', { max_tokens: 100_000 }, 'admitted, cut to'],
    ['no room', { max_tokens: 100_000, messages: LONG }, 'refused: no room in this period'],
  ])('with %s', async (_name, fields, outcome) => {
    const { explain } = await start(SMALL);
    expect(await explain(fields)).toMatchObject({
      budget: { name: 'default/daily', outcome: expect.stringContaining(outcome), room_usd: 0.002 },
    });
  });

  test.each([
    [null, undefined],
    [100_000, 100_000],
  ])('names the limit that would be sent for one of %s', async (asked, max_tokens) => {
    const { explain } = await start(SMALL);
    const { budget } = (await explain({ max_tokens })) as {
      budget: { outcome: string; max_output_tokens: { sent: number } };
    };
    const { sent } = budget.max_output_tokens;
    expect(budget).toMatchObject({
      max_output_tokens: { asked },
      outcome: `admitted, cut to ${sent} output tokens`,
    });
    const need = { input_bound: 'bytes', output_tokens: sent, output_asked_tokens: asked };
    expect(budget).toMatchObject({ need });
    expect((await explain({ max_tokens: sent - 100 })).budget).not.toHaveProperty('max_output_tokens');
  });

  test('has the need that a refusal and its record have', async () => {
    const { gateway, explain } = await start(SMALL);
    const fields = { max_tokens: 100_000, messages: LONG };
    const { need } = (await explain(fields)).budget as { need: object };
    // As long as `service`, whose bytes count.
    const user = 'x'.repeat(17);
    const refused = (await gateway.post({ ...MANY, ...fields, user })).json() as { error: { need: object } };
    const [record] = await gateway.settled(1);
    expect([refused.error.need, record?.detail]).toMatchObject([need, { need }]);
    expect(need).toMatchObject({ output_tokens: 256, output_asked_tokens: 100_000 });
  });

  test('of a model without a price is a refusal', async () => {
    const { explain } = await start(SMALL);
    expect(await explain({ model: 'a/unknown' })).toMatchObject({
      budget: { outcome: 'refused: its price is not known' },
    });
  });
});

test.each([
  ['/v1/chat/completions', { service: { explain: 'yes' } }, 'service.explain'],
  ['/v1/moderations', {}, 'service.explain'],
  ['/v1/chat/completions', { messages: 3, model: 7 }, 'model'],
])('%s %j is refused, and nothing is sent', async (path, fields, param) => {
  const { explain, hits, gateway } = await start();
  expect(await explain(fields, path)).toMatchObject({ status: 400, error: { param } });
  expect(hits()).toEqual([0, 0, 0]);
  expect(gateway.holds()).toBe(0);
});

test.each([
  ['/v1/messages', { messages: MANY.messages }],
  ['/v1/responses', { input: 'Hi' }],
  ['/v1/embeddings', { input: 'Hi' }],
])('%s explains too', async (path, fields) => {
  const { explain, hits } = await start();
  expect(await explain(fields, path)).toMatchObject({ status: 200, object: 'gw.route' });
  expect(hits()).toEqual([0, 0, 0]);
});
