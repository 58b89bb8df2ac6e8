import { describe, expect, test } from 'vitest';
import { createClockWatch } from '../../src/daemon/clock-watch.ts';
import type { ClockJump } from '../../src/store/database/clock-jumps.ts';
import { lastClockJump } from '../../src/store/database/clock-jumps.ts';
import { startGateway } from '../support/gateway.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const HOUR = 3_600_000;

function watched(clockWas = 0) {
  const clock = createVirtualClock();
  const jumps: ClockJump[] = [];
  const check = createClockWatch({ clock, clockWas, onJump: (jump) => jumps.push(jump) });
  return { clock, jumps, check };
}

describe('createClockWatch()', () => {
  test('reports steps of over a minute, back and forth, once each', () => {
    const { clock, jumps, check } = watched();
    const start = clock.now();
    for (const step of [HOUR, -2 * HOUR, 59_000, -60_000, 61_000]) {
      clock.setWallTime(clock.now() + step);
      clock.advanceNow(5_000);
      check();
      check();
    }
    expect(jumps).toEqual([
      { at: start + HOUR + 5_000, ms: HOUR },
      { at: start - HOUR + 10_000, ms: -2 * HOUR },
      { at: start - HOUR + 85_000, ms: 61_000 },
    ]);
  });

  test('takes time that passes for no jump', () => {
    const { clock, jumps, check } = watched();
    clock.advanceNow(10 * HOUR);
    check();
    expect(jumps).toEqual([]);
  });

  test('notices that the clock was set back while no gw ran', () => {
    const { clock, jumps } = watched(Date.UTC(2030, 0, 1));
    expect(jumps).toEqual([{ at: clock.now(), ms: clock.now() - Date.UTC(2030, 0, 1) }]);
  });
});

test('a daemon puts a jump of the clock into the log and the database', async () => {
  const clock = createVirtualClock();
  const gateway = await startGateway({ clock });
  clock.setWallTime(clock.now() - HOUR);
  await clock.advance(5_000);
  expect(lastClockJump(gateway.db)).toEqual({ at: clock.now(), ms: -HOUR });
  expect(gateway.logged.map(({ msg }) => msg)).toContain('the clock jumped back');
});
