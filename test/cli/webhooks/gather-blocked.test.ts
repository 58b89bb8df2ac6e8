import { describe, expect, test } from 'vitest';
import { gatherBlocked } from '../../../src/cli/webhooks/listen.ts';
import type { StoredEvent } from '../../../src/store/webhooks/follow.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

function setUp() {
  const clock = createVirtualClock();
  const start = clock.now();
  const shown: string[] = [];
  const gathered = gatherBlocked(clock, ({ type, project }, more) => {
    const count = more ? ` ${more.eventCount} since ${more.since - start}` : '';
    shown.push(`${clock.now() - start} ${project} ${type}${count}`);
  });
  const add = (type = 'request.blocked', project = 'web') => {
    const id = `evt_${shown.length}`;
    gathered.add({ id, type, project, createdAt: clock.now(), data: '{}' } as unknown as StoredEvent);
  };
  return { clock, shown, add, end: () => gathered.end() };
}

describe('gatherBlocked()', () => {
  test('shows the first blocked request at once, and those of each following second as one', async () => {
    const { clock, shown, add } = setUp();
    add();
    await clock.advance(100);
    for (let i = 0; i < 3; i++) add();
    expect(shown).toEqual(['0 web request.blocked']);
    await clock.advance(900);
    expect(shown.slice(1)).toEqual(['1000 web request.blocked 3 since 100']);
    add();
    await clock.advance(1_000);
    expect(shown.slice(2)).toEqual(['2000 web request.blocked 1 since 1000']);
    await clock.advance(1_000);
    add();
    expect(shown.slice(3)).toEqual(['3000 web request.blocked']);
  });

  test('keeps the order of events within a project, and groups each project separately', async () => {
    const { clock, shown, add } = setUp();
    add();
    add();
    add('request.blocked', 'app');
    add('budget.reset');
    await clock.advance(1_000);
    expect(shown).toEqual([
      '0 web request.blocked',
      '0 app request.blocked',
      '0 web request.blocked 1 since 0',
      '0 web budget.reset',
    ]);
  });

  test('shows waiting requests at the end', () => {
    const { shown, add, end } = setUp();
    add();
    add();
    end();
    end();
    expect(shown).toEqual(['0 web request.blocked', '0 web request.blocked 1 since 0']);
  });
});
