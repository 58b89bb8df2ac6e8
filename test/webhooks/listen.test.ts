import { Webhook } from 'standardwebhooks';
import { describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { type ListenOutput, listen } from '../../src/webhooks/listen.ts';
import { createSend } from '../../src/webhooks/send.ts';
import { newWebhookSecret } from '../../src/webhooks/sign.ts';
import { DIRECT } from '../support/network.ts';
import { createReceiver } from './support/receiver.ts';
import { createWorld, LOCAL, UTC } from './support/world.ts';

describe('listen()', () => {
  it('tells of events as they happen, and forwards them signed, until it is stopped', async () => {
    const world = await createWorld();
    const receiver = await createReceiver(systemClock);
    // A connection of its own, as the command line has one beside the daemon's.
    const db = await openDatabase(world.db.name);
    const controller = new AbortController();
    const secret = newWebhookSecret();
    const send = createSend({ network: () => DIRECT, policy: () => LOCAL, clock: systemClock });
    const outputs: ListenOutput[] = [];
    const emit = () =>
      world.emit((emitOne) => emitOne('budget.reset', world.project.id, { n: outputs.length }));
    const forward = { url: `${receiver.url}/dev`, secret, send };
    const { signal } = controller;
    setTimeout(emit, 20);
    for await (const one of listen({ db, clock: systemClock, calendar: UTC, forward, signal })) {
      outputs.push(one);
      if (outputs.length === 2) emit();
      if (outputs.length === 4) controller.abort();
    }
    expect(outputs).toMatchObject([
      { kind: 'event', event: { type: 'budget.reset', project: 'web', data: '{"n":0}' } },
      { kind: 'forwarded', result: { ok: true, status: 200 } },
      { kind: 'event', event: { data: '{"n":2}' } },
      { kind: 'forwarded', result: { ok: true } },
    ]);
    const [request] = receiver.received;
    vi.useFakeTimers({ toFake: ['Date'], now: Number(request?.headers['webhook-timestamp']) * 1000 });
    const headers = request?.headers as Record<string, string>;
    expect(new Webhook(secret).verify(String(request?.body), headers)).toMatchObject({ data: { n: 0 } });
    vi.useRealTimers();
    db.close();
    await receiver.close();
    await world.close();
  });

  it('ends at once when it is stopped while it waits, and forwards nothing by itself', async () => {
    const world = await createWorld();
    const db = await openDatabase(world.db.name);
    const controller = new AbortController();
    const { signal } = controller;
    const { clock } = world;
    const started = vi.spyOn(globalThis, 'setInterval');
    const ended = vi.spyOn(globalThis, 'clearInterval');
    const listening = listen({ db, clock, calendar: UTC, signal });
    const first = listening.next();
    await new Promise(setImmediate);
    world.emit((emitOne) => emitOne('budget.reset', world.project.id, { n: 1 }));
    clock.advance(200);
    expect(await first).toMatchObject({ value: { kind: 'event', event: { data: '{"n":1}' } } });
    const next = listening.next();
    await new Promise(setImmediate);
    expect(clock.nextAt()).toBe(clock.now() + 200);
    controller.abort();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(clock.nextAt()).toBeUndefined();
    // Nothing keeps the process alive any more.
    expect(ended.mock.calls).toEqual(started.mock.results.map(({ value }) => [value]));
    vi.restoreAllMocks();
    db.close();
    await world.close();
  });
});
