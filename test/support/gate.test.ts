import { expect, test } from 'vitest';
import { createGate, every } from './gate.ts';
import { createVirtualClock } from './virtual-clock.ts';

test('a gate lets as many steps pass as it was opened for', async () => {
  const gate = createGate();
  let passed = 0;
  async function walk() {
    for (;;) {
      await gate.pass();
      passed++;
    }
  }
  void walk();
  await gate.reached();
  expect(passed).toBe(0);
  gate.open(3);
  await gate.reached();
  expect(passed).toBe(3);
});

test('a gate that is open for good stops nobody', async () => {
  const gate = createGate();
  gate.openForGood();
  let passed = 0;
  for (; passed < 100; passed++) await gate.pass();
  expect(passed).toBe(100);
});

test('every() takes a step at each interval of the clock', async () => {
  const clock = createVirtualClock();
  const pace = every(10, clock);
  const steps: number[] = [];
  void (async () => {
    for (let step = 0; step < 3; step++) {
      await pace();
      steps.push(clock.monotonic());
    }
  })();
  await clock.advance(100);
  expect(steps).toEqual([10, 20, 30]);
});
