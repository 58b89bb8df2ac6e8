import { expect, onTestFinished, test } from 'vitest';
import { completion } from '../support/chat-scripts.ts';
import { usageOf } from '../support/chat-shapes.ts';
import type { RawResponse } from '../support/client.ts';
import { json } from '../support/scripts.ts';
import { closeAll, setBudget, severalTargets, spent } from '../support/several-targets.ts';

const USAGE = usageOf(5, 1);
/** A request for the model that costs $0.10; at target b it costs $0.01, at target c nothing. */
const ASK = { model: 'a/m-a', messages: [{ role: 'user' as const, content: 'Hi' }], max_tokens: 1 };
const PICO_USD = { a: 1e11, b: 1e10, c: 0 };

async function cheaper(options: Parameters<typeof severalTargets>[0] = {}) {
  const several = await severalTargets(options);
  onTestFinished(() => closeAll(several));
  for (const [name, outputPicoUsd] of Object.entries(PICO_USD))
    await several.gateway.setPrice({ provider: name, model: `m-${name}`, inputPicoUsd: 0, outputPicoUsd });
  for (const upstream of several.upstreams) upstream.script(completion({ usage: USAGE }));
  return several;
}

const errorOf = (answer: RawResponse) => (answer.json() as { error: Record<string, unknown> }).error;
const targetOf = (answer: RawResponse) => answer.header('x-service-provider');
const talk = (id: string, n: number) => ({
  ...ASK,
  messages: [
    { role: 'user' as const, content: id },
    ...Array.from({ length: n }, () => ({ role: 'assistant' as const, content: 'Yes' })),
    { role: 'user' as const, content: 'Go on' },
  ],
});

test('1,000 requests at once: a full cap of a model sends the rest to a cheaper one, and both sums are right', async () => {
  const { gateway, hits } = await cheaper();
  const scope = { kind: 'model', value: 'a/*' };
  await setBudget(gateway, { cap_usd: 5, scope, on_limit: 'fallback', fallback: ['b/m-b'] });
  await setBudget(gateway, { cap_usd: 100, period: 'monthly' });
  const answers = await Promise.all(Array.from({ length: 1_000 }, () => gateway.post(ASK)));
  expect(answers.every(({ status }) => status === 200)).toBe(true);
  await gateway.settled(1_000);
  expect(hits()).toEqual([50, 950, 0]);
  expect(await spent(gateway)).toEqual({ 'default/daily@model:a/*': 5, 'default/monthly': 14.5 });
});

test('a cap of the project leaves what is beyond a share to the cheaper model, and is never passed', async () => {
  const { gateway, hits } = await cheaper();
  const terms = { on_limit: 'fallback', fallback: ['b/m-b'], fallback_percent: 80 };
  await setBudget(gateway, { cap_usd: 1, ...terms });
  const answers = await Promise.all(Array.from({ length: 40 }, () => gateway.post(ASK)));
  expect(hits()).toEqual([8, 20, 0]);
  const refused = answers.filter(({ status }) => status !== 200);
  expect(refused).toHaveLength(12);
  expect(new Set(refused.map((answer) => errorOf(answer).budget_id))).toEqual(new Set(['default/daily']));
  expect(await spent(gateway)).toEqual({ 'default/daily': 1 });
});

test('a request that went to a cheaper model says so in its header, its record and one event a period', async () => {
  const { gateway } = await cheaper();
  await setBudget(gateway, { cap_usd: 0.1, on_limit: 'fallback', fallback: ['b/m-b', 'c/m-c'] });
  const answers = [];
  for (let i = 0; i < 3; i++) answers.push(await gateway.post(ASK));
  expect(answers.map(targetOf)).toEqual(['a', 'c', 'c']);
  expect(answers[0]?.header('x-service-route')).toBe('as-asked');
  expect(answers[1]?.header('x-service-route')).toBe('fallback; asked=a/m-a; by=default/daily');
  await gateway.settled(3);
  const list = (
    await gateway.get('/v1/gw/requests', { authorization: `Bearer ${gateway.adminKey}` })
  ).json() as { data: Record<string, unknown>[] };
  expect(list.data.map(({ fallback_from, model, flags }) => [fallback_from, model, flags])).toEqual([
    ['a/m-a', 'm-c', ['fallback']],
    ['a/m-a', 'm-c', ['fallback']],
    [null, 'm-a', []],
  ]);
  const found = await gateway.get('/v1/gw/usage?status=fallback', {
    authorization: `Bearer ${gateway.adminKey}`,
  });
  expect(found.json()).toMatchObject({ total: { requests: 2, cost_usd: 0 } });
  const events = gateway.db
    .prepare("SELECT data FROM events WHERE type = 'budget.threshold_reached'")
    .pluck()
    .all()
    .map((data) => JSON.parse(String(data)) as Record<string, unknown>);
  expect(events.filter(({ kind }) => kind === 'fallback')).toMatchObject([
    { budget_id: 'default/daily', fallback: 'b/m-b,c/m-c', alert_percent: 100 },
  ]);
});

test('a conversation that went down stays down while there is room, until the cap is raised', async () => {
  const { gateway } = await cheaper();
  const terms = { on_limit: 'fallback', fallback: ['b/m-b'] };
  await setBudget(gateway, { cap_usd: 0.35, ...terms });
  const say = async (id: string, n: number, max_tokens: number) =>
    targetOf(await gateway.post({ ...talk(id, n), max_tokens }));
  // Each holds twice what it costs.
  expect([await say('one', 0, 2), await say('two', 0, 2), await say('three', 0, 2)]).toEqual(['a', 'a', 'b']);
  expect([await say('three', 1, 1), await say('one', 1, 1), await say('three', 2, 1)]).toEqual([
    'b',
    'a',
    'b',
  ]);
  await setBudget(gateway, { cap_usd: 0.6, ...terms });
  expect(await say('three', 3, 1)).toBe('a');
});

test('what the cheaper models lack, or a provider stores, keeps a request where it is', async () => {
  const { gateway } = await cheaper();
  await gateway.setPrice({ provider: 'b', model: 'gpt-3.5-turbo', inputPicoUsd: 0, outputPicoUsd: 0 });
  await setBudget(gateway, { cap_usd: 0, on_limit: 'fallback', fallback: ['b/gpt-3.5-turbo'] });
  expect(targetOf(await gateway.post(ASK))).toBe('b');
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
  const withImage = { ...ASK, messages: [{ role: 'user', content: [image] }] };
  const refused = await gateway.post(withImage);
  expect(refused.status).toBe(402);
  expect(errorOf(refused)).toMatchObject({ code: 'budget_exceeded', budget_id: 'default/daily' });
  const kept = await gateway.post({ ...ASK, service: { route: false } });
  expect(kept.status).toBe(402);
});

test('a request of another API is translated on its way down', async () => {
  const { gateway, upstreams } = await cheaper();
  await setBudget(gateway, { cap_usd: 0, on_limit: 'fallback', fallback: ['c/m-c'] });
  const answer = await gateway.post(ASK, {
    path: '/v1/messages',
    headers: { 'anthropic-version': '2023-06-01' },
  });
  expect([answer.status, targetOf(answer), answer.json()]).toMatchObject([200, 'c', { type: 'message' }]);
  expect(upstreams[2]?.requests[0]?.path).toBe('/v1/chat/completions');
  expect(JSON.parse(String(upstreams[2]?.requests[0]?.body))).toMatchObject({ model: 'm-c' });
});

test('a cheaper model that fails opens no way to another beyond the cap', async () => {
  const { gateway, upstreams, hits } = await cheaper();
  upstreams[2]?.script(json(500, { error: { message: 'down' } }));
  await setBudget(gateway, { cap_usd: 0.1, on_limit: 'fallback', fallback: ['c/m-c', 'b/m-b'] });
  await gateway.post(ASK);
  const answer = await gateway.post(ASK);
  expect([answer.status, hits()]).toEqual([500, [1, 0, 1]]);
  await gateway.settled(2);
  // Any other model of the list that has room is the next attempt.
  await setBudget(gateway, { cap_usd: 0.15, on_limit: 'fallback', fallback: ['c/m-c', 'b/m-b'] });
  expect(targetOf(await gateway.post(ASK))).toBe('b');
  expect(await spent(gateway)).toEqual({ 'default/daily': 0.11 });
});

test('a cap for each sends its members down one by one, by the terms of now', async () => {
  const { gateway } = await cheaper();
  const scope = { kind: 'label:customer', value: null };
  await setBudget(gateway, { cap_usd: 0.1, scope, on_limit: 'fallback', fallback: ['c/m-c'] });
  const post = async (customer: string) =>
    targetOf(await gateway.post({ ...ASK, service: { labels: { customer } } }));
  expect([await post('acme'), await post('acme'), await post('mega')]).toEqual(['a', 'c', 'a']);
  await setBudget(gateway, { cap_usd: 0.11, scope, on_limit: 'fallback', fallback: ['b/m-b'] });
  expect([await post('acme'), await post('mega')]).toEqual(['b', 'b']);
  await setBudget(gateway, { cap_usd: 0.11, scope, on_limit: 'block' });
  expect(await post('acme')).toBeUndefined();
});
