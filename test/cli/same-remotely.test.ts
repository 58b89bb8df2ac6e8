import { describe, expect, test } from 'vitest';
import { createKey } from '../../src/store/accounts/keys.ts';
import { addLog } from '../agents/logs/logs.ts';
import { completion } from '../support/chat-scripts.ts';
import { usageOf } from '../support/chat-shapes.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { cliHome } from './cli-home.ts';

const NOW = Date.UTC(2026, 0, 15, 12);
const MODEL = 'mock/test-model';

/** Every command that only reads, with the options that change what it reads. */
const READING = [
  'usage',
  'usage -g model',
  'usage -g project --from 7d',
  'usage -g process',
  'usage -g repo -p web',
  'usage -g agent,model --agent codex',
  'usage -g session --status ok --month',
  'sessions',
  'sessions thread-1 --agent codex',
  'requests --session thread-0 --until today --since 7d',
  'requests --session thread-0',
  'requests',
  'requests -s blocked',
  'requests -s failed --since 1h',
  'requests -s 200 -n 1',
  'requests -p web',
  'status',
  'budget list',
  'budget list -p default --repo /home/me/shop',
  'budget check -p web',
  'budget backtest 0.01 --period weekly',
  'budget backtest 0.01 --per key --on-limit fallback:sandbox/echo',
  'budget suggest -p web',
  'keys list',
  'keys list -p web --all',
  'projects list',
  'plan show -p web',
  'prices list',
  'prices list gpt-4.1',
  'prices diff',
  'webhooks list',
  'webhooks deliveries --failed',
  'webhooks deliveries -n 2 --since 1h',
  'models',
  'providers list',
  'dashboard',
  'coverage',
  'coverage codex',
];

interface Served {
  gateway: TestGateway;
  clock: VirtualClock;
  /** Runs a command on the daemon's own home, or through GW_URL from another one. */
  locally(line: string): Promise<Printed>;
  remotely(line: string, key?: string): Promise<Printed>;
}

interface Printed {
  code: number;
  stdout: string;
  stderr: string;
}

/** A daemon with something of everything, on a clock that stands still. */
async function served(): Promise<Served> {
  const clock = createVirtualClock(NOW);
  const gateway = await startGateway({ clock, budget: { period: 'daily', capUsd: 5 } });
  const { db } = gateway;
  const web = await gateway.newProject('web');
  await gateway.setBudget({ period: 'monthly', capUsd: 0 }, web);
  await gateway.setBudget({ period: 'daily', capUsd: 1, repo: '/home/me/shop' });
  await createKey(db, { projectId: web.id, label: 'ci', now: NOW });
  const webKey = await gateway.newKey('web');
  for (let i = 0; i < 3; i++) gateway.upstream.queue(completion({ usage: usageOf(1_000, 200 * i) }));
  for (let i = 0; i < 3; i++)
    await gateway.post(
      { model: MODEL, messages: [{ role: 'user', content: `Hi ${i}` }] },
      { headers: { 'user-agent': 'codex_cli/0.1.0', session_id: `thread-${i % 2}` } },
    );
  const blocked = await gateway.post(
    { model: MODEL, messages: [{ role: 'user', content: 'Hi' }] },
    { headers: { authorization: `Bearer ${webKey}` } },
  );
  expect(blocked.status).toBe(402);
  await gateway.post({ model: 'mock/none', messages: 'wrong' });
  await gateway.settled(5);

  const away = cliHome({ timezone: 'America/New_York' });
  const here = cliHome({ timezone: 'UTC' });
  for (const each of [away, here]) each.clock = clock;
  here.paths = gateway.paths;
  for (const { env } of [away, here]) addLog(env.HOME ?? '', 'codex-0.98.0');
  Object.assign(here.env, { GW_HOME: gateway.paths.home, GW_PORT: String(gateway.daemon.port) });
  return {
    gateway,
    clock,
    locally: (line) => here.run(line.split(' ')),
    remotely: (line, key = gateway.adminKey) =>
      away.run(line.split(' '), { env: { GW_URL: gateway.origin, GW_KEY: key } }),
  };
}

describe('reading commands', () => {
  test('print the same on the machine and through GW_URL, as text and as --json', async () => {
    const { gateway, locally, remotely } = await served();
    const added = await locally('webhooks add https://example.com/hook');
    expect(added.code).toBe(0);
    const [request] = JSON.parse((await locally('requests -n 1 --json')).stdout) as { id: string }[];
    const lines = [...READING, `requests ${request?.id}`];
    for (const line of lines.flatMap((each) => [each, `${each} --json`])) {
      const local = await locally(line);
      const remote = await remotely(line);
      // The URL that each was told.
      const printed = remote.stdout.replaceAll(gateway.origin.slice(7), `localhost:${gateway.daemon.port}`);
      expect([line, printed]).toEqual([line, local.stdout]);
      expect([line, remote.code]).toEqual([line, local.code]);
      expect([line, remote.stderr]).toEqual([line, local.stderr]);
      expect([line, `${local.stdout}${local.stderr}`.length > 2]).toEqual([line, true]);
    }
  }, 60_000);

  test('show a project key its own project', async () => {
    const { gateway, locally, remotely } = await served();
    const key = await gateway.newKey('web');
    for (const command of ['usage', 'requests', 'sessions', 'budget list', 'keys list', 'webhooks list']) {
      const line = `${command} --json`;
      expect([line, (await remotely(line, key)).stdout]).toEqual([
        line,
        (await locally(`${line} -p web`)).stdout,
      ]);
    }
    const projects = JSON.parse((await remotely('projects list --json', key)).stdout) as {
      project_id: string;
    }[];
    expect(projects.map(({ project_id }) => project_id)).toEqual(['web']);
    const [other] = JSON.parse((await locally('requests -p default -n 1 --json')).stdout) as { id: string }[];
    expect((await remotely(`requests ${other?.id}`, key)).code).toBe(5);
    for (const project of ['default', 'nobody']) {
      const refused = await remotely(`requests -p ${project}`, key);
      expect([refused.code, refused.stderr]).toEqual([
        4,
        `gw: this key belongs to project web and may not use "${project}". Use a key of that project, or an admin key\n`,
      ]);
    }
    const own = JSON.parse((await remotely('dashboard --json', key)).stdout) as Record<string, unknown>;
    const all = JSON.parse((await locally('dashboard --json')).stdout) as Record<string, unknown>;
    expect(all).toMatchObject({ total: { requests: 5 } });
    expect(own).toMatchObject({
      total: { requests: 1, blocked_requests: 1, cost_usd: 0 },
      budgets: [{ id: 'web/monthly' }],
      models: [{ requests: 1, cost_usd: 0 }],
      blocked: [{ budget_id: 'web/monthly', requests: 1 }],
    });
    expect(JSON.stringify(own)).not.toContain('default');
    const screen = await remotely('dashboard', key);
    expect([screen.code, screen.stdout.includes('web/monthly')]).toEqual([0, true]);
  }, 60_000);

  test('fail alike', async () => {
    const { locally, remotely } = await served();
    for (const [line, code] of [
      ['usage -p nobody', 5],
      ['usage --from 2026-02-01 --to 2026-01-01', 2],
      ['requests req_00000000000', 5],
      ['requests -s strange', 2],
      ['usage -s strange', 2],
      ['sessions thread-9', 5],
      ['prices list made-up-9', 5],
      ['webhooks deliveries wh_99', 5],
      ['budget check', 6],
    ] as const) {
      const [local, remote] = [await locally(line), await remotely(line)];
      expect([line, remote.code, remote.stderr]).toEqual([line, code, local.stderr]);
    }
  }, 60_000);
});
