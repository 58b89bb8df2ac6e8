import { describe, expect, test } from 'vitest';
import { formatRequestId } from '../../src/ids.ts';
import { createArchive } from '../../src/store/archive/archive.ts';
import { createBlocksReader } from '../../src/store/dashboard/blocks.ts';
import { inTransaction } from '../../src/store/database/write.ts';
import { eventBits } from '../../src/store/webhooks/event-types.ts';
import {
  type GatewayOptions,
  PLAIN,
  requestsIn,
  startGateway,
  type TestGateway,
} from '../support/gateway.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const MINUTE = 60_000;
const DAY = '/v1/usage?from=2026-01-01&to=2026-12-31';
const FREE_PATH = { path: '/v1/responses/resp_of_another', method: 'GET', body: undefined } as const;

/** A project that may spend nothing, whose refusals are those of one minute until the clock is set. */
async function penniless(options: GatewayOptions = {}) {
  const clock = createVirtualClock();
  clock.setWallTime(Math.ceil(clock.now() / MINUTE) * MINUTE);
  const price = { input: 1, output: 1 };
  const gateway = await startGateway({ clock, price, budget: { period: 'daily', capUsd: 0 }, ...options });
  return { clock, gateway };
}

async function refuse(gateway: TestGateway, times: number, body: unknown = PLAIN, parts = {}): Promise<void> {
  for (let left = times; left > 0; left -= 50) {
    const posts = Array.from({ length: Math.min(50, left) }, () => gateway.post(body, parts));
    for (const { status } of await Promise.all(posts)) expect(status).toBeGreaterThanOrEqual(400);
  }
}

const rows = ({ db }: TestGateway, sql: string) => Number(db.prepare(sql).pluck().get());
const countEvents = (gateway: TestGateway) => rows(gateway, 'SELECT count(*) FROM events');

describe('refusals of a key in a minute', () => {
  test('have a record and an event each up to a hundred; one record counts the rest', async () => {
    const { clock, gateway } = await penniless();
    await refuse(gateway, 100);
    const events = countEvents(gateway);
    expect(await gateway.settled(100)).toHaveLength(100);
    await refuse(gateway, 300);
    const records = await gateway.settled(400);
    expect([records.length, requestsIn(records)]).toEqual([101, 400]);
    // One for the record that the rest share.
    expect(countEvents(gateway)).toBe(events + 1);
    clock.setWallTime(clock.now() + MINUTE);
    await refuse(gateway, 150);
    const later = await gateway.settled(550);
    expect([later.length, requestsIn(later)]).toEqual([202, 550]);
  });

  test('are all in the reports, before and after they are archived', async () => {
    const { clock, gateway } = await penniless();
    const agent = {
      'user-agent': 'claude-cli/2.0.1 (external, cli)',
      'x-claude-code-session-id': 'session-1',
    };
    await refuse(gateway, 250, PLAIN, { headers: agent });
    await gateway.settled(250);
    const figures = async () => [
      (await gateway.get(DAY)).json(),
      (await gateway.get(`${DAY}&group_by=model`)).json(),
      (await gateway.get(`${DAY}&group_by=key`)).json(),
      (await gateway.get('/v1/gw/sessions?limit=9')).json(),
    ];
    const journaled = await figures();
    expect(journaled[0]).toMatchObject({ total: { requests: 250, blocked_requests: 250 } });
    expect(rows(gateway, 'SELECT count(*) FROM journal')).toBe(101);
    clock.setWallTime(clock.now() + 3 * MINUTE);
    const archive = createArchive(gateway.db);
    while (inTransaction(gateway.db, () => archive.takeOver(clock.now())));
    expect(rows(gateway, 'SELECT count(*) FROM journal')).toBe(0);
    expect(await figures()).toEqual(journaled);
  });

  test('show their count and the time of the last on the record', async () => {
    const { clock, gateway } = await penniless();
    await refuse(gateway, 101);
    const [single] = await gateway.settled(101);
    clock.setWallTime(clock.now() + 20_000);
    await refuse(gateway, 49);
    const shared = (await gateway.settled(150)).at(-1);
    const read = async (id = 0) =>
      (await gateway.get(`/v1/requests/${formatRequestId(id)}`)).json() as Record<string, string>;
    const record = await read(shared?.id);
    expect(record).toMatchObject({ outcome: 'blocked', count: 50 });
    expect(Date.parse(String(record.last_at)) - Date.parse(String(record.created_at))).toBe(20_000);
    expect(await read(single?.id)).not.toHaveProperty('count');
  });

  test('of other reasons and other keys share no record with them', async () => {
    const { gateway } = await penniless();
    const other = { headers: { authorization: `Bearer ${await gateway.newKey('default')}` } };
    await refuse(gateway, 110);
    await refuse(gateway, 110, { ...PLAIN, model: 'nobody/knows' });
    await refuse(gateway, 110, '{');
    await refuse(gateway, 110, PLAIN, other);
    const records = await gateway.settled(440);
    const shared = records.filter(({ folded }) => folded);
    expect(shared.map(({ outcome, folded }) => [outcome, folded?.count])).toEqual([
      ['blocked', 10],
      ['refused', 120],
      ['blocked', 10],
    ]);
    expect(records).toHaveLength(303);
  });

  test('leave no names of models, sessions and agents once they share a record', async () => {
    const { gateway } = await penniless();
    await refuse(gateway, 101, { ...PLAIN, model: 'nobody/knows' });
    const names = () =>
      rows(gateway, 'SELECT count(*) FROM names') + rows(gateway, 'SELECT count(*) FROM sessions');
    const before = names();
    for (let i = 0; i < 20; i++)
      await refuse(
        gateway,
        1,
        { ...PLAIN, model: `nobody/knows-${i}` },
        { headers: { 'x-claude-code-session-id': `s-${i}` } },
      );
    expect(names()).toBe(before);
    expect(await gateway.settled(121)).toHaveLength(101);
  });

  test('are counted in a new record after their own has been archived, or its transaction has failed', async () => {
    const { gateway, clock } = await penniless();
    await refuse(gateway, 110);
    const archive = createArchive(gateway.db);
    while (inTransaction(gateway.db, () => archive.takeOver(clock.now() + 2 * MINUTE)));
    await refuse(gateway, 10);
    const records = await gateway.settled(120);
    expect([records.length, requestsIn(records)]).toEqual([102, 120]);
  });

  test('are all counted for webhooks and on the dashboard', async () => {
    const { clock, gateway } = await penniless();
    gateway.db
      .prepare(
        `INSERT INTO webhook_endpoints (id, project_id, url, format, events, secret, created_at)
         VALUES (1, ?, 'https://x.test', 'json', ?, 's', 0)`,
      )
      .run(gateway.project.id, eventBits(['request.blocked']));
    const since = clock.now();
    await refuse(gateway, 250);
    await gateway.settled(250);
    const counted = 'SELECT event_count FROM blocked_summaries UNION ALL SELECT event_count FROM deliveries';
    expect(rows(gateway, `SELECT sum(event_count) FROM (${counted})`)).toBe(250);
    const [blocks] = createBlocksReader(gateway.db)(since).budgets;
    expect(blocks).toMatchObject({ budget: 'default/daily', count: 250 });
  });

  test('of paths that are passed through share one too', async () => {
    const { gateway } = await penniless();
    await refuse(gateway, 130, undefined, FREE_PATH);
    const records = await gateway.settled(130);
    expect(records).toHaveLength(101);
  });
});
