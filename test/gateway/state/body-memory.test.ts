import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type BodyMemory, type BodyShare, createBodyMemory } from '../../../src/gateway/state/body-memory.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const MAX = 100;
const WAIT_MS = 1_000;

function memory(limit = MAX) {
  const clock = createVirtualClock();
  return { clock, memory: createBodyMemory(() => 5 * limit, clock) };
}

/** Fills the memory, and lets one body pass its limit. */
function filled() {
  const parts = memory();
  const [whole, beyond] = [parts.memory.open(), parts.memory.open()];
  expect([whole.take(MAX), beyond.take(1), parts.memory.open().take(1)]).toEqual([true, true, false]);
  return { ...parts, whole, beyond };
}

describe('the memory for bodies', () => {
  test('serves those who wait in their order, large ones as well', async () => {
    const { memory, whole, beyond } = filled();
    const served: number[] = [];
    const sizes = [80, 10, 30];
    const shares = sizes.map(() => memory.open());
    const waits = shares.map((share, i) =>
      share.takeInTurn(sizes[i] ?? 0, WAIT_MS).then((taken) => taken && served.push(i)),
    );
    beyond.release();
    // The first passes the limit in the place of the one that has gone.
    await waits[0];
    expect(served).toEqual([0]);
    whole.release();
    await waits[1];
    shares[0]?.release();
    await waits[2];
    expect(served).toEqual([0, 1, 2]);
  });

  test('refuses one that has waited too long, and forgets one whose client left', async () => {
    const { clock, memory, whole } = filled();
    const [late, gone] = [memory.open(), memory.open()];
    const [first, second] = [late.takeInTurn(10, WAIT_MS), gone.takeInTurn(10, WAIT_MS)];
    gone.release();
    expect(await second).toBe(false);
    await clock.advance(WAIT_MS);
    expect(await first).toBe(false);
    whole.release();
    expect(memory.open().take(MAX - 1)).toBe(true);
  });

  test('counts a body that is kept after its request, and gives it back', () => {
    const { memory: bodies } = memory();
    const release = bodies.keep(MAX);
    expect([bodies.open().take(1), bodies.open().take(1)]).toEqual([true, false]);
    release();
    expect(bodies.open().take(MAX - 1)).toBe(true);
  });
});

/** Bodies that grow piece by piece and then run for a while; returns the most that they took, and how many ended. */
async function play(bodies: { pieces: number[]; runs: number }[], create: (clock: Clock) => BodyMemory) {
  const clock = createVirtualClock();
  const memory = create(clock);
  let used = 0;
  let most = 0;
  let ended = 0;
  const one = async ({ pieces, runs }: { pieces: number[]; runs: number }) => {
    const share: BodyShare = memory.open();
    let held = 0;
    for (const bytes of pieces) {
      if (!(await share.takeInTurn(bytes, 1e9))) return;
      held += bytes;
      used += bytes;
      most = Math.max(most, used);
    }
    await new Promise<void>((resolve) => void clock.after(runs, resolve));
    used -= held;
    share.release();
    ended++;
  };
  const all = bodies.map(one);
  for (let i = 0; i < 200 && ended < bodies.length; i++) await clock.advance(10);
  void all;
  return { most, ended };
}

type Clock = ReturnType<typeof createVirtualClock>;
const LARGEST = 60;
const bodies = fc.array(
  fc.record({
    pieces: fc.array(fc.integer({ min: 1, max: 15 }), { minLength: 1, maxLength: LARGEST / 15 }),
    runs: fc.integer({ min: 0, max: 20 }),
  }),
  { maxLength: 25 },
);
const holds = (create: (clock: Clock) => BodyMemory) =>
  fc.check(
    fc.asyncProperty(bodies, async (all) => {
      const { most, ended } = await play(all, create);
      expect(most).toBeLessThanOrEqual(MAX + LARGEST);
      expect(ended).toBe(all.length);
    }),
    { numRuns: 60, seed: 7 },
  );

describe('bodies that grow at once', () => {
  test('never take more than the limit and one body, and all end', async () => {
    expect((await holds((clock) => createBodyMemory(() => 5 * MAX, clock))).failed).toBe(false);
  });

  test.each<[string, (clock: Clock) => BodyMemory]>([
    ['lets everybody pass', (clock) => createBodyMemory(() => Number.POSITIVE_INFINITY, clock)],
    [
      'lets nobody pass the limit, so that half-read bodies wait for one another',
      (clock) => {
        const memory = createBodyMemory(() => 5 * MAX, clock);
        // The one that may is taken.
        memory.keep(MAX);
        memory.open().take(1);
        return { ...memory, open: () => Object.assign(memory.open(), { release() {} }) };
      },
    ],
  ])('which a memory that %s does not hold', async (_what, create) => {
    expect((await holds(create)).failed).toBe(true);
  });
});
