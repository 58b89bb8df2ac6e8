import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { CAN_ATTRIBUTE } from '../../src/attribution/attribution.ts';
import { createCalendar } from '../../src/calendar.ts';
import { type Clock, systemClock } from '../../src/clock.ts';
import { MAX_SEARCH_MS } from '../../src/gateway/intake/select-project.ts';
import { listBudgets, removeBudget } from '../../src/store/budgets/budgets.ts';
import { usageReport } from '../../src/store/reports/usage-report.ts';
import { completion } from '../support/chat-scripts.ts';
import { usageOf } from '../support/chat-shapes.ts';
import { createGate } from '../support/gate.ts';
import { startGateway, type TestGateway, until } from '../support/gateway.ts';
import { tmpHome } from '../support/tmp-home.ts';

const DIME = 100_000_000;
/** A request that costs $0.10, no less and no more. */
const BODY = { model: 'mock/test-model', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1 };
const AGENT = `
const [url, key, count, budget_id] = process.argv.slice(2);
const ask = async () => {
  const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' };
  const answer = await fetch(url + '/chat/completions', { method: 'POST', headers, body: JSON.stringify({ ...${JSON.stringify(BODY)}, service: { budget_id } }) });
  return { status: answer.status, body: await answer.json() };
};
const answers = [];
for (let i = 0; i < Number(count); i++) answers.push(ask());
console.log(JSON.stringify(await Promise.all(answers)));
// The process and its connection stay alive, as those of an agent do.
process.stdin.resume();
`;

interface Answer {
  status: number;
  body: { error?: Record<string, string> };
}

/** A repository with an agent that runs as a process of its own. */
function repository(name: string) {
  const root = join(realpathSync(tmpHome()), name);
  mkdirSync(root);
  execFileSync('git', ['init', '-q'], { cwd: root });
  writeFileSync(join(root, 'agent.mjs'), AGENT);
  return {
    root,
    async ask({ url, key }: TestGateway, count = 1, ...budget: string[]): Promise<Answer[]> {
      const args = ['agent.mjs', url, key, String(count), ...budget];
      const agent = spawn(process.execPath, args, { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] });
      onTestFinished(() => void agent.kill());
      const [line] = (await once(createInterface(agent.stdout), 'line')) as [string];
      return JSON.parse(line) as Answer[];
    },
  };
}

/** A request waits for the search as long as a busy machine takes for it, which may be longer than `MAX_SEARCH_MS`. */
const PATIENT: Clock = {
  ...systemClock,
  after: (ms, run) => systemClock.after(ms === MAX_SEARCH_MS ? 10 * ms : ms, run),
};

async function tenCentGateway(settings = {}): Promise<TestGateway> {
  const gateway = await startGateway({ price: { input: 0, output: 100_000 }, settings, clock: PATIENT });
  gateway.upstream.script(completion({ usage: usageOf(5, 1) }));
  return gateway;
}

const context = () => ({ calendar: createCalendar('UTC'), now: Date.now() });
const spent = async ({ db, project }: TestGateway) =>
  (await listBudgets(db, [project.id], context())).map(({ posted, pending }) => [posted, pending]);
const statuses = (answers: Answer[]) => answers.map(({ status }) => status).sort();

// Each agent is a separate process.
vi.setConfig({ testTimeout: 30_000 });

describe.skipIf(!CAN_ATTRIBUTE)('where requests come from', () => {
  test('is recorded with each request, and in the totals', async () => {
    const gateway = await tenCentGateway();
    const shop = repository('shop');
    await shop.ask(gateway);
    await shop.ask(gateway, 2);
    const origin = { process: 'node agent.mjs', repo: shop.root };
    // An answer can be faster than the search.
    await until(async () => (await gateway.settled(3)).every(({ process }) => process !== ''));
    for (const record of await gateway.records()) expect(record).toMatchObject(origin);
    const { calendar } = context();
    const today = calendar.dateOf(Date.now());
    for (const groupBy of ['process', 'repo'] as const) {
      const { rows } = await usageReport(gateway.db, calendar, { from: today, to: today, groupBy });
      expect(rows.map(({ key, requests, costNanoUsd }) => [key, requests, costNanoUsd])).toEqual([
        [origin[groupBy], 3, 3 * DIME],
      ]);
    }
  });

  test('is not searched for when attribution is off', async () => {
    const gateway = await tenCentGateway({ attribution: 'off' });
    await repository('shop').ask(gateway);
    expect(await gateway.settled(1)).toMatchObject([{ process: '', repo: '' }]);
  });
});

describe.skipIf(!CAN_ATTRIBUTE)('a budget of a repository', () => {
  test('applies to requests from the repository, the first of a connection included, and to no others', async () => {
    const gateway = await tenCentGateway();
    const [shop, blog] = [repository('shop'), repository('blog')];
    await gateway.setBudget({ period: 'daily', capUsd: 0.3, repo: shop.root });
    expect(statuses(await shop.ask(gateway, 5))).toEqual([200, 200, 200, 402, 402]);
    expect(statuses(await blog.ask(gateway, 5))).toEqual([200, 200, 200, 200, 200]);
    expect(await spent(gateway)).toEqual([[3 * DIME, 0]]);
    const [blocked] = await shop.ask(gateway);
    expect(blocked?.body.error).toMatchObject({
      code: 'budget_exceeded',
      budget_id: `default/daily@${shop.root}`,
      command: `gw budget set 0.6 --period daily -p default --repo ${shop.root}`,
    });
  });

  test('may be named only by requests from the repository', async () => {
    const gateway = await tenCentGateway();
    const [shop, blog] = [repository('shop'), repository('blog')];
    await gateway.setBudget({ period: 'daily', capUsd: 0.1, repo: shop.root });
    await gateway.setBudget({ period: 'daily', capUsd: 0, repo: blog.root });
    const name = `default/daily@${shop.root}`;
    expect(statuses(await shop.ask(gateway, 2, name))).toEqual([200, 402]);
    const [refused] = await blog.ask(gateway, 1, name);
    expect([refused?.status, refused?.body.error]).toMatchObject([
      403,
      { code: 'budget_forbidden', param: 'service.budget_id' },
    ]);
    expect(refused?.body.error?.message).toContain(`comes from ${blog.root}`);
    expect((await gateway.settled(3)).map(({ outcome }) => outcome).sort()).toEqual([
      'blocked',
      'ok',
      'refused',
    ]);
  });

  test('applies to a caller of unknown origin that names it', async () => {
    const gateway = await tenCentGateway({ attribution: 'off' });
    await gateway.setBudget({ period: 'daily', capUsd: 0.2, repo: '/srv/shop' });
    const container = repository('shop');
    const answers = await container.ask(gateway, 3, 'default/daily@/srv/shop');
    expect(statuses(answers)).toEqual([200, 200, 402]);
    expect(await spent(gateway)).toEqual([[2 * DIME, 0]]);
    expect(statuses(await container.ask(gateway, 1))).toEqual([200]);
    const { url, key } = gateway;
    const named = { authorization: `Bearer ${key}`, 'x-service-budget': 'default/daily@/srv/shop' };
    const passed = await fetch(`${url}/audio/speech`, { method: 'POST', headers: named, body: '{}' });
    expect(await passed.json()).toMatchObject({ error: { budget_id: 'default/daily@/srv/shop' } });
  });

  test('applies together with the budget of its project', async () => {
    const gateway = await tenCentGateway();
    const [shop, blog] = [repository('shop'), repository('blog')];
    await gateway.setBudget({ period: 'daily', capUsd: 0.4 });
    await gateway.setBudget({ period: 'daily', capUsd: 0.3, repo: shop.root });
    expect(statuses(await shop.ask(gateway, 4))).toEqual([200, 200, 200, 402]);
    expect(statuses(await blog.ask(gateway, 2))).toEqual([200, 402]);
    expect(await spent(gateway)).toEqual([
      [4 * DIME, 0],
      [3 * DIME, 0],
    ]);
  });

  test('counts earlier and running requests from the repository', async () => {
    const gateway = await tenCentGateway();
    const [shop, blog] = [repository('shop'), repository('blog')];
    await shop.ask(gateway);
    await blog.ask(gateway);
    await until(async () => (await gateway.settled(2)).every(({ process }) => process !== ''));
    // With such a budget, a request waits until its repository is known.
    await gateway.setBudget({ period: 'monthly', capUsd: 100, repo: shop.root });
    const gate = createGate();
    gateway.upstream.script(async (exchange) => {
      await gate.pass();
      await completion({ usage: usageOf(5, 1) })(exchange);
    });
    const running = shop.ask(gateway);
    await until(() => gateway.holds() === 1);
    await gateway.setBudget({ period: 'daily', capUsd: 0.3, repo: shop.root });
    const both = (...standing: [number, number]) => [standing, standing];
    expect(await spent(gateway)).toEqual(both(DIME, DIME));
    gate.open();
    await running;
    expect(await spent(gateway)).toEqual(both(2 * DIME, 0));
    gateway.upstream.script(completion({ usage: usageOf(5, 1) }));
    expect(statuses(await shop.ask(gateway, 2))).toEqual([200, 402]);
  });

  test('does not count a request that started before its repository was known', async () => {
    const gateway = await tenCentGateway();
    const shop = repository('shop');
    const gate = createGate();
    gateway.upstream.script(async (exchange) => {
      await gate.pass();
      await completion({ usage: usageOf(5, 1) })(exchange);
    });
    const running = shop.ask(gateway);
    await until(() => gateway.holds() === 1);
    await gateway.setBudget({ period: 'daily', capUsd: 0.3, repo: shop.root });
    gate.open();
    await running;
    await until(async () => (await gateway.settled(1)).every(({ repo }) => repo === shop.root));
    expect(await spent(gateway)).toEqual([[0, 0]]);
  });

  test('no longer applies once it is removed', async () => {
    const gateway = await tenCentGateway();
    const shop = repository('shop');
    await gateway.setBudget({ period: 'daily', capUsd: 0, repo: shop.root });
    expect(statuses(await shop.ask(gateway))).toEqual([402]);
    await removeBudget(gateway.db, gateway.project, { period: 'daily', repo: shop.root }, Date.now());
    expect(statuses(await shop.ask(gateway))).toEqual([200]);
  });

  test('is named in events', async () => {
    const gateway = await tenCentGateway();
    const shop = repository('shop');
    await gateway.setBudget({ period: 'daily', capUsd: 0.1, repo: shop.root });
    await shop.ask(gateway, 2);
    const events = gateway.db.prepare('SELECT type, data FROM events ORDER BY sequence').all() as {
      type: string;
      data: string;
    }[];
    expect(events.map(({ type }) => type)).toEqual([
      'budget.threshold_reached',
      'budget.exceeded',
      'request.blocked',
    ]);
    for (const { data } of events) {
      expect(JSON.parse(data)).toMatchObject({ budget_id: `default/daily@${shop.root}`, repo: shop.root });
    }
  });

  async function call({ url, adminKey }: TestGateway, method: string, path: string, body?: unknown) {
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
    const answer = await fetch(url + path, {
      method,
      headers,
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return (await answer.json()) as Record<string, unknown>;
  }

  test('that was created over HTTP applies from the next request on', async () => {
    const gateway = await tenCentGateway();
    const shop = repository('shop');
    await call(gateway, 'PUT', '/budgets', { cap_usd: 0.3, repo: shop.root });
    expect(statuses(await shop.ask(gateway, 5))).toEqual([200, 200, 200, 402, 402]);
  });

  test('is created, listed and removed over HTTP', async () => {
    const gateway = await tenCentGateway();
    expect(await call(gateway, 'PUT', '/budgets', { cap_usd: 5, repo: '/srv/shop' })).toMatchObject({
      id: 'default/daily@/srv/shop',
      repo: '/srv/shop',
    });
    expect(await call(gateway, 'DELETE', '/budgets/default/daily')).toMatchObject({
      error: { code: 'budget_not_found' },
    });
    expect(await call(gateway, 'DELETE', '/budgets/default/daily?repo=/srv/shop')).toMatchObject({
      deleted: true,
    });
    expect(await call(gateway, 'PUT', '/budgets', { cap_usd: 5, repo: 'shop' })).toMatchObject({
      error: { code: expect.any(String) },
    });
  });
});
