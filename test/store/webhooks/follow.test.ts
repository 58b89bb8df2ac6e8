import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '../../../src/store/database/open.ts';
import { followEvents } from '../../../src/store/webhooks/follow.ts';
import { createWorld, type World } from '../../webhooks/support/world.ts';

let world: World;
beforeEach(async () => {
  world = await createWorld();
});
afterEach(() => world.close());

const emit = (n: number, projectId = world.project.id) =>
  world.emit((emitOne) => emitOne('budget.reset', projectId, { n }));

describe('followEvents()', () => {
  it('yields what other connections commit from now on, in order, until it is stopped', async () => {
    const db = await openDatabase(world.db.name, { readonly: true });
    const controller = new AbortController();
    emit(0);
    let pauses = 0;
    const pause = async () => {
      pauses++;
      if (pauses === 1) for (let n = 1; n <= 250; n++) emit(n);
      if (pauses === 2) emit(999, world.project.id + 1_000);
      if (pauses === 3) emit(251);
      if (pauses === 4) controller.abort();
    };
    const seen: unknown[] = [];
    const { signal } = controller;
    for await (const event of followEvents(db, { projectId: world.project.id, pause, signal })) {
      expect(event).toMatchObject({ type: 'budget.reset', project: 'web' });
      seen.push((JSON.parse(event.data) as { n: number }).n);
    }
    expect(seen).toEqual(Array.from({ length: 251 }, (_, i) => i + 1));
    db.close();
  });

  it('begins after a given sequence number', async () => {
    for (let n = 0; n < 5; n++) emit(n);
    const controller = new AbortController();
    const seen: number[] = [];
    const pause = async () => controller.abort();
    for await (const event of followEvents(world.db, { after: 3, pause, signal: controller.signal })) {
      seen.push(event.sequence);
    }
    expect(seen).toEqual([4, 5]);
  });
});
