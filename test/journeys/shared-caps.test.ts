import { expect, onTestFinished, test } from 'vitest';
import { commandLineOf } from '../cli/cli-home.ts';
import { completion } from '../support/chat-scripts.ts';
import { usageOf } from '../support/chat-shapes.ts';
import type { RawResponse } from '../support/client.ts';
import { closeAll, setBudget, severalTargets } from '../support/several-targets.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

/** A request that costs $0.10. */
const ASK = { model: 'a/m-a', messages: [{ role: 'user' as const, content: 'Hi' }], max_tokens: 1 };

async function threeProjects() {
  const clock = createVirtualClock();
  const several = await severalTargets({ count: 1, clock });
  onTestFinished(() => closeAll(several));
  const { gateway, upstreams } = several;
  await gateway.setPrice({ provider: 'a', model: 'm-a', inputPicoUsd: 0, outputPicoUsd: 1e11 });
  for (const upstream of upstreams) upstream.script(completion({ usage: usageOf(5, 1) }));
  const cli = commandLineOf(gateway, 'locally', clock);
  const keys: Record<string, string> = { default: gateway.key };
  for (const name of ['web', 'api']) {
    await cli.run(['projects', 'add', name]);
    keys[name] = (await cli.json<{ key: string }>(['keys', 'create', '-p', name])).key;
  }
  const say = (project: string, headers = {}) =>
    gateway.post(ASK, { headers: { authorization: `Bearer ${keys[project]}`, ...headers } });
  const get = async (project: string, path: string) =>
    (await gateway.get(path, { authorization: `Bearer ${keys[project]}` })).json() as {
      data: Record<string, unknown>[];
    };
  return { gateway, cli, say, get };
}

const errorOf = (answer: RawResponse) => (answer.json() as { error: Record<string, unknown> }).error;

test('a cap of two projects counts both together, what was spent before too, and no third', async () => {
  const { gateway, cli, say, get } = await threeProjects();
  expect((await say('web')).status).toBe(200);
  await gateway.committed();
  const { stderr } = await cli.run(['budget', 'set', '0.35', '-p', 'web,api']);
  expect(stderr).toContain('Budget api,web/daily: $0.10 spent of $0.35');
  expect(stderr).toContain('It counts requests of projects api, web together.');
  const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => say(i % 2 === 0 ? 'web' : 'api')));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
  const refused = answers.filter(({ status }) => status !== 200).map(errorOf);
  expect(
    refused.every(({ budget_id, code }) => budget_id === 'api,web/daily' && code === 'budget_exceeded'),
  ).toBe(true);
  expect((await say('default')).status).toBe(200);
  await gateway.committed();
  expect((await get('web', '/v1/budgets')).data).toMatchObject([{ id: 'api,web/daily', spent_usd: 0.3 }]);
  expect((await get('default', '/v1/budgets')).data).toEqual([]);
  const events = gateway.db
    .prepare("SELECT type, data ->> 'budget_id' FROM events WHERE type LIKE 'budget.%' ORDER BY sequence")
    .raw()
    .all();
  // What is left would pay for a smaller request, so the cap is not exceeded.
  expect(events).toEqual([['budget.threshold_reached', 'api,web/daily']]);
  await cli.run(['budget', 'raise', '0.10', 'api,web/daily']);
  expect((await say('api')).status).toBe(200);
  await cli.run(['budget', 'remove', '-p', 'api,web', '--yes']);
  expect((await say('api')).status).toBe(200);
});

test('one cap for all projects holds for one that is made later; a rate too', async () => {
  const { cli, say } = await threeProjects();
  await cli.run(['budget', 'set', '--max-rate', '0.20/hour', '--all-projects']);
  expect((await say('web')).status).toBe(200);
  expect((await say('default')).status).toBe(200);
  const refused = await say('api');
  expect(errorOf(refused)).toMatchObject({ budget_id: '@all/rolling', code: 'rate_exceeded' });
  expect(await cli.json(['budget', 'list'])).toContainEqual(
    expect.objectContaining({ id: '@all/rolling', project_id: '@all' }),
  );
});

test('a cap for each session of several projects is one for a session of the same name, and a key sees no other session', async () => {
  const { gateway, say, get } = await threeProjects();
  await setBudget(gateway, {
    project_id: 'web,api',
    cap_usd: 0.15,
    scope: { kind: 'session', value: null },
  });
  const session = { 'x-session-id': 'one' };
  expect((await say('web', session)).status).toBe(200);
  expect((await say('api', session)).status).toBe(402);
  expect((await say('api', { 'x-session-id': 'two' })).status).toBe(200);
  await gateway.committed();
  expect((await get('api', '/v1/budgets')).data).toMatchObject([
    { id: 'api,web/daily@each:session', spent_usd: 0.1, fullest: null },
  ]);
});

test('a project that is removed leaves its shared caps to the others; a key has no shared cap', async () => {
  const { gateway, cli, say } = await threeProjects();
  await setBudget(gateway, { project_id: 'web,api', cap_usd: 0.1 });
  await cli.run(['projects', 'remove', 'web', '--yes']);
  expect((await say('api')).status).toBe(200);
  expect((await say('api')).status).toBe(402);
  expect((await cli.run(['budget', 'set', '5', '-p', 'api,default', '--key', '1'])).stderr).toContain(
    'a key is of one project',
  );
  expect((await cli.run(['budget', 'set', '5', '-p', 'api,nope'])).stderr).toContain('no project "nope"');
});
