import { expect, test } from 'vitest';
import { BROKEN, history } from './history.ts';

const HISTORIES = process.env.GW_LONG ? 200_000 : 1_000;

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

test.each(BROKEN)('a protocol that %s is caught', { timeout: 60_000 }, (broken) => {
  let caught = 0;
  for (let seed = 1; seed <= 500 && caught <= 5; seed++) {
    if (history(seed, broken).violation) caught++;
  }
  expect(caught).toBeGreaterThan(5);
});
