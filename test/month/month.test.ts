import { expect, onTestFinished, test } from 'vitest';
import { diceOf } from '../fuzz/dice.ts';
import type { TestGateway } from '../support/gateway.ts';
import { openMonth, playMonth } from './play-month.ts';
import { problemsOf } from './problems.ts';
import { playStep } from './steps.ts';
import { DAY, type World } from './world.ts';

/** `1-12` or `7`: the seeds of whole months, which `npm run test:month` plays. */
const SEEDS = process.env.GW_MONTH_SEEDS ?? (process.env.GW_LONG ? '1-2' : '');
const [FIRST = 0, LAST = FIRST] = SEEDS.split('-').map(Number);
const MONTHS = SEEDS === '' ? [] : Array.from({ length: LAST - FIRST + 1 }, (_, i) => FIRST + i);

/** Undoes in reverse order, as parts stand on each other. */
function undos(): (undo: () => unknown) => void {
  const all: (() => unknown)[] = [];
  onTestFinished(async () => {
    for (const undo of all.reverse()) await undo();
  });
  return (undo) => void all.push(undo);
}

test('the first days of a month break no promise', async () => {
  const { problems, billed } = await playMonth(3, { whenDone: undos(), maxSteps: 8 });
  expect(problems).toEqual([]);
  expect(billed).toBeGreaterThan(5);
});

test.each(MONTHS)('month %i breaks no promise', { timeout: 3_600_000 }, async (seed) => {
  const startedMs = performance.now();
  const played = await playMonth(seed, { whenDone: undos(), smallDisk: true });
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  console.log(JSON.stringify({ seed, seconds, ...played }));
  expect(played.problems).toEqual([]);
  expect(played.billed).toBeGreaterThan(300);
});

/** Each breaks a promise, in the product's books or in what the world has seen, and is undone by the test. */
const BROKEN: [string, RegExp, (world: World, sql: (text: string) => void) => void][] = [
  [
    'a cost that is not booked',
    /billed \d+, booked 0/,
    ({ records }) => {
      for (const record of records.values()) record.costNanoUsd = 0;
    },
  ],
  [
    'a hold below the bill',
    /billed \d+, held 1/,
    ({ records }) => {
      for (const record of records.values()) record.holdNanoUsd = 1;
    },
  ],
  [
    'a cost beside the bill',
    /booked \d+ as exact/,
    ({ records }) => {
      for (const record of records.values()) record.costNanoUsd += 1_000;
    },
  ],
  [
    'a request without a record',
    /billed \d+, and no record/,
    ({ cases }) => {
      for (const each of cases.values()) each.id = 'req_none';
    },
  ],
  [
    'a client that hung up and was not booked',
    /clients that hung up were billed/,
    ({ cases }) => {
      for (const each of cases.values()) each.id = undefined;
    },
  ],
  [
    'a daily cap that was passed',
    /default daily : \d+ of 1 in/,
    ({ caps }) => {
      for (const cap of caps) if (cap.period === 'daily') cap.capNanoUsd = 1;
    },
  ],
  [
    'a window that was passed',
    /default rolling : \d+ of 1 in the window/,
    ({ caps }) => {
      for (const cap of caps) if (cap.period === 'rolling') cap.capNanoUsd = 1;
    },
  ],
  [
    'a hold that stays',
    /nothing is pending/,
    (_, sql) => sql('UPDATE budget_periods SET pending_nano_usd = 1'),
  ],
  [
    'an alert that comes twice',
    /an alert is once/,
    (_, sql) => {
      const row = '\'budget.threshold_reached\', 1, 1, \'{"budget_id":"default/daily","alert_percent":80}\'';
      for (const id of ['evt_1', 'evt_2'])
        sql(`INSERT INTO events (id, type, project_id, created_at, data) VALUES ('${id}', ${row})`);
    },
  ],
  [
    'a delivery that comes twice',
    /events came twice/,
    ({ receiver }) => {
      const one = { at: 0, path: '/hook', headers: { 'webhook-id': 'evt_1' }, body: Buffer.alloc(0) };
      receiver.received.push(one, one);
    },
  ],
  [
    'a record that is too old',
    /a record is 2\d\.\d days old/,
    ({ clock }) => clock.setWallTime(clock.now() + 20 * DAY),
  ],
  [
    'timers that are never cancelled',
    /timers: \d+ of/,
    ({ clock }) => {
      for (let i = 0; i < 200; i++) clock.after(1e9, () => {});
    },
  ],
];

test('the month notices each promise that is broken', async () => {
  const world = await openMonth(1, { whenDone: undos() });
  for (const step of [0, 1, 2]) await playStep(world, diceOf(1, step));
  const problems = await problemsOf(world);
  const [{ db }] = world.gateways as [TestGateway];
  const now = world.clock.now();
  const whole = structuredClone({ records: world.records, cases: world.cases, caps: world.caps });
  const noticed: Record<string, boolean> = {};
  for (const [name, expected, breakIt] of BROKEN) {
    db.exec('BEGIN');
    breakIt(world, (text) => void db.exec(text));
    noticed[name] = expected.test((await problemsOf(world)).join('\n'));
    db.exec('ROLLBACK');
    Object.assign(world, structuredClone(whole));
    world.receiver.received.length = 0;
    world.clock.setWallTime(now);
  }
  expect(problems).toEqual([]);
  expect(noticed).toEqual(Object.fromEntries(BROKEN.map(([name]) => [name, true])));
});
