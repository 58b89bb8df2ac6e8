import { expect, test } from 'vitest';
import { formatRequestId } from '../../src/ids.ts';
import { PLAIN, startGateway, until } from '../support/gateway.ts';
import type { TestSettings } from '../support/home.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const WHOLE = '/v1/usage?from=2026-01-01&to=2026-12-31';

/** A daemon that answered three requests a hundred days ago and one now. */
async function afterHundredDays(settings: TestSettings = {}) {
  const clock = createVirtualClock();
  const gateway = await startGateway({ clock, settings });
  for (let i = 0; i < 3; i++) await gateway.post(PLAIN);
  clock.setWallTime(clock.now() + 100 * DAY);
  await gateway.post(PLAIN);
  const before = (await gateway.get(WHOLE)).json();
  return { clock, gateway, before };
}

test('records older than 90 days are deleted within a minute, and reports keep their totals', async () => {
  const { clock, gateway, before } = await afterHundredDays();
  const [oldest, , , newest] = (await gateway.records()).map(
    ({ id }) => `/v1/requests/${formatRequestId(id)}`,
  );
  expect(before).toMatchObject({ total: { requests: 4 } });
  await clock.advance(MINUTE + 1_000);
  await until(async () => (await gateway.records()).length === 1);
  expect((await gateway.get(WHOLE)).json()).toEqual(before);
  expect([await gateway.get(String(oldest)), await gateway.get(String(newest))]).toMatchObject([
    { status: 404 },
    { status: 200 },
  ]);
});

test('records are kept while retention.requests is forever, and a change applies without a request', async () => {
  const { clock, gateway, before } = await afterHundredDays({ 'retention.requests': 'forever' });
  await clock.advance(5 * MINUTE);
  expect(await gateway.records()).toHaveLength(4);
  gateway.configure({ 'retention.requests': '30d' });
  await until(async () => {
    await clock.advance(MINUTE);
    return (await gateway.records()).length === 1;
  });
  expect((await gateway.get(WHOLE)).json()).toEqual(before);
});

test('two daemons on one database prune it together', async () => {
  const clock = createVirtualClock();
  const database = `${tmpHome()}/shared.db`;
  const first = await startGateway({ clock, database });
  const second = await startGateway({ clock, database });
  for (let i = 0; i < 300; i++) await first.post(PLAIN);
  clock.setWallTime(clock.now() + 100 * DAY);
  await second.post(PLAIN);
  await second.committed();
  const before = (await first.get(WHOLE)).json();
  await until(async () => {
    await clock.advance(10_000);
    return (await first.records()).length === 1;
  });
  expect((await first.get(WHOLE)).json()).toEqual(before);
});

test('a database above retention.max_bytes drops refusals, and reports keep their totals', async () => {
  const clock = createVirtualClock();
  const gateway = await startGateway({ clock, settings: { 'retention.max_bytes': 1024 ** 2 } });
  await gateway.post(PLAIN);
  for (let i = 0; i < 3; i++) await gateway.post({ ...PLAIN, model: 'nobody/knows' });
  await gateway.post(PLAIN);
  await gateway.settled(5);
  await until(async () => {
    await clock.advance(2_000);
    return gateway.db.prepare('SELECT count(*) FROM requests').pluck().get() === 5;
  });
  const before = (await gateway.get(WHOLE)).json();
  await clock.advance(MINUTE + 1_000);
  expect(await gateway.records()).toHaveLength(5);
  gateway.db.prepare("UPDATE request_details SET detail = json_object('error', hex(zeroblob(500000)))").run();
  await until(async () => {
    await clock.advance(MINUTE);
    return (await gateway.records()).length === 2;
  });
  expect((await gateway.get(WHOLE)).json()).toEqual(before);
});
