import { expect, onTestFinished, test } from 'vitest';
import type { AskView } from '../../src/operations/schemas/asks.ts';
import { commandLineOf } from '../cli/cli-home.ts';
import { completion } from '../support/chat-scripts.ts';
import { usageOf } from '../support/chat-shapes.ts';
import type { RawResponse } from '../support/client.ts';
import { type TestGateway, until } from '../support/gateway.ts';
import { closeAll, setBudget, severalTargets } from '../support/several-targets.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

/** Repeated turns of an unknown agent that make a loop: the first one repeats nothing. */
const LOOP = 29;

async function start() {
  const clock = createVirtualClock();
  const several = await severalTargets({ count: 1, clock });
  onTestFinished(() => closeAll(several));
  const { gateway, upstreams } = several;
  for (const upstream of upstreams) upstream.script(completion({ usage: usageOf(5, 1) }));
  const say = (session: string, text: string) =>
    gateway.post(
      { model: 'a/m-a', messages: [{ role: 'user', content: text }], max_tokens: 5 },
      { headers: { 'x-session-id': session } },
    );
  const loop = async (session: string, turns = LOOP) => {
    for (let i = 0; i < turns; i++) expect((await say(session, 'Again')).status).toBe(200);
    await gateway.committed();
  };
  return { clock, gateway, cli: commandLineOf(gateway, 'locally', clock), say, loop, hits: several.hits };
}

const errorOf = (answer: RawResponse) => (answer.json() as { error: Record<string, unknown> }).error;
const admin = ({ adminKey }: TestGateway) => ({ authorization: `Bearer ${adminKey}` });
const runawayEvents = ({ db }: TestGateway) =>
  db
    .prepare("SELECT data FROM events WHERE type = 'budget.threshold_reached'")
    .pluck()
    .all()
    .map((data) => JSON.parse(String(data)) as Record<string, unknown>)
    .filter(({ kind }) => kind === 'runaway');

test('a loop is announced once, and status, dashboard and sessions show it; its requests pass', async () => {
  const { gateway, cli, say, loop } = await start();
  await loop('one', LOOP - 1);
  await loop('two', LOOP - 1);
  expect(runawayEvents(gateway)).toEqual([]);
  await loop('one', 3);
  const message = '28 turns in a row repeat earlier ones';
  expect(runawayEvents(gateway)).toEqual([
    { kind: 'runaway', session: 'one', agent: null, reason: 'repeats', message, count: 28 },
  ]);
  const found = { session: 'one', agent: null, project_id: 'default', reason: 'repeats', message };
  expect(await cli.json(['status'])).toMatchObject({ runaways: [found] });
  expect((await cli.run(['status'], { columns: 200 })).stdout).toContain(
    `! session one of default: ${message}`,
  );
  const dashboard = await gateway.get('/v1/gw/dashboard', admin(gateway));
  expect(dashboard.json()).toMatchObject({ data: { runaways: [found] } });
  // Both were last active in the same millisecond, so their order says nothing.
  const sessions = await cli.json<{ id: string; runaway: unknown }[]>(['sessions']);
  expect(sessions.find(({ id }) => id === 'one')).toMatchObject({ runaway: { message } });
  expect(sessions.find(({ id }) => id === 'two')).toMatchObject({ runaway: null });
  expect((await say('one', 'Again')).status).toBe(200);
});

test('a budget that blocks refuses the next request of that session alone, until it is resumed', async () => {
  const { gateway, cli, say, loop, hits } = await start();
  await setBudget(gateway, { cap_usd: 10 });
  await cli.run(['budget', 'set', '--runaway', 'block']);
  await loop('one');
  const refused = await say('one', 'Something else');
  expect(refused.status).toBe(403);
  expect(errorOf(refused)).toMatchObject({
    code: 'session_runaway',
    budget_id: 'default/daily',
    command: 'gw sessions resume one',
    message:
      'session one looks like a runaway: 28 turns in a row repeat earlier ones. Budget default/daily stops such sessions. To let it go on: gw sessions resume one',
  });
  expect(hits()).toEqual([LOOP]);
  expect((await say('two', 'Again')).status).toBe(200);
  await cli.run(['sessions', 'resume', 'one']);
  // It may do as much again, and a little more.
  await loop('one', 31);
  expect(runawayEvents(gateway)).toHaveLength(1);
  expect((await cli.run(['sessions', 'resume', 'one'])).stderr).toContain(
    'no session "one" is taken for a runaway',
  );
});

test('a budget that asks has the request wait for its owner, whose approval lets the session go on', async () => {
  const { clock, gateway, cli, say, loop } = await start();
  await setBudget(gateway, { cap_usd: 10, runaway: 'ask' });
  await loop('one');
  const answer = say('one', 'Again');
  let asks: AskView[] = [];
  await until(async () => {
    asks = await cli.json<AskView[]>(['asks']);
    return asks.length === 1;
  });
  expect(asks).toMatchObject([
    { budget_id: 'default/daily', session: 'one', runaway: '28 turns in a row repeat earlier ones' },
  ]);
  await cli.run(['approve', asks[0]?.id ?? '']);
  let isDone = false;
  const done = answer.finally(() => {
    isDone = true;
  });
  // The request looks for its answer.
  await until(async () => {
    await clock.advance(200);
    return isDone;
  });
  expect((await done).status).toBe(200);
  expect((await say('one', 'Again')).status).toBe(200);
  await gateway.committed();
  expect(await cli.json(['status'])).not.toHaveProperty('runaways');
});
