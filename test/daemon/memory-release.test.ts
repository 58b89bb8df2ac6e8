import { getHeapStatistics } from 'node:v8';
import { describe, expect, test } from 'vitest';
import { createMemoryRelease } from '../../src/daemon/jobs.ts';

const MB = 1024 ** 2;

function watched() {
  const state = { heap: 20 * MB, busy: 0, collections: 0 };
  const check = createMemoryRelease({
    heapBytes: () => state.heap,
    busyShare: () => state.busy,
    collect() {
      state.collections++;
      state.heap = 25 * MB;
    },
  });
  /** The collections after a check at this size and load. */
  const at = (heapMb: number, busy: number) => {
    Object.assign(state, { heap: heapMb * MB, busy });
    check();
    return state.collections;
  };
  return { at };
}

describe('the release of memory', () => {
  test('waits until no requests come, and is made once', () => {
    const { at } = watched();
    expect(at(80, 0.9)).toBe(0);
    expect(at(80, 0.05)).toBe(0);
    expect(at(80, 0.001)).toBe(1);
    expect(at(25, 0.001)).toBe(1);
    expect(at(40, 0.001)).toBe(1);
    expect(at(42, 0.001)).toBe(2);
  });

  test('is not made for little', () => {
    const { at } = watched();
    expect(at(35, 0)).toBe(0);
    expect(at(36, 0)).toBe(1);
  });

  test('shrinks the heap', () => {
    const size = () => getHeapStatistics().total_heap_size;
    const before = size();
    const check = createMemoryRelease({ busyShare: () => 0 });
    const full = (() => {
      const garbage = [];
      while (size() < before + 40 * MB) garbage.push(Array.from({ length: 10_000 }, (_, i) => ({ i })));
      return size();
    })();
    check();
    expect(full - size()).toBeGreaterThan(20 * MB);
  });
});
