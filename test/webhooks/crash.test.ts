import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { ensureBuilt } from './support/built.ts';
import { createReceiver, type Receiver } from './support/receiver.ts';
import { createWorld, temporaryDirectory } from './support/world.ts';

const PROCESS = join(dirname(fileURLToPath(import.meta.url)), 'support', 'dispatcher-process.mjs');
const EVENTS = 16;
const PATHS = ['/a', '/b'];
/** A lease of 20 s lapses in one real second; where daemons meet, they have more time. */
const FAST = 20;
const CAREFUL = 3;

const cleanups: (() => Promise<void> | void)[] = [];
beforeAll(ensureBuilt, 120_000);
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

interface Outbox {
  receiver: Receiver;
  /** Runs a process on the outbox; resolves with how it ended: its exit code or its signal. */
  run(killAt: number, speed?: number): Promise<number | string | null>;
  /** The events that each path received, by their number, and the states of all deliveries. */
  outcome(): Promise<{ numbers: number[][]; idsOfEach: Set<number>; states: string[] }>;
}

/** A database with events that wait for two endpoints, of which one fails now and then. */
async function prepare(): Promise<Outbox> {
  const directory = temporaryDirectory();
  const path = join(directory, 'gw.db');
  let count = 0;
  const receiver = await createReceiver(systemClock, (response) => {
    response.statusCode = ++count % 7 === 0 ? 503 : 200;
    setTimeout(() => response.end(), 5);
  });
  const world = await createWorld({ path });
  for (const hook of PATHS) await world.addEndpoint(receiver.url + hook);
  world.emit((emit) => {
    for (let n = 0; n < EVENTS; n++) emit('budget.exceeded', world.project.id, { n });
  });
  cleanups.push(async () => {
    await world.close();
    await receiver.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const epoch = Date.now();
  return {
    receiver,
    run: (killAt, speed = FAST) =>
      new Promise((resolve, reject) => {
        const child = spawn(process.execPath, [PROCESS, path, String(epoch), String(speed), String(killAt)], {
          stdio: 'inherit',
        });
        cleanups.unshift(() => void child.kill('SIGKILL'));
        child.on('error', reject);
        child.on('exit', (code, signal) => resolve(signal ?? code));
      }),
    async outcome() {
      const bodies = receiver.received.map(({ path, body }) => {
        const { id, data } = JSON.parse(body.toString()) as { id: string; data: { n: number } };
        return { path, id, n: data.n };
      });
      const idsOf = (n: number) => new Set(bodies.filter((body) => body.n === n).map(({ id }) => id));
      return {
        numbers: PATHS.map((hook) => bodies.filter(({ path }) => path === hook).map(({ n }) => n)),
        idsOfEach: new Set(Array.from({ length: EVENTS }, (_, n) => idsOf(n).size)),
        states: (await world.deliveries()).map(({ state }) => state),
      };
    },
  };
}

async function expectAllInOrder(outbox: Outbox): Promise<void> {
  const { numbers, idsOfEach, states } = await outbox.outcome();
  for (const received of numbers) {
    expect(received).toEqual([...received].sort((a, b) => a - b));
    expect(new Set(received).size).toBe(EVENTS);
  }
  expect(idsOfEach).toEqual(new Set([1]));
  expect(states).toEqual(states.map(() => 'delivered'));
}

describe('a daemon that is killed without a word', () => {
  it('loses no event and changes no order, however often it dies', async () => {
    const outbox = await prepare();
    const ends: unknown[] = [];
    for (const killAt of [1, 2, 3, 7, 12, 0]) ends.push(await outbox.run(killAt));
    expect(ends).toEqual([...Array.from({ length: 5 }, () => 'SIGKILL'), 0]);
    await expectAllInOrder(outbox);
  }, 60_000);

  it.runIf(process.env.GW_LONG === '1')(
    'loses no event and changes no order at any of 100 points',
    async () => {
      for (let killAt = 1; killAt <= 100; killAt++) {
        const outbox = await prepare();
        expect([killAt, await outbox.run(killAt), await outbox.run(0)]).toEqual([killAt, 'SIGKILL', 0]);
        await expectAllInOrder(outbox);
        for (const cleanup of cleanups.splice(0)) await cleanup();
      }
    },
    1_800_000,
  );
});

describe('several daemons on one database', () => {
  // On a busy machine a lease may lapse while its attempt runs, which is then made again: at least once, under one id,
  // and a first time in order.
  it('deliver each event at least once, in order and under one id', async () => {
    const outbox = await prepare();
    expect(await Promise.all([1, 2, 3].map(() => outbox.run(0, CAREFUL)))).toEqual([0, 0, 0]);
    const { numbers, idsOfEach, states } = await outbox.outcome();
    const inOrder = Array.from({ length: EVENTS }, (_, n) => n);
    for (const received of numbers) expect([...new Set(received)]).toEqual(inOrder);
    expect(idsOfEach).toEqual(new Set([1]));
    expect(states).toEqual(states.map(() => 'delivered'));
  }, 60_000);
});
