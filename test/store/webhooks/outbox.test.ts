import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Attempt, Claim } from '../../../src/store/webhooks/outbox.ts';
import { START } from '../../webhooks/support/virtual-clock.ts';
import { createWorld, temporaryDirectory, type World } from '../../webhooks/support/world.ts';

let world: World;
beforeEach(async () => {
  world = await createWorld();
});
afterEach(() => world.close());

const LEASE = { leaseMs: 20_000 };
const ATTEMPT: Attempt = { at: START, durationMs: 5, status: 500, error: 'HTTP 500', response: 'oops' };

function emit(times = 1): void {
  world.emit((emitOne) => {
    for (let i = 0; i < times; i++) emitOne('budget.exceeded', world.project.id, { n: i });
  });
}

async function claimOne(now: number): Promise<Claim> {
  const [claim, ...more] = await world.outbox.claim({ now, ...LEASE });
  if (!claim || more.length > 0) throw new Error(`claimed ${more.length + (claim ? 1 : 0)}`);
  return claim;
}

describe('claim()', () => {
  it('hands out the head of each endpoint’s queue, once', async () => {
    await world.addEndpoint('http://a.example');
    await world.addEndpoint('http://b.example');
    emit(3);
    const claims = await world.outbox.claim({ now: START, ...LEASE });
    expect(claims.map(({ id, endpointId, data }) => [id, endpointId, data])).toEqual([
      [1, 1, '{"n":0}'],
      [2, 2, '{"n":0}'],
    ]);
    expect(await world.outbox.claim({ now: START, ...LEASE })).toEqual([]);
    expect(await world.outbox.nextDueAt()).toBe(START + 20_000);
  });

  it('hands out the next when the one before has ended, and not while it waits for its retry', async () => {
    await world.addEndpoint('http://a.example');
    emit(2);
    const first = await claimOne(START);
    await world.outbox.retryAt(first, ATTEMPT, START + 1_000);
    expect(await world.outbox.claim({ now: START + 999, ...LEASE })).toEqual([]);
    const again = await claimOne(START + 1_000);
    expect(again).toMatchObject({ id: first.id, attempts: 1, eventId: first.eventId });
    await world.outbox.delivered(again, ATTEMPT, START + 1_000);
    expect((await claimOne(START + 1_000)).data).toBe('{"n":1}');
  });

  it('takes up a lapsed claim without counting it, and the late outcome changes nothing', async () => {
    const endpoint = await world.addEndpoint('http://a.example');
    emit();
    const lost = await claimOne(START);
    const taken = await claimOne(START + 20_000);
    expect(taken).toMatchObject({ id: lost.id, claims: 2, attempts: 0 });
    expect(await world.outbox.delivered(lost, ATTEMPT, START)).toBe(false);
    expect(await world.outbox.retryAt(lost, ATTEMPT, START)).toBe(false);
    expect(await world.outbox.release(lost, START)).toBe(false);
    expect(await world.outbox.failed(lost, ATTEMPT, START)).toEqual({ changed: false, disabled: null });
    expect(await world.endpoints.get(endpoint)).toMatchObject({ consecutiveFailures: 0 });
    expect(await world.outbox.delivered(taken, ATTEMPT, START)).toBe(true);
    expect(await world.outbox.delivered(taken, ATTEMPT, START)).toBe(false);
  });

  it('shares the work of several daemons so that none makes an attempt twice', async () => {
    const directory = temporaryDirectory();
    const path = join(directory, 'gw.db');
    const daemons = [await createWorld({ path })];
    const [first] = daemons;
    if (!first) throw new Error('no daemon');
    const { clock, project } = first;
    for (let i = 1; i < 4; i++) daemons.push(await createWorld({ path, clock, project }));
    for (let i = 0; i < 5; i++) await first.addEndpoint(`http://e${i}.example`);
    first.emit((emitOne) => {
      for (let i = 0; i < 40; i++) emitOne('budget.exceeded', first.project.id, { n: i });
    });
    const made: string[] = [];
    await Promise.all(
      daemons.map(async ({ outbox }) => {
        for (let idle = 0; idle < 50; ) {
          const claims = await outbox.claim({ now: START, ...LEASE });
          idle = claims.length === 0 ? idle + 1 : 0;
          for (const claim of claims) {
            made.push(`${claim.endpointId}: ${claim.data}`);
            await new Promise(setImmediate);
            expect(await outbox.delivered(claim, ATTEMPT, START)).toBe(true);
          }
          await new Promise(setImmediate);
        }
      }),
    );
    expect(made).toHaveLength(200);
    expect(new Set(made).size).toBe(200);
    for (const daemon of daemons) await daemon.close();
    rmSync(directory, { recursive: true });
  });
});
