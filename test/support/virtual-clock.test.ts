import { expect, test } from 'vitest';
import { createVirtualClock } from './virtual-clock.ts';

test('advance() runs the timers that fall due, in order of time and then of setting', async () => {
  const clock = createVirtualClock();
  const ran: string[] = [];
  clock.after(20, () => ran.push(`b at ${clock.monotonic()}`));
  clock.after(10, () => ran.push(`a at ${clock.monotonic()}`));
  clock.after(20, () => ran.push(`c at ${clock.monotonic()}`));
  clock.after(31, () => ran.push('too late'));
  await clock.advance(30);
  expect(ran).toEqual(['a at 10', 'b at 20', 'c at 20']);
  expect([clock.monotonic(), clock.timers]).toEqual([30, 1]);
});

test('advance() lets what a timer woke set the next timer', async () => {
  const clock = createVirtualClock();
  const wokenAt: number[] = [];
  async function everyTen() {
    for (;;) {
      await new Promise<void>((resolve) => void clock.after(10, resolve));
      wokenAt.push(clock.monotonic());
    }
  }
  void everyTen();
  await clock.advance(35);
  expect(wokenAt).toEqual([10, 20, 30]);
});

test('a cancelled timer does not run', async () => {
  const clock = createVirtualClock();
  const cancel = clock.after(1, () => expect.unreachable());
  cancel();
  await clock.advance(10);
  expect(clock.timers).toBe(0);
});

test('setWallTime() moves now() and nothing else', async () => {
  const clock = createVirtualClock(1_000);
  await clock.advance(5);
  clock.setWallTime(200);
  expect([clock.now(), clock.monotonic()]).toEqual([200, 5]);
  await clock.advance(5);
  expect([clock.now(), clock.monotonic()]).toEqual([205, 10]);
});

test('timerSet() waits for a timer', async () => {
  const clock = createVirtualClock();
  const set = clock.timerSet();
  clock.after(5, () => {});
  await set;
  await clock.timerSet();
  await clock.advance(5);
  expect(clock.timers).toBe(0);
});
