import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { formatAskId } from '../../src/ids.ts';
import { removeBudget } from '../../src/store/budgets/budgets.ts';
import { completion } from '../support/chat-scripts.ts';
import { usageOf } from '../support/chat-shapes.ts';
import { request } from '../support/client.ts';
import { createGate } from '../support/gate.ts';
import { requestsIn, startGateway, type TestGateway, until } from '../support/gateway.ts';
import { prepareHome } from '../support/home.ts';
import { seededRandom } from '../support/random.ts';
import { json, reset, type Script, status } from '../support/scripts.ts';
import { closeAll, MANY, type SeveralOptions, severalTargets } from '../support/several-targets.ts';
import { spawnDaemon } from '../support/spawned.ts';
import { sse } from '../support/sse-scripts.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { startUpstream } from '../support/upstream.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { messageItem, responseBody } from '../wire/support/responses-shapes.ts';

const LONG = Boolean(process.env.GW_LONG);
const SEED = process.env.GW_SEED ?? String(Date.now());
const DIME = 100_000_000;
/** One output token of $0.10. */
const DIME_PRICE = { inputPicoUsd: 0, outputPicoUsd: 1e11 };
const USAGE = usageOf(5, 1);
const ASK = { ...MANY, max_tokens: 1 };

/** An answer that is billed but unusable, so that the next target is tried. */
const billedFailure = json(200, { choices: [], usage: USAGE });
const good: Script = async (exchange) => {
  const { stream } = JSON.parse((await exchange.body).toString()) as { stream?: boolean };
  await (stream ? sse(['x'], { usage: USAGE }) : completion({ usage: USAGE }))(exchange);
};

/** Three targets at each of which an answer costs $0.10. */
async function dimes(options: SeveralOptions = {}) {
  const several = await severalTargets(options);
  onTestFinished(() => closeAll(several));
  await priceAll(several.gateway);
  for (const upstream of several.upstreams) upstream.script(good);
  return several;
}

async function priceAll(gateway: Pick<TestGateway, 'setPrice'>): Promise<void> {
  for (const name of ['a', 'b', 'c']) {
    await gateway.setPrice({ provider: name, model: `m-${name}`, ...DIME_PRICE });
  }
}

function balances({ db }: Pick<TestGateway, 'db'>): number[][] {
  return db
    .prepare<[], number[]>(
      `SELECT p.posted_nano_usd, p.pending_nano_usd FROM budget_periods p JOIN budgets b ON b.id = p.budget_id
       WHERE b.removed_at IS NULL AND (posted_nano_usd > 0 OR pending_nano_usd > 0)`,
    )
    .raw()
    .all() as unknown as number[][];
}

const dayCap = (capUsd: number) => ({ budget: { period: 'daily' as const, capUsd } });

/** The first target fails, billed, when the gate opens. */
async function failingFirst(options: SeveralOptions = {}) {
  const several = await dimes(options);
  const gate = createGate();
  several.upstreams[0]?.script(async (exchange) => {
    await gate.pass();
    await billedFailure(exchange);
  });
  return { ...several, gate };
}

test(
  `1,000 requests at once at targets that fail, billed or not: a cap of $5 is $5 (GW_SEED=${SEED})`,
  async () => {
    const random = seededRandom(SEED);
    const count = LONG ? 1_000 : 200;
    for (let round = 0; round < (LONG ? 20 : 2); round++) {
      const { gateway, upstreams } = await dimes({ ...dayCap(5), join: round % 2 ? ', ' : ' | ' });
      let billed = 0;
      for (const upstream of upstreams) {
        upstream.script(async (exchange) => {
          const point = random(1)[0] ?? 0;
          if (point < 60) return status(503)(exchange);
          if (point < 90) return reset()(exchange);
          billed += DIME;
          await (point < 130 ? billedFailure : good)(exchange);
        });
      }
      const answers = await Promise.all(
        Array.from({ length: count }, (_, i) => gateway.post(i % 3 ? ASK : { ...ASK, stream: true })),
      );
      const records = await gateway.settled(count);
      const [[posted = -1, pending] = []] = balances(gateway);
      expect(pending).toBe(0);
      expect(posted).toBeLessThanOrEqual(50 * DIME);
      expect(posted).toBeGreaterThanOrEqual(billed);
      expect(records.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0)).toBe(posted);
      for (const { costNanoUsd, holdNanoUsd } of records)
        expect(costNanoUsd).toBeLessThanOrEqual(holdNanoUsd);
      expect(answers.filter((answer) => answer.status === 200).length).toBeGreaterThan(10);
      expect(requestsIn(records)).toBe(count);
    }
  },
  LONG ? 1_200_000 : 60_000,
);

test('a cap that is lowered between two attempts applies to the second, and the first is booked', async () => {
  const { gateway, gate, hits } = await failingFirst(dayCap(5));
  const answer = gateway.post(ASK);
  await gate.reached();
  await gateway.setBudget({ period: 'daily', capUsd: 0.15 });
  gate.open();
  expect((await answer).status).toBe(502);
  expect(hits()).toEqual([1, 0, 0]);
  await gateway.committed();
  expect(balances(gateway)).toEqual([[DIME, 0]]);
});

test('a budget that is removed and set between two attempts counts both', async () => {
  const { gateway, gate } = await failingFirst(dayCap(5));
  const answer = gateway.post(ASK);
  await gate.reached();
  await removeBudget(gateway.db, gateway.project, { period: 'daily' }, Date.now());
  await gateway.setBudget({ period: 'daily', capUsd: 5 });
  await gateway.setBudget({ period: 'rolling', windowMs: 3_600_000, capUsd: 5 });
  gate.open();
  expect((await answer).status).toBe(200);
  await gateway.committed();
  expect(balances(gateway)).toEqual([
    [2 * DIME, 0],
    [2 * DIME, 0],
  ]);
});

test('two attempts around midnight are both booked in the new day', async () => {
  const clock = createVirtualClock();
  const { gateway, gate } = await failingFirst({ ...dayCap(0.2), clock });
  const answer = gateway.post(ASK);
  await gate.reached();
  clock.setWallTime(clock.now() + 13 * 3_600_000);
  gate.open();
  expect((await answer).status).toBe(200);
  await gateway.committed();
  expect(balances(gateway)).toEqual([[2 * DIME, 0]]);
  expect((await gateway.post(ASK)).status).toBe(402);
});

test.each([
  [100, 200, [1, 1]],
  [0.3, 503, [1, 0]],
])('the fees of the next provider are held too: with $%d it answers %d', async (capUsd, code, hits) => {
  const upstreams = await Promise.all([startUpstream(), startUpstream()]);
  onTestFinished(async () => void (await Promise.all(upstreams.map((upstream) => upstream.close()))));
  const [openai, azure] = upstreams;
  const gateway = await startGateway({
    ...dayCap(capUsd),
    settings: {
      aliases: { many: 'openai/gpt-search, azure/gpt-search' },
      providers: { openai: { baseUrl: openai?.url ?? '' }, azure: { baseUrl: azure?.url ?? '' } },
    },
  });
  // Three calls of four searches fit into $0.30 at OpenAI's $0.01, but not at Azure's $0.035.
  for (const provider of ['openai', 'azure']) {
    await gateway.setPrice({ provider, model: 'gpt-search', inputPicoUsd: 0, outputPicoUsd: 1e9 });
  }
  openai?.script(status(503));
  const searched = { tool_usage: { web_search: { num_requests: 12 } } };
  azure?.script(json(200, responseBody([messageItem('Hello')], searched)));
  const tools = [{ type: 'web_search' }];
  const ask = { model: 'many', input: 'Hi', max_output_tokens: 10, max_tool_calls: 3, tools };
  expect((await gateway.post(ask, { path: '/v1/responses' })).status).toBe(code);
  expect(upstreams.map(({ requests }) => requests.length)).toEqual(hits);
  const [record] = await gateway.settled(1);
  expect(record?.costNanoUsd).toBeLessThanOrEqual(record?.holdNanoUsd ?? 0);
  expect(record?.costNanoUsd).toBeGreaterThanOrEqual(code === 200 ? 12 * 35_000_000 : 0);
});

test('two daemons on a database whose targets fail in turn share one cap', async () => {
  const database = join(tmpHome(), 'shared.db');
  const { gateway, upstreams } = await dimes({ ...dayCap(2), database });
  const second = await startGateway({
    database,
    settings: {
      aliases: { many: 'a/m-a, b/m-b, c/m-c' },
      providers: Object.fromEntries(
        ['a', 'b', 'c'].map((name, i) => [name, { baseUrl: upstreams[i]?.url ?? '' }]),
      ),
    },
  });
  let asked = 0;
  for (const upstream of upstreams) {
    upstream.script((exchange) => (asked++ % 2 ? good : billedFailure)(exchange));
  }
  await Promise.all(Array.from({ length: 80 }, (_, i) => (i % 2 ? gateway : second).post(ASK)));
  const records = await gateway.settled(80);
  const [[posted = 0, pending] = []] = balances(gateway);
  expect(pending).toBe(0);
  expect(posted).toBe(asked * DIME);
  expect(posted).toBeLessThanOrEqual(20 * DIME);
  expect(records.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0)).toBe(posted);
  await second.stop();
});

const KILLS = LONG ? 100 : 5;
test(`kill -9 at ${KILLS} random moments between attempts: all billed cost is booked, within the cap (GW_SEED=${SEED})`, {
  timeout: KILLS * 40_000,
}, async () => {
  const random = seededRandom(SEED);
  const upstreams = await Promise.all(['a', 'b', 'c'].map(() => startUpstream()));
  let billed = 0;
  for (const upstream of upstreams) {
    upstream.script(async (exchange) => {
      billed += DIME;
      await ((random(1)[0] ?? 0) < 120 ? billedFailure : good)(exchange);
    });
  }
  const home = await prepareHome(tmpHome(), {
    upstreamUrl: upstreams[0]?.url ?? '',
    ...dayCap(KILLS * 30),
    settings: {
      aliases: { many: 'a/m-a | b/m-b | c/m-c' },
      providers: Object.fromEntries(
        ['a', 'b', 'c'].map((name, i) => [name, { baseUrl: upstreams[i]?.url ?? '' }]),
      ),
    },
  });
  await priceAll(home);
  for (let round = 0; round < KILLS; round++) {
    const daemon = await spawnDaemon(home.paths.home);
    let answered = () => {};
    const first = new Promise<void>((resolve) => {
      answered = resolve;
    });
    const ask = async () => {
      for (;;) {
        const parts = { body: ASK, headers: { authorization: `Bearer ${home.key}` } };
        const answer = await request(`${daemon.url}/chat/completions`, parts).catch(() => undefined);
        if (!answer?.complete) return;
        // One that had an attempt before it.
        if (answer.header('x-service-provider') !== 'a') answered();
      }
    };
    const clients = Array.from({ length: 12 }, ask);
    await first;
    // Once, a record of a request with several attempts is to be there before the kill.
    if (round === 0)
      await until(async () => (await home.records()).some(({ detail }) => detail.attempts !== undefined));
    // The moment is a point in time, so only a timer can choose it.
    await new Promise((resolve) => setTimeout(resolve, 20 + random(2).readUInt16LE() / 150));
    daemon.kill('SIGKILL');
    await daemon.exited;
    await Promise.all(clients);
  }
  const last = await spawnDaemon(home.paths.home);
  const records = await home.settled(1);
  last.kill('SIGTERM');
  await last.exited;
  for (const upstream of upstreams) await upstream.close();
  const posted = records.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0);
  expect(balances(home)).toEqual([[posted, 0]]);
  expect(posted).toBeGreaterThanOrEqual(billed);
  expect(posted).toBeLessThanOrEqual(KILLS * 300 * DIME);
  const crashed = records.filter(({ outcome }) => outcome === 'crashed');
  for (const record of crashed) expect(record.costNanoUsd).toBe(record.holdNanoUsd);
  expect(records.some(({ detail }) => detail.attempts !== undefined)).toBe(true);
});

test.each([
  ['fails unbilled', status(503), 200],
  ['is billed for nothing', billedFailure, 502],
] as const)('an approval is for all attempts of its request: one %s', async (_, failure, expected) => {
  const { gateway, upstreams, hits } = await dimes({
    budget: { period: 'daily', capUsd: 0, onLimit: 'ask' },
    count: 2,
  });
  upstreams[0]?.script(failure);
  const answer = gateway.post(ASK);
  const open = gateway.db.prepare<[], { id: number; needed: number }>(
    'SELECT request_id AS id, needed_nano_usd AS needed FROM asks',
  );
  await until(() => open.get() !== undefined);
  const { id = 0, needed } = open.get() ?? {};
  expect(needed).toBe(DIME);
  const headers = { authorization: `Bearer ${gateway.adminKey}` };
  const path = `/v1/gw/asks/${formatAskId(id)}/approve`;
  expect((await request(`${gateway.origin}${path}`, { body: {}, headers })).status).toBe(200);
  expect((await answer).status).toBe(expected);
  await gateway.settled(1);
  expect(hits()).toEqual([1, expected === 200 ? 1 : 0]);
  expect(balances(gateway)).toEqual([[DIME, 0]]);
});
