import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCalendar } from '../../../src/calendar.ts';
import type { Random } from '../../../src/ids.ts';
import { systemRandom } from '../../../src/ids.ts';
import { createProject, type Project } from '../../../src/store/accounts/projects.ts';
import { type Db, openDatabase } from '../../../src/store/database/open.ts';
import { inTransaction } from '../../../src/store/database/write.ts';
import { createEvents, type EmitEvent } from '../../../src/store/ledger/events.ts';
import { type Delivery, listDeliveries } from '../../../src/store/webhooks/delivery-log.ts';
import { createEndpoints, type Endpoints, type NewEndpoint } from '../../../src/store/webhooks/endpoints.ts';
import { createOutbox, type Outbox } from '../../../src/store/webhooks/outbox.ts';
import type { AddressPolicy } from '../../../src/webhooks/address-check.ts';
import { createDispatcher, type Dispatcher } from '../../../src/webhooks/dispatcher.ts';
import { createSend, type Send } from '../../../src/webhooks/send.ts';
import { newWebhookSecret } from '../../../src/webhooks/sign.ts';
import { DIRECT } from '../../support/network.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

export const LOCAL: AddressPolicy = { allowLocal: true, ownPort: 4747 };
export const UTC = createCalendar('UTC');
/** No jitter: the schedule is exact. */
export const zeroRandom: Random = (bytes) => Buffer.alloc(bytes);

/** A database with a project, and the parts of delivery around it on a virtual clock. */
export interface World {
  db: Db;
  clock: VirtualClock;
  project: Project;
  endpoints: Endpoints;
  outbox: Outbox;
  send: Send;
  dispatcher: Dispatcher;
  warnings: string[];
  /** Writes events in one transaction. */
  emit(write: (emit: EmitEvent) => void): void;
  addEndpoint(url: string, changes?: Partial<NewEndpoint>): Promise<number>;
  /** All deliveries, oldest first. */
  deliveries(): Promise<Delivery[]>;
  /** Resolves once nothing moves without the clock but what `hanging` says is stuck at the receiver. */
  quiet(hanging?: () => number): Promise<void>;
  /** Lets time pass, timer by timer. */
  pass(ms: number, hanging?: () => number): Promise<void>;
  /** Lets time pass until every delivery has ended. */
  drain(hanging?: () => number): Promise<void>;
  close(): Promise<void>;
}

export function temporaryDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'gw-webhooks-'));
}

export interface WorldOptions {
  /** A database that outlives the world; default: one of its own. */
  path?: string;
  /** Its project, if there is one. */
  project?: Project;
  clock?: VirtualClock;
  random?: Random;
  policy?: AddressPolicy;
}

export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const { clock = createVirtualClock(), random = zeroRandom, policy = LOCAL } = options;
  const directory = options.path === undefined ? temporaryDirectory() : undefined;
  const db = await openDatabase(options.path ?? join(directory ?? '', 'gw.db'));
  const write = async <T>(command: () => T) => inTransaction(db, command);
  const project = options.project ?? (await createProject(db, { name: 'web', now: clock.now() }));
  const emitOne = createEvents(db, () => clock.now(), systemRandom);
  const endpoints = createEndpoints(db, write);
  const outbox = createOutbox(db, write);
  const warnings: string[] = [];
  let sending = 0;
  const send = createSend({ network: () => DIRECT, policy: () => policy, clock });
  const counted: Send = async (post) => {
    sending++;
    return send(post).finally(() => sending--);
  };
  const dispatcher = createDispatcher({
    outbox,
    send: counted,
    clock,
    random,
    calendar: () => UTC,
    warn: (message) => warnings.push(message),
  });

  async function quiet(hanging = () => 0): Promise<void> {
    const limit = performance.now() + 60_000;
    // A step that needs no socket takes a turn or two of the event loop.
    for (let turns = 0; turns < 8; turns++) {
      await new Promise(setImmediate);
      if (sending > hanging()) turns = 0;
      if (performance.now() > limit)
        throw new Error(`still ${sending} attempts in flight, ${hanging()} hanging`);
    }
  }

  return {
    db,
    clock,
    project,
    endpoints,
    outbox,
    send: counted,
    dispatcher,
    warnings,
    emit: (body) => inTransaction(db, () => body(emitOne)),
    addEndpoint: (url, changes = {}) =>
      endpoints.create({
        projectId: project.id,
        url,
        format: 'json',
        events: ['budget.threshold_reached', 'budget.exceeded', 'budget.reset', 'request.blocked'],
        secret: newWebhookSecret(),
        now: clock.now(),
        ...changes,
      }),
    deliveries: async () => (await listDeliveries(db, { limit: 100_000 })).reverse(),
    quiet,
    async pass(ms, hanging) {
      const end = clock.now() + ms;
      await quiet(hanging);
      while ((clock.nextAt() ?? end) < end) {
        clock.advanceToNext();
        await quiet(hanging);
      }
      clock.advance(end - clock.now());
      await quiet(hanging);
    },
    async drain(hanging) {
      for (let steps = 0; steps < 5_000; steps++) {
        await quiet(hanging);
        if ((await listDeliveries(db, { limit: 100_000 })).every((d) => d.finishedAt !== null)) return;
        clock.advanceToNext();
      }
      throw new Error('deliveries never ended');
    },
    async close() {
      await dispatcher.stop(0);
      db.close();
      if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Waits for something that happens on its own time. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  limitMs = 60_000,
): Promise<void> {
  const limit = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > limit) throw new Error(`never came: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
