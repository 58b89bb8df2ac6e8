import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createProject } from '../../../src/store/accounts/projects.ts';
import { listDeliveries } from '../../../src/store/webhooks/delivery-log.ts';
import type { EventType } from '../../../src/store/webhooks/event-types.ts';
import { START } from '../../webhooks/support/virtual-clock.ts';
import { createWorld, type World } from '../../webhooks/support/world.ts';

let world: World;
beforeEach(async () => {
  world = await createWorld();
});
afterEach(() => world.close());

const emit = (type: EventType, data: Record<string, unknown> = {}, projectId = world.project.id) =>
  world.emit((emitOne) => emitOne(type, projectId, data));
const queued = async () => (await world.deliveries()).map(({ endpointId, type }) => [endpointId, type]);
const summaries = () =>
  world.db
    .prepare('SELECT endpoint_id, event_count, first_sequence, sequence, due_at FROM blocked_summaries')
    .raw()
    .all();

describe('an event', () => {
  it('is queued for each endpoint of its project that subscribed to it', async () => {
    const other = await createProject(world.db, { name: 'other', now: START });
    const all = await world.addEndpoint('http://a.example');
    const some = await world.addEndpoint('http://b.example', { events: ['budget.reset', 'budget.exceeded'] });
    const disabled = await world.addEndpoint('http://c.example');
    await world.endpoints.disable(disabled, 'by hand', START);
    const elsewhere = await world.addEndpoint('http://d.example', { projectId: other.id });
    emit('budget.exceeded');
    emit('request.blocked');
    emit('budget.reset', {}, other.id);
    expect(await queued()).toEqual([
      [all, 'budget.exceeded'],
      [some, 'budget.exceeded'],
      [elsewhere, 'budget.reset'],
    ]);
    expect(summaries()).toEqual([[all, 1, 2, 2, START]]);
  });

  it('drops the oldest of more than 1,000 that wait, and says so', async () => {
    const endpoint = await world.addEndpoint('http://a.example');
    world.emit((emitOne) => {
      for (let n = 0; n < 1_003; n++) emitOne('budget.exceeded', world.project.id, { n });
    });
    const deliveries = await listDeliveries(world.db, { endpointId: endpoint, limit: 2_000 });
    const dropped = deliveries.filter(({ state }) => state === 'failed');
    expect(deliveries.filter(({ state }) => state === 'pending')).toHaveLength(1_000);
    expect(dropped.map(({ id }) => id)).toEqual([3, 2, 1]);
    expect(dropped[0]).toMatchObject({ finishedAt: START, attempts: 0 });
    expect(dropped[0]?.error).toMatch(/dropped unsent: more than 1000 later events were waiting/);
  });

  it('is queued if and only if it is committed', async () => {
    await world.addEndpoint('http://a.example');
    expect(() =>
      world.emit((emitOne) => {
        emitOne('budget.exceeded', world.project.id, {});
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(await queued()).toEqual([]);
  });

  it('reaches an endpoint that was added, and not one that was removed, a moment before', async () => {
    const first = await world.addEndpoint('http://a.example');
    emit('budget.exceeded');
    emit('request.blocked');
    const second = await world.addEndpoint('http://b.example');
    await world.endpoints.remove(first);
    emit('budget.reset');
    expect(await queued()).toEqual([[second, 'budget.reset']]);
    expect(summaries()).toEqual([]);
  });

  it('is stored with texts of at most 500 characters, and never half of one', () => {
    emit('request.blocked', { model: 'm'.repeat(10_000), budget_id: `${'x'.repeat(499)}😀` });
    const data = String(world.db.prepare('SELECT data FROM events').pluck().get());
    expect(JSON.parse(data)).toEqual({ model: 'm'.repeat(500), budget_id: 'x'.repeat(499) });
  });
});

describe('blocked requests', () => {
  it('are counted for a chat and a program alike', async () => {
    const chat = await world.addEndpoint('http://a.example', { format: 'slack' });
    const program = await world.addEndpoint('http://b.example');
    for (let i = 0; i < 3; i++) emit('request.blocked');
    emit('budget.exceeded');
    expect(await queued()).toEqual([
      [chat, 'budget.exceeded'],
      [program, 'budget.exceeded'],
    ]);
    expect(summaries()).toEqual([
      [chat, 3, 1, 3, START],
      [program, 3, 1, 3, START],
    ]);
  });

  it('become one delivery when they are due, and are counted anew from then on', async () => {
    const chat = await world.addEndpoint('http://a.example', { format: 'slack' });
    for (let i = 0; i < 3; i++) emit('request.blocked', { n: i });
    const [claim] = await world.outbox.claim({ now: START, leaseMs: 1_000 });
    expect(claim).toMatchObject({
      endpointId: chat,
      eventCount: 3,
      type: 'request.blocked',
      data: '{"n":2}',
    });
    emit('request.blocked');
    expect(summaries()).toEqual([[chat, 1, 4, 4, START + 60_000]]);
    // Nothing but the lapse of the claim is waited for while a summary is on its way.
    expect(await world.outbox.nextDueAt()).toBe(START + 1_000);
  });
});
