import { describe, expect, test } from 'vitest';
import { createClockWatch, startMaintenance } from '../../src/daemon/jobs.ts';
import { type ClockJump, lastClockJump } from '../../src/store/database/set-back.ts';
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

const MINUTE = 60_000;

/** A step with this much work, which records the times of its calls. */
function work(clock: { monotonic(): number }, left: number) {
  const calls: number[] = [];
  const step = async () => {
    calls.push(clock.monotonic());
    return left-- > 0;
  };
  return { calls, step };
}

const never = (error: unknown) => {
  throw error;
};

describe('startMaintenance()', () => {
  test('runs the steps in order with pauses, once a minute', async () => {
    const clock = createVirtualClock();
    const [sums, records] = [work(clock, 2), work(clock, 0)];
    const stop = startMaintenance({ clock, steps: [sums.step, records.step], onError: never });
    await clock.advance(MINUTE + 500);
    expect(sums.calls).toEqual([MINUTE, MINUTE + 50, MINUTE + 100]);
    expect(records.calls).toEqual([MINUTE + 100]);
    await clock.advance(MINUTE);
    expect(records.calls).toEqual([MINUTE + 100, 2 * MINUTE + 100]);
    await stop();
  });

  test('reports a step that fails, and tries again a minute later', async () => {
    const clock = createVirtualClock();
    const errors: unknown[] = [];
    let calls = 0;
    const step = async () => {
      if (++calls === 1) throw new Error('the disk is full');
      return false;
    };
    const stop = startMaintenance({ clock, steps: [step], onError: (error) => errors.push(error) });
    await clock.advance(2 * MINUTE + 500);
    expect(errors).toEqual([new Error('the disk is full')]);
    expect(calls).toBe(2);
    await stop();
  });

  test('stops after the running step', async () => {
    const clock = createVirtualClock();
    const endless = work(clock, Number.POSITIVE_INFINITY);
    const stop = startMaintenance({ clock, steps: [endless.step], onError: never });
    await clock.advance(MINUTE + 120);
    await stop();
    await clock.advance(10 * MINUTE);
    expect(endless.calls).toHaveLength(3);
    expect(clock.timers).toBe(0);
  });

  test('stops before the first step', async () => {
    const clock = createVirtualClock();
    const { calls, step } = work(clock, 1);
    await startMaintenance({ clock, steps: [step], onError: never })();
    await clock.advance(2 * MINUTE);
    expect(calls).toEqual([]);
  });
});
