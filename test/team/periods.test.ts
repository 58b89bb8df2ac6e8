import { expect, test } from 'vitest';
import { createDemand } from '../../src/team/policy.ts';
import { composeMessage } from '../../src/team/sync-books.ts';
import { createTeamClock } from '../../src/team/team-clock.ts';

const DAY_MS = 86_400_000;

/** The rows of a gateway whose last request held 50, `beforeEndMs` before the day of its budget ends. */
function rowsAt(beforeEndMs: number, { isBusy = true } = {}) {
  const demand = createDemand();
  demand.asked(50, 0);
  const teamNow = DAY_MS - beforeEndMs;
  const start = beforeEndMs > 0 ? 0 : DAY_MS;
  return composeMessage({
    accounts: [{ budgetId: 1, start: 0, limit: 300, posted: 60, pending: isBusy ? 20 : 0 }],
    budgets: [{ id: 1, start, ends: start + DAY_MS, demand, need: 0 }],
    standings: new Map(),
    teamNow,
    nowMs: isBusy ? 1_000 : 60_000,
  });
}

test('a busy gateway asks for its first slice of the next period within its last minute', () => {
  expect(rowsAt(60_000).map(({ p }) => p)).toEqual([0]);
  const [running, next] = rowsAt(50_000);
  expect(running).toMatchObject({ p: 0, d: 300 });
  expect(next).toMatchObject({ p: DAY_MS, d: 0, s: 0, n: 0 });
  expect(next?.w).toBeGreaterThan(150);
});

test('an idle gateway asks for nothing in the next period', () => {
  expect(rowsAt(50_000, { isBusy: false })).toEqual([
    { b: 1, p: 0, d: 60, s: 60, n: 0, w: 0 },
    { b: 1, p: DAY_MS, d: 0, s: 0, n: 0, w: 0 },
  ]);
});

test('a period that has ended returns what no request holds, and what its requests cost later still counts there', () => {
  expect(rowsAt(-1)).toEqual([
    { b: 1, p: 0, d: 80, s: 60, n: 0, w: 0 },
    expect.objectContaining({ b: 1, p: DAY_MS, d: 0, s: 0 }),
  ]);
});

test("the team's time goes on when this machine sleeps, and never back when its clock is set back", () => {
  const machine = { wall: 1_000_000, monotonic: 500 };
  const clock = createTeamClock({ now: () => machine.wall, monotonic: () => machine.monotonic });
  clock.set(2_000_000);
  expect([clock.now(), clock.offsetMs()]).toEqual([2_000_000, 1_000_000]);
  // It sleeps: the monotonic clock of some systems stands.
  machine.wall += 60_000;
  expect(clock.now()).toBe(2_060_000);
  machine.wall -= 3_600_000;
  expect(clock.now()).toBe(2_060_000);
  machine.monotonic += 61_000;
  expect(clock.now()).toBe(2_061_000);
  // It was set years ahead: the next answer puts that right.
  machine.wall += 10 * 365 * DAY_MS;
  clock.now();
  clock.set(2_070_000);
  expect(clock.now()).toBe(2_070_000);
});
