import { expect, test } from 'vitest';
import { messageRows } from '../../src/team/accounts.ts';
import { createDemand } from '../../src/team/policy.ts';
import { BROKEN, history } from './history.ts';

const HISTORIES = process.env.GW_LONG ? 200_000 : 400;

test(`${HISTORIES} histories of crashes, lost messages and failovers pass no cap`, {
  timeout: 3_600_000,
}, () => {
  let requests = 0;
  for (let seed = 1; seed <= HISTORIES; seed++) {
    const told = history(seed);
    expect([seed, told.violation]).toEqual([seed, undefined]);
    requests += told.requests;
  }
  expect(requests).toBeGreaterThan(HISTORIES * 20);
});

test('a gateway that leaves returns its money, whatever requests still ask for', () => {
  const demand = createDemand();
  demand.asked(40, 0);
  const rows = messageRows({
    accounts: [{ budgetId: 1, start: 0, limit: 100, posted: 30, pending: 0 }],
    running: new Map([[1, 0]]),
    standings: new Map(),
    demand,
    need: 80,
    nowMs: 0,
    isLeaving: true,
  });
  expect(rows).toEqual([{ b: 1, p: 0, d: 30, s: 30, n: 0, w: 0 }]);
});

test.each(BROKEN)('a protocol that %s is caught', { timeout: 60_000 }, (broken) => {
  let caught = 0;
  for (let seed = 1; seed <= 500 && caught <= 5; seed++) {
    if (history(seed, broken).violation) caught++;
  }
  expect(caught).toBeGreaterThan(5);
});
