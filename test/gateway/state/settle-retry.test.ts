import { describe, expect, it } from 'vitest';
import { createSettleRetry } from '../../../src/gateway/state/settle-retry.ts';
import { storageUnavailable } from '../../../src/store/database/write.ts';
import type { RequestRecord } from '../../../src/store/ledger/record.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const record = { id: 1, costNanoUsd: 5 } as RequestRecord;

describe('createSettleRetry()', () => {
  it('tries again what could not be settled for want of storage, until it is', async () => {
    const clock = createVirtualClock();
    const settled: RequestRecord[] = [];
    let full = true;
    const settler = createSettleRetry(
      {
        settleLate: () => undefined,
        async settle(each) {
          if (full) throw storageUnavailable(new Error('database or disk is full'));
          settled.push(each);
          return { kind: 'settled', remaining: null };
        },
      },
      clock,
      () => {},
    );
    expect(await settler.settle(record)).toEqual({ kind: 'unsettled' });
    await clock.advance(1_000);
    expect(settled).toEqual([]);
    full = false;
    await clock.advance(1_000);
    expect(settled).toEqual([record]);
    await clock.advance(10_000);
    expect(settled).toHaveLength(1);
    expect(await settler.retry()).toBe(0);
  });

  it('does not wait where the ledger settles late, and tries again what that could not write', async () => {
    const clock = createVirtualClock();
    const settled: RequestRecord[] = [];
    const settler = createSettleRetry(
      {
        settleLate: () => ({
          remaining: 7,
          committed: Promise.reject(storageUnavailable(new Error('database or disk is full'))),
        }),
        async settle(each) {
          settled.push(each);
          return { kind: 'settled', remaining: null };
        },
      },
      clock,
      () => {},
    );
    expect(await settler.settle(record)).toEqual({ kind: 'settled', remaining: 7 });
    await clock.advance(1_000);
    expect(settled).toEqual([record]);
  });

  it('does not repeat what failed for another reason', async () => {
    const clock = createVirtualClock();
    let tries = 0;
    const settler = createSettleRetry(
      {
        settleLate: () => undefined,
        async settle() {
          tries++;
          throw new Error('a defect');
        },
      },
      clock,
      () => {},
    );
    await expect(settler.settle(record)).rejects.toThrow('a defect');
    await clock.advance(5_000);
    expect(tries).toBe(1);
  });
});
