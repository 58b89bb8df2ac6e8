import { expect, test } from 'vitest';
import { completion } from '../support/chat-scripts.ts';
import { usageOf } from '../support/chat-shapes.ts';
import { type RawResponse, request } from '../support/client.ts';
import { PLAIN, startGateway, type TestGateway } from '../support/gateway.ts';
import { json } from '../support/scripts.ts';
import { closeAll, MANY, severalTargets } from '../support/several-targets.ts';

/** A request that costs $0.10: one output token. */
const TEN_CENTS = { ...PLAIN, max_tokens: 1 };
const USAGE = usageOf(5, 1);

const post = (gateway: TestGateway, session: string, key = gateway.key) =>
  gateway.post(TEN_CENTS, {
    headers: { authorization: `Bearer ${key}`, 'user-agent': 'codex_cli/0.1.0', session_id: session },
  });
const errorOf = (answer: RawResponse | undefined) =>
  answer ? (answer.json() as { error: Record<string, unknown> }).error : {};

async function put(gateway: TestGateway, body: object) {
  const headers = { authorization: `Bearer ${gateway.adminKey}`, 'content-type': 'application/json' };
  const answer = await request(`${gateway.url}/budgets`, {
    method: 'PUT',
    headers,
    body: JSON.stringify(body),
  });
  return answer.json() as Record<string, unknown>;
}

test('a cap for each session and one for a key hold under load, and refusals name them', async () => {
  const gateway = await startGateway({ price: { input: 0, output: 100_000 } });
  expect(await put(gateway, { cap_usd: 0.3, scope: { kind: 'session', value: null } })).toMatchObject({
    id: 'default/daily@each:session',
    scope: { kind: 'session', value: null },
    fullest: null,
  });
  const capped = await gateway.newKey('default');
  const { lastId } = gateway.db.prepare('SELECT max(id) AS lastId FROM keys').get() as { lastId: number };
  expect(await put(gateway, { cap_usd: 0.5, scope: { kind: 'key', value: String(lastId) } })).toMatchObject({
    scope: { kind: 'key', value: String(lastId) },
  });
  gateway.upstream.script(completion({ usage: USAGE }));
  const sessions = ['a', 'b', 'c', 'd'];
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) => post(gateway, sessions[i % 4] ?? '', capped)),
  );
  // The key's cap is below the four sessions' together.
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
  const others = await Promise.all(Array.from({ length: 30 }, (_, i) => post(gateway, `e${i % 3}`)));
  expect(others.filter(({ status }) => status === 200)).toHaveLength(9);
  const refusal = errorOf(others.find(({ status }) => status === 402));
  expect(refusal).toMatchObject({ code: 'budget_exceeded', cap_usd: 0.3, spent_usd: 0.3 });
  expect(refusal.budget_id).toMatch(/^default\/daily@session:e[012]$/);
  expect(refusal.message).toMatch(/^budget default\/daily@session:e[012] has no room/);
  expect(refusal.command).toMatch(/ --period daily -p default --session e[012]$/);
  const list = (await gateway.get('/v1/budgets')).json() as { data: Record<string, unknown>[] };
  expect(list.data.map(({ id, spent_usd, exceeded }) => [id, spent_usd, exceeded])).toEqual([
    ['default/daily@each:session', 0.3, true],
    [`default/daily@key:${lastId}`, 0.5, true],
  ]);
});

test("a session's cap covers all attempts of a request", async () => {
  const several = await severalTargets();
  const { gateway, upstreams } = several;
  try {
    const price = { inputPicoUsd: 0, outputPicoUsd: 1e11 };
    for (const name of ['a', 'b', 'c'])
      await gateway.setPrice({ provider: name, model: `m-${name}`, ...price });
    await put(gateway, { cap_usd: 0.15, scope: { kind: 'session', value: 's' } });
    // Billed but unusable, so that the next target is tried.
    for (const upstream of upstreams) upstream.script(json(200, { choices: [], usage: USAGE }));
    const headers = { session_id: 's' };
    await gateway.post({ ...MANY, max_tokens: 1 }, { headers });
    const [record] = await gateway.settled(1);
    expect(record?.costNanoUsd).toBe(1e8);
    const refused = await gateway.post({ ...MANY, max_tokens: 1 }, { headers });
    expect([refused.status, errorOf(refused).budget_id]).toEqual([402, 'default/daily@session:s']);
  } finally {
    await closeAll(several);
  }
});
