import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { createAdmissionQueue } from '../../../src/gateway/state/admission-queue.ts';
import type { Admission, AdmissionResult } from '../../../src/store/ledger/admission.ts';
import type { Offer } from '../../../src/store/ledger/offer.ts';

test('nobody is admitted at a quote that could be lower by now', async () => {
  let price = 3;
  let hasRoom = false;
  const tried: number[] = [];
  const ledger = {
    async admit({ offer }: Admission) {
      tried.push(offer.amount);
      await turn();
      return { kind: hasRoom ? 'held' : 'wait' } as AdmissionResult;
    },
  };
  const queue = createAdmissionQueue(ledger, { ...systemClock, after: () => () => {} });
  const waiting = Array.from({ length: 100 }, () => {
    // Only the fields that the queue reads.
    let known = price;
    const offer = () => ({ amount: price }) as Offer;
    const admission = { projectId: 1, offer: offer(), isFinal: true } as Admission;
    admission.requote = () => {
      if (known === price) return undefined;
      known = price;
      return offer();
    };
    return queue.admit(admission, { maxWaitMs: 10_000, isConnected: () => true });
  });
  // Each was tried when it came, and the first ones again when they had to wait.
  while (tried.length < 164) await turn();
  await turn();
  price = 1;
  hasRoom = true;
  tried.length = 0;
  queue.wake(1);
  await Promise.all(waiting);
  expect(tried).toEqual(Array(100).fill(1));
});
