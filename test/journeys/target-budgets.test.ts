import { expect, onTestFinished, test } from 'vitest';
import { completion } from '../support/chat-scripts.ts';
import { usageOf } from '../support/chat-shapes.ts';
import type { RawResponse } from '../support/client.ts';
import { PLAIN, startGateway } from '../support/gateway.ts';
import { json } from '../support/scripts.ts';
import { closeAll, MANY, setBudget, severalTargets, spent } from '../support/several-targets.ts';

const USAGE = usageOf(5, 1);
/** A request whose answer costs $0.10 at each target. */
const ASK = { ...MANY, max_tokens: 1 };
const DIME_PRICE = { inputPicoUsd: 0, outputPicoUsd: 1e11 };

const errorOf = (answer: RawResponse | undefined) =>
  (answer?.json() as { error: Record<string, unknown> } | undefined)?.error;

async function dimes() {
  const several = await severalTargets({ count: 2 });
  onTestFinished(() => closeAll(several));
  for (const name of ['a', 'b'])
    await several.gateway.setPrice({ provider: name, model: `m-${name}`, ...DIME_PRICE });
  for (const upstream of several.upstreams) upstream.script(completion({ usage: USAGE }));
  return several;
}

test('a request goes to the next target while the cap of the first is full, and is refused by name once all are', async () => {
  const { gateway, hits } = await dimes();
  expect(await setBudget(gateway, { cap_usd: 0.3, scope: { kind: 'model', value: 'a/m-*' } })).toMatchObject({
    id: 'default/daily@model:a/m-*',
    scope: { kind: 'model', value: 'a/m-*' },
  });
  await setBudget(gateway, { cap_usd: 0.2, scope: { kind: 'provider', value: 'b' } });
  const answers = await Promise.all(Array.from({ length: 40 }, () => gateway.post(ASK)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
  expect(hits()).toEqual([3, 2]);
  expect(await spent(gateway)).toEqual({ 'default/daily@model:a/m-*': 0.3, 'default/daily@provider:b': 0.2 });
  const refused = errorOf(await gateway.post(ASK));
  expect(refused).toMatchObject({ code: 'budget_exceeded', budget_id: 'default/daily@provider:b' });
  expect(refused?.command).toMatch(/ -p default --provider b$/);
});

test("what a failed target cost counts in that target's cap alone, and once in the project's", async () => {
  const { gateway, upstreams } = await dimes();
  await setBudget(gateway, { cap_usd: 5, period: 'monthly' });
  await setBudget(gateway, { cap_usd: 1, scope: { kind: 'provider', value: null } });
  // Billed but unusable, so that the next target is tried.
  upstreams[0]?.script(json(200, { choices: [], usage: USAGE }));
  const answer = await gateway.post(ASK);
  expect(answer.header('x-service-provider')).toBe('b');
  await gateway.settled(1);
  const members = gateway.db
    .prepare(`SELECT b.scope_value, p.posted_nano_usd, p.pending_nano_usd FROM budgets b
      JOIN budget_periods p ON p.budget_id = b.id WHERE b.parent_id <> 0 ORDER BY 1`)
    .raw()
    .all();
  expect(members).toEqual([
    ['a', 1e8, 0],
    ['b', 1e8, 0],
  ]);
  expect((await spent(gateway))['default/monthly']).toBe(0.2);
});

test('caps by label hold under load, one of its own before the cap for each', async () => {
  const gateway = await startGateway({ price: { input: 0, output: 100_000 } });
  gateway.upstream.script(completion({ usage: USAGE }));
  expect(
    await setBudget(gateway, { cap_usd: 0.2, scope: { kind: 'label:customer', value: null } }),
  ).toMatchObject({
    id: 'default/daily@each:label:customer',
    scope: { kind: 'label:customer', value: null },
  });
  await setBudget(gateway, { cap_usd: 0.4, scope: { kind: 'label:customer', value: 'acme' } });
  const post = (customer: string) =>
    gateway.post({ ...PLAIN, max_tokens: 1, service: { labels: { customer, feature: 'search' } } });
  const customers = ['acme', 'mega', 'tiny'];
  const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => post(customers[i % 3] ?? '')));
  const passed = customers.map(
    (_, at) => answers.filter(({ status }, i) => i % 3 === at && status === 200).length,
  );
  expect(passed).toEqual([4, 2, 2]);
  const refused = errorOf(await post('acme'));
  expect(refused?.budget_id).toBe('default/daily@label:customer=acme');
  expect(refused?.command).toMatch(/ --label customer=acme$/);
  // Requests without the label are in no such cap.
  expect((await gateway.post({ ...PLAIN, max_tokens: 1 })).status).toBe(200);
});

test('a new cap counts what its label, model or provider has spent in the period', async () => {
  const gateway = await startGateway({ price: { input: 0, output: 100_000 } });
  gateway.upstream.script(completion({ usage: USAGE }));
  const post = (customer: string) =>
    gateway.post({ ...PLAIN, max_tokens: 1, service: { labels: { customer } } });
  for (const customer of ['acme', 'acme', 'mega']) await post(customer);
  await gateway.settled(3);
  await setBudget(gateway, { cap_usd: 1, scope: { kind: 'label:customer', value: 'acme' } });
  await setBudget(gateway, { cap_usd: 1, scope: { kind: 'label:customer', value: null }, period: 'monthly' });
  await setBudget(gateway, { cap_usd: 1, scope: { kind: 'model', value: '*' } });
  await setBudget(gateway, { cap_usd: 1, scope: { kind: 'model', value: 'nothing-*' }, period: 'monthly' });
  expect(await spent(gateway)).toEqual({
    'default/daily@label:customer=acme': 0.2,
    'default/daily@model:*': 0.3,
    'default/monthly@each:label:customer': 0.2,
    'default/monthly@model:nothing-*': 0,
  });
});
