import { describe, expect, test } from 'vitest';
import { createStickiness } from '../../src/routing/stickiness.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { target } from './simulation.ts';

describe('stickiness', () => {
  test('lasts ten minutes after the last turn', () => {
    const clock = createVirtualClock();
    const pins = createStickiness(clock);
    const pin = { target: target('a') };
    pins.set('c', pin);
    clock.advanceNow(599_999);
    expect(pins.get('c')).toBe(pin);
    pins.set('c', pin);
    clock.advanceNow(599_999);
    expect(pins.get('c')).toBe(pin);
    clock.advanceNow(1);
    expect(pins.get('c')).toBeUndefined();
  });

  test('keeps at most 10,000 conversations, and the latest of them', () => {
    const pins = createStickiness(createVirtualClock());
    for (let i = 0; i < 10_001; i++) pins.set(`c${i}`, { target: target('a') });
    expect(pins.get('c0')).toBeUndefined();
    expect(pins.get('c1')).toBeDefined();
    expect(pins.get('c10000')).toBeDefined();
  });
});

describe('stickiness of an earlier run', () => {
  test('goes on with the time that was left', () => {
    const clock = createVirtualClock();
    const before = createStickiness(clock);
    for (const name of ['old', 'b', 'c']) {
      clock.advanceNow(1_000);
      before.set(name, { target: target(name), tier: 'weak' });
    }
    const savedPins = before.latest(2);
    expect(savedPins.map(({ conversation, idleMs }) => [conversation, idleMs])).toEqual([
      ['b', 1_000],
      ['c', 0],
    ]);
    const pins = createStickiness(clock, { savedPins });
    expect(pins.get('old')).toBeUndefined();
    expect(pins.get('b')).toEqual({ target: target('b'), tier: 'weak' });
    clock.advanceNow(599_000);
    expect([pins.get('b'), pins.get('c')?.target.provider]).toEqual([undefined, 'c']);
  });

  test('that was idle for too long is not taken up', () => {
    const savedPins = [{ conversation: 'c', pin: { target: target('a') }, idleMs: 600_000 }];
    expect(createStickiness(createVirtualClock(), { savedPins }).latest(9)).toEqual([]);
  });
});
