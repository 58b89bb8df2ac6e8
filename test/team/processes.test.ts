import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createPostgresAdmin } from '../../src/team/postgres/admin.ts';
import { installTeam } from '../../src/team/postgres/install.ts';
import { completion } from '../support/chat-scripts.ts';
import { request } from '../support/client.ts';
import { PLAIN, until } from '../support/gateway.ts';
import { prepareHome, type TestHome } from '../support/home.ts';
import { connectTo, postgresMissing, startPostgres } from '../support/postgres.ts';
import { seededRandom } from '../support/random.ts';
import { type SpawnedDaemon, spawnDaemon } from '../support/spawned.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { startUpstream } from '../support/upstream.ts';

const SEED = process.env.GW_SEED ?? String(Date.now());
const SECONDS = process.env.GW_LONG ? 60 : 2;
const GATEWAYS = 3;
const CLIENTS = 3;
const CAP_USD = process.env.GW_LONG ? 2 : 0.4;
/** A request holds $0.002 and costs half of it. */
const PRICE = { input: 0, output: 10 };
const BODY = { ...PLAIN, max_tokens: 200 };
const COST_NANO_USD = 1_000_000;

const GW = join(import.meta.dirname, '../../bin/gw');
const missing = postgresMissing({ ownServer: true });

/** Runs `gw` in a home. */
async function gw({ paths }: TestHome, ...args: string[]): Promise<string> {
  const env = { PATH: process.env.PATH, HOME: paths.home, GW_HOME: paths.home, NO_COLOR: '1' };
  const { stdout } = await promisify(execFile)(process.execPath, [GW, ...args], { env });
  return stdout;
}

test.skipIf(missing)(
  `three daemons and a server that are killed at random spend one cap, and their books agree (GW_SEED=${SEED})`,
  { timeout: SECONDS * 1_000 + 180_000 },
  async () => {
    const random = seededRandom(SEED);
    const chance = () => random(4).readUInt32LE() / 2 ** 32;
    const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    const postgres = await startPostgres({ settings: { fsync: 'on' } });
    const url = postgres.url();
    await installTeam(url, { name: 'acme', timezone: 'UTC' });
    const admin = createPostgresAdmin(url);
    await admin.setBudget({ project: '', period: 'monthly', capNanoUsd: CAP_USD * 1e9 });
    await admin.close();

    let billed = 0;
    const answer = completion({ usage: { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 } });
    const upstream = await startUpstream({
      script: async (exchange) => {
        billed += COST_NANO_USD;
        await answer(exchange);
      },
    });
    const homes: TestHome[] = [];
    for (let i = 0; i < GATEWAYS; i++) {
      const home = await prepareHome(tmpHome(), {
        upstreamUrl: upstream.url,
        price: PRICE,
        settings: { 'admission.max_wait_ms': 2_000 },
      });
      await gw(home, 'team', 'join', url, '--name', `gateway-${i}`);
      homes.push(home);
    }
    const daemons = await Promise.all(homes.map(({ paths }) => spawnDaemon(paths.home)));

    let isOver = false;
    const statuses = new Map<number, number>();
    const codes = new Map<string, number>();
    const clients = homes.flatMap((home, i) =>
      Array.from({ length: CLIENTS }, async () => {
        while (!isOver) {
          const headers = { authorization: `Bearer ${home.key}` };
          const daemon = daemons[i] as SpawnedDaemon;
          const reply = await request(`${daemon.url}/chat/completions`, { body: BODY, headers }).catch(
            () => undefined,
          );
          if (reply?.complete) statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
          if (reply?.complete && reply.status !== 200) {
            const code = String(JSON.parse(String(reply.body)).error?.code);
            codes.set(code, (codes.get(code) ?? 0) + 1);
          }
          await pause(20);
        }
      }),
    );
    let kills = 0;
    for (const deadline = performance.now() + SECONDS * 1_000; performance.now() < deadline; ) {
      await pause(50 + chance() * 400);
      const i = Math.floor(chance() * GATEWAYS);
      const daemon = daemons[i] as SpawnedDaemon;
      if (kills++ % 4 === 3) {
        await postgres.kill();
        await pause(chance() * 200);
        await postgres.start();
        continue;
      }
      daemon.kill('SIGKILL');
      await daemon.exited;
      daemons[i] = await spawnDaemon((homes[i] as TestHome).paths.home);
    }
    // With all alive, the rest of the cap can be spent.
    await until(async () => (codes.get('budget_exceeded') ?? 0) > 0, 60_000).catch(() => {});
    isOver = true;
    await Promise.all(clients);
    for (const daemon of daemons) {
      daemon.kill('SIGTERM');
      await daemon.exited;
    }

    const posted = homes.map(({ db }) =>
      Number(
        db
          .prepare(
            'SELECT sum(posted_nano_usd) FROM budget_periods p JOIN budgets b ON b.id = p.budget_id WHERE b.team_budget_id IS NOT NULL',
          )
          .pluck()
          .get() ?? 0,
      ),
    );
    const sum = posted.reduce((total, each) => total + each, 0);
    const client = await connectTo(url);
    const { rows } = await client.query('SELECT allocated, spent FROM gw_team.periods');
    await client.end();
    expect(billed).toBeLessThanOrEqual(CAP_USD * 1e9);
    expect(billed).toBeLessThanOrEqual(sum);
    expect(sum).toBeLessThanOrEqual(CAP_USD * 1e9);
    expect(rows).toEqual([{ allocated: sum, spent: sum }]);
    expect(statuses.get(200) ?? 0).toBeGreaterThan(20);
    await postgres.remove();
    await upstream.close();
  },
);
test.runIf(missing)(`skipped: ${missing}`, () => {});
