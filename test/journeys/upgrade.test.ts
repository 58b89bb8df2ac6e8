import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { boot } from '../../src/daemon/boot.ts';
import { resolvePaths } from '../../src/paths.ts';
import { acquireLock } from '../../src/store/database/lock.ts';
import { commandLineOf } from '../cli/cli-home.ts';
import { request } from '../support/client.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { startUpstream } from '../support/upstream.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const HOMES = join(import.meta.dirname, '../support/homes');

type Row = Record<string, unknown>;

/** What the version that made the home printed of it, by `--json`, at `nowMs`. */
interface Facts {
  nowMs: number;
  keys: Record<'laptop' | 'site' | 'ci' | 'admin' | 'revoked', string>;
  usage: { data: Row[]; total: Row };
  byProject: { data: Row[] };
  budgets: Row[];
  requests: Row[];
  webhooks: Row[];
  keysList: Row[];
}

/** A home as the version left it: three projects, keys, budgets, prices, webhooks and 19 requests of one night. */
function unpack(version: string): { home: string; facts: Facts } {
  const home = tmpHome();
  execFileSync('tar', ['xzf', join(HOMES, `${version}.tar.gz`), '-C', home]);
  return { home, facts: JSON.parse(readFileSync(join(home, 'facts.json'), 'utf8')) as Facts };
}

/** This version's daemon in the home, a second after the old one's last report. */
async function startIn(home: string, { nowMs, keys }: Facts) {
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  const paths = resolvePaths({ GW_HOME: home });
  const config = readFileSync(paths.config, 'utf8');
  writeFileSync(paths.config, config.replace('http://127.0.0.1:4999/v1', upstream.url));
  const lock = acquireLock(paths.lock);
  const errors: unknown[] = [];
  const log = pino({ level: 'error' }, { write: (line) => void errors.push(JSON.parse(line)) });
  const begin = performance.now();
  const now = () => nowMs + 1_000 + Math.floor(performance.now() - begin);
  const daemon = await boot({ paths, env: {}, flags: { port: 0 }, log, clock: { ...systemClock, now } });
  onTestFinished(async () => {
    await daemon.stop({ graceMs: 0 });
    lock?.release();
    expect(errors).toEqual([]);
  });
  const origin = `http://127.0.0.1:${daemon.port}`;
  const clock = createVirtualClock(now());
  return { origin, cli: commandLineOf({ adminKey: keys.admin, daemon, origin, paths }, 'locally', clock) };
}

const ordered = (rows: Row[]) => [...rows].sort((a, b) => String(a.id).localeCompare(String(b.id)));
/** Each row with at least what it had; JSON knows no undefined. */
const holding = (rows: Row[], without: string[] = []) =>
  ordered(rows).map((row) =>
    expect.objectContaining(
      Object.fromEntries(Object.entries(row).filter(([name]) => !without.includes(name))),
    ),
  );

test.each(readdirSync(HOMES).map((file) => file.replace('.tar.gz', '')))(
  'a home of gw %s is taken over whole, and goes on',
  async (version) => {
    const { home, facts } = unpack(version);
    const { origin, cli } = await startIn(home, facts);
    const days = ['--from', '2026-11-29', '--to', '2026-11-29'];
    const usage = await cli.json<Facts['usage']>(['usage', ...days]);
    expect(usage.total).toMatchObject(facts.usage.total);
    const byProject = await cli.json<Facts['usage']>(['usage', '-g', 'project', ...days]);
    expect(byProject.data).toEqual(holding(facts.byProject.data));
    const list = async (...args: string[]) => ordered(await cli.json<Row[]>(args));
    expect(await list('budget', 'list')).toEqual(holding(facts.budgets, ['reached_at']));
    expect(await list('requests', '--limit', '100')).toEqual(holding(facts.requests));
    expect(await list('webhooks', 'list')).toEqual(holding(facts.webhooks));
    expect(await list('keys', 'list')).toEqual(holding(facts.keysList));

    const ask = (key: string, model: string) =>
      request(`${origin}/v1/chat/completions`, {
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: { model, max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] },
      });
    expect((await ask(facts.keys.laptop, 'fast')).status).toBe(200);
    expect((await ask(facts.keys.site, 'mock/large')).status).toBe(200);
    expect((await ask(facts.keys.ci, 'mock/small')).status).toBe(402);
    expect((await ask(facts.keys.revoked, 'mock/small')).status).toBe(401);
    const after = await list('requests', '--limit', '100');
    expect(after).toHaveLength(facts.requests.length + 3);
    const paid = after.filter(
      ({ id, status }) => status === 200 && !facts.requests.some((it) => it.id === id),
    );
    const cost = (rows: Row[]) => rows.reduce((sum, row) => sum + Number(row.cost_nano_usd), 0);
    expect(paid.map(({ project_id }) => project_id).sort()).toEqual(['default', 'web']);
    expect(Math.min(...paid.map((row) => cost([row])))).toBeGreaterThan(0);
    const spent = (rows: Row[], id: string) => Number(rows.find((row) => row.id === id)?.spent_nano_usd);
    const budgets = await list('budget', 'list');
    for (const [id, project] of [
      ['default/monthly', 'default'],
      ['web/daily', 'web'],
      ['web/rolling', 'web'],
    ] as const)
      expect(spent(budgets, id) - spent(facts.budgets, id)).toBe(
        cost(paid.filter(({ project_id }) => project_id === project)),
      );
    expect((await cli.json<Facts['usage']>(['usage', ...days])).total.cost_nano_usd).toBe(
      Number(facts.usage.total.cost_nano_usd) + cost(paid),
    );
  },
);
