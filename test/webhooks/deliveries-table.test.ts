import { afterEach, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { EVENT_TYPES, type EventType } from '../../src/store/webhooks/event-types.ts';
import type { Attempt, Claim } from '../../src/store/webhooks/outbox.ts';
import { createDispatcher } from '../../src/webhooks/dispatcher.ts';
import { createSend, type Post, type SendResult, storableResponse } from '../../src/webhooks/send.ts';
import { createWebhookService } from '../../src/webhooks/service.ts';
import { expectFrozen, type Row } from '../support/frozen.ts';
import { DIRECT } from '../support/network.ts';
import { type Answer, createReceiver } from './support/receiver.ts';
import { createVirtualClock, START } from './support/virtual-clock.ts';
import { createWorld, LOCAL, UTC, type World, zeroRandom } from './support/world.ts';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const row = (name: string, outcome: () => unknown): Row => ({ name, outcome });
const turns = async (count = 30) => {
  for (let i = 0; i < count; i++) await new Promise(setImmediate);
};

const CLAIM: Claim = {
  ...{ id: 7, claims: 1, attempts: 0, endpointId: 3, eventCount: 1, url: 'https://x.test/', format: 'json' },
  ...{
    secret: 'whsec_QUJD',
    oldSecret: null,
    oldSecretUntil: null,
    project: 'web',
    lapsesAt: START + 20_000,
  },
  ...{ eventId: 'evt_1', type: 'budget.reset', eventAt: START, data: '{}', since: START },
};
const RESULT: SendResult = { ok: true, at: START, durationMs: 5, status: 200, error: null, response: 'ok' };

interface Script {
  claims?: Partial<Claim>[];
  /** When the next delivery is due, at each look. */
  due?: (number | undefined)[];
  result?: Partial<SendResult>;
  /** What happens while the first attempt is under way. */
  meanwhile?: (
    dispatcher: ReturnType<typeof createDispatcher>,
    clock: ReturnType<typeof createVirtualClock>,
  ) => unknown;
  /** Time that passes while deliveries are claimed. */
  claimMs?: number;
  pollMs?: number;
  disabled?: string;
  /** Why the database can't be written, at each claim; undefined where it can. */
  faults?: (string | undefined)[];
  /** What happens before it is started. */
  before?: (dispatcher: ReturnType<typeof createDispatcher>) => unknown;
}

/** What a dispatcher asks of its outbox, and when it looks again. */
async function dispatched({
  claims = [{}],
  due = [START],
  result = {},
  meanwhile,
  claimMs = 0,
  pollMs,
  disabled,
  faults = [],
  before,
}: Script) {
  const clock = createVirtualClock();
  const log: string[] = [];
  const note = (what: string, ...args: unknown[]) => void log.push([what, ...args].join(' '));
  const waiting = [...claims];
  const times = [...due];
  const wrong = [...faults];
  let end: (() => void) | undefined;
  const outbox = {
    nextDueAt: async () => (times.length > 1 ? times.shift() : times[0]),
    foldBlocked: async (now: number) => note('gathers', now - START),
    claim: async ({ now, leaseMs }: { now: number; leaseMs: number }) => {
      note('claims', now - START, leaseMs);
      const fault = wrong.shift();
      if (fault) throw new Error(fault);
      clock.advance(claimMs);
      return waiting.splice(0).map((each) => ({ ...CLAIM, ...each }));
    },
    delivered: async ({ id }: Claim, { durationMs }: Attempt, now: number) =>
      note('delivered', id, durationMs, now - START),
    retryAt: async ({ id }: Claim, { error }: Attempt, at: number) =>
      note('retries', id, error?.startsWith('HTTP') ? error : 'an error', at - START),
    release: async ({ id }: Claim, now: number) => note('releases', id, now - START),
    failed: async ({ id }: Claim, _: Attempt, now: number) => {
      note('failed', id, now - START);
      return { changed: true, disabled: disabled ?? null };
    },
  };
  const dispatcher = createDispatcher({
    ...{ clock, random: zeroRandom, calendar: () => UTC, warn: (message) => note('warns:', message) },
    ...(pollMs !== undefined && { pollMs }),
    outbox: outbox as never,
    send: ({ signal }) => {
      note('sends');
      if (!meanwhile) return Promise.resolve({ ...RESULT, ...result });
      return new Promise((resolve) => {
        end = () => resolve({ ...RESULT, ...result });
        signal?.addEventListener('abort', () => {
          note('aborted', clock.now() - START);
          end?.();
        });
      });
    },
  });
  await before?.(dispatcher);
  dispatcher.start();
  await turns();
  note('looks again in', clock.nextAt() === undefined ? 'no time' : (clock.nextAt() ?? 0) - clock.now());
  if (meanwhile) {
    await meanwhile(dispatcher, clock);
    end?.();
    await turns();
  }
  await dispatcher.stop(0);
  dispatcher.wake();
  await turns();
  note('then', clock.nextAt() === undefined ? 'nothing' : 'a timer');
  return log.join('; ');
}

test('what the dispatcher does with each claim and its outcome', async () => {
  const no = { ok: false, status: 500, error: 'HTTP 500' };
  await expectFrozen(import.meta.dirname, 'dispatched', [
    row('delivered', () => dispatched({})),
    ...[0, 1, 2, 3].map((attempts) =>
      row(`failed after ${attempts} attempts`, () => dispatched({ claims: [{ attempts }], result: no })),
    ),
    row('failed for good', () =>
      dispatched({ claims: [{ attempts: 3 }], result: no, disabled: 'it answered 410 Gone' }),
    ),
    row('two claims', () => dispatched({ claims: [{}, { id: 8 }] })),
    ...[4_999, 5_000, 5_001].map((claimMs) => row(`claimed in ${claimMs} ms`, () => dispatched({ claimMs }))),
    row('data that is no JSON', () => dispatched({ claims: [{ format: 'slack', data: '{' }] })),
    ...[undefined, START + 1, START + 999, START + 5_000].map((due) =>
      row(`due ${due === undefined ? 'never' : `in ${due - START} ms`}`, () => dispatched({ due: [due] })),
    ),
    row('due now, and then in half a second', () => dispatched({ due: [START, START + 500] })),
    row('due now, and then in the past', () => dispatched({ due: [START, START - 5] })),
    row('looks every three seconds', () => dispatched({ due: [undefined], pollMs: 3_000 })),
    row('a database that cannot be written', () => dispatched({ claims: [], faults: ['disk full'] })),
    row('a database that cannot be written twice, then can, and then cannot again', () =>
      dispatched({
        claims: [],
        faults: ['disk full', 'disk full', undefined, 'locked'],
        meanwhile: async (_, clock) => {
          for (let i = 0; i < 3; i++) {
            clock.advance(1_000);
            await turns();
          }
        },
      }),
    ),
    row('woken before it starts', () =>
      dispatched({
        before: async (dispatcher) => {
          dispatcher.wake();
          await turns();
        },
      }),
    ),
    row('stopped while it sends', () =>
      dispatched({
        meanwhile: async (dispatcher, clock) => {
          const stopped = dispatcher.stop(100);
          await turns();
          clock.advance(99);
          await turns();
          clock.advance(1);
          await stopped;
        },
        result: no,
      }),
    ),
    row('stopped while it sends, which succeeds nevertheless', () =>
      dispatched({
        meanwhile: async (dispatcher, clock) => {
          const stopped = dispatcher.stop();
          await turns();
          clock.advance(2_000);
          await stopped;
        },
      }),
    ),
    row('claimed again while it sends', () =>
      dispatched({
        claims: [{}],
        meanwhile: async (dispatcher) => {
          dispatcher.wake();
          dispatcher.wake();
          await turns();
        },
      }),
    ),
  ]);
});

/** What is stored of an answer. */
async function sent(answer: Answer, changes: Partial<Post> = {}) {
  const receiver = await createReceiver(systemClock, answer);
  cleanups.push(() => receiver.close());
  const send = createSend({ network: () => DIRECT, policy: () => LOCAL, clock: systemClock });
  const post = { url: `${receiver.url}/`, headers: {}, body: Buffer.from('{}'), secrets: [], ...changes };
  const { at: _at, durationMs: _durationMs, response, ...result } = await send(post);
  const text = response !== null && response.length > 60 ? `${response.length} characters` : response;
  return { ...result, response: text };
}

test('what is stored of each answer', async () => {
  const statuses = [200, 201, 204, 299, 300, 302, 304, 399, 400, 404, 410, 500];
  const headed = (status: number, headers: Record<string, string> = {}) =>
    sent((response) => {
      response.writeHead(status, headers);
      response.end(status === 204 || status === 304 ? undefined : 'body');
    });
  const KIB = 1024;
  const cut = (length: number, secrets: string[], complete: boolean, character = 'a') =>
    storableResponse(character.repeat(length), secrets, complete).length;
  await expectFrozen(import.meta.dirname, 'answers', [
    ...statuses.map((status) => row(`${status}`, () => headed(status))),
    ...[299, 300, 399, 400].map((status) =>
      row(`${status} with a location`, () => headed(status, { location: 'https://x.test/' })),
    ),
    row('an encoding', () => headed(200, { 'content-encoding': 'gzip' })),
    ...[64 * KIB - 1, 64 * KIB, 64 * KIB + 1].map((length) =>
      row(`${length} characters, a word at their end`, () =>
        sent((response) => response.end(`${'\u0001'.repeat(length - 4)}word`)),
      ),
    ),
    row('65536 characters and another one later', () =>
      sent((response) => {
        response.write(`${'\u0001'.repeat(64 * KIB - 4)}word`);
        setTimeout(() => response.end('\u0001'), 20);
      }),
    ),
    row('lengths of complete texts', () => [0, 4_095, 4_096, 4_097].map((length) => cut(length, [], true))),
    row('lengths of broken texts', () =>
      [0, 255, 256, 257, 4_352, 4_353].map((length) => cut(length, [], false)),
    ),
    row('lengths of broken texts with a long secret', () =>
      [299, 300, 301].map((length) => cut(length, ['x'.repeat(100)], false)),
    ),
    row('lengths of texts of three bytes a character', () =>
      [1_365, 1_366].map((length) => cut(length, [], true, '漢')),
    ),
    row('a host of which no address answers', async () => {
      const unreachable = new AggregateError(
        ['one', 'two'].map((address) => new Error(`no answer at ${address}`)),
      );
      const send = createSend({
        ...{ network: () => DIRECT, policy: () => LOCAL, clock: systemClock },
        lookup: (_name, _options, callback) => callback(unreachable, []),
      });
      return (await send({ url: 'http://hook.test/', headers: {}, body: Buffer.from(''), secrets: [] }))
        .error;
    }),
  ]);
});

async function open(): Promise<World> {
  const world = await createWorld();
  cleanups.push(() => world.close());
  return world;
}

/** Refusals and alerts that wait for an endpoint, and what is claimed of them as time passes. */
async function queued(ended: (world: World, claim: Claim, now: number) => unknown) {
  const world = await open();
  const id = await world.addEndpoint('https://x.test/');
  const log: string[] = [];
  const emit = (type: EventType, times: number) =>
    world.emit((emitOne) => {
      for (let i = 0; i < times; i++) emitOne(type, world.project.id, { n: i });
    });
  emit('request.blocked', 3);
  for (const seconds of [0, 0, 1, 59, 60, 61, 120, 121]) {
    const now = START + seconds * 1_000;
    world.clock.advance(now - world.clock.now());
    for (const claim of await world.outbox.claim({ now, leaseMs: 20_000 })) {
      log.push(`${seconds}: ${claim.type} ${claim.eventCount} ${claim.data}`);
      log.push(`${JSON.stringify(await ended(world, claim, now))}`);
    }
    if (seconds === 1) emit('budget.exceeded', 1);
    if (seconds <= 60) emit('request.blocked', 1);
    log.push(`next ${((await world.outbox.nextDueAt()) ?? Number.NaN) - now}`);
  }
  const endpoint = await world.endpoints.get(id);
  return [...log, endpoint?.consecutiveFailures, endpoint?.disabledReason].join('; ');
}

test('what is claimed of events that are counted, and samples of them', async () => {
  const attempt = (status: number): Attempt => ({
    at: START,
    durationMs: 5,
    status,
    error: null,
    response: '',
  });
  const sample = async (type: EventType | undefined) => {
    const world = await open();
    const posts: Post[] = [];
    let wakes = 0;
    const service = createWebhookService({
      ...{ db: world.db, write: async (command) => command(), clock: world.clock, calendar: () => UTC },
      ...{ policy: () => LOCAL, random: zeroRandom, wake: () => void wakes++ },
      send: async (post) => {
        posts.push(post);
        return RESULT;
      },
    });
    const caller = { project: 'web', projectId: world.project.id, admin: false };
    const { id } = await service.register(caller, {
      url: 'https://x.test/',
      ...(type && { events: [type] }),
    });
    const { event_id: _id, ...tested } = await service.test(caller, id);
    const { events } = await service.update(caller, id, {});
    await service.update(caller, id, { enabled: false });
    const disabled = (await service.get(caller, id)).status_reason;
    await service.update(caller, id, { url: 'https://y.test/' });
    const still = (await service.get(caller, id)).status;
    await service.update(caller, id, { enabled: true });
    await service.replayFailed(caller);
    return {
      sample: JSON.parse(String(posts[0]?.body)),
      ...{
        tested,
        events,
        disabled,
        still,
        enabled: (await service.get(caller, id)).status,
        wakes,
      },
    };
  };
  await expectFrozen(import.meta.dirname, 'queued', [
    row('delivered', () => queued((world, claim, now) => world.outbox.delivered(claim, attempt(200), now))),
    row('failed', () => queued((world, claim, now) => world.outbox.failed(claim, attempt(500), now))),
    row('gone', () => queued((world, claim, now) => world.outbox.failed(claim, attempt(410), now))),
    row('tried again a minute later', () =>
      queued((world, claim, now) => world.outbox.retryAt(claim, attempt(500), now + 60_000)),
    ),
    row('released', () => queued((world, claim, now) => world.outbox.release(claim, now + 1_000))),
    row('not ended', () => queued(() => '')),
    {
      name: 'a webhook of the default events',
      outcome: () => sample(undefined),
      variations: EVENT_TYPES.map((type) => row(type, () => sample(type))),
    },
  ]);
});
