import { expect, test } from 'vitest';
import { createAffinityStore } from '../../../src/gateway/state/router.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const target = { provider: 'a', model: 'm', priority: 0, weight: 1 };

test('conversations, also those that went to a cheaper model, and stored responses survive a restart, and have aged by its duration', async () => {
  const clock = createVirtualClock();
  const before = createAffinityStore(clock, undefined);
  before.stickiness.set('talk', { target, tier: 'weak' });
  before.responses.set('resp_1', { target });
  const fallen = { budgetId: 1, version: 2, start: 0 };
  before.fallen.set('talk', { target, fallen });
  const stored = JSON.parse(JSON.stringify(before.conversationsToSave()));
  await clock.advance(300_000);
  const soon = createAffinityStore(clock, stored);
  expect(soon.stickiness.get('talk')).toEqual({ target, tier: 'weak' });
  await clock.advance(300_000);
  const late = createAffinityStore(clock, stored);
  expect(late.stickiness.get('talk')).toBeUndefined();
  expect(late.responses.get('resp_1')).toEqual({ target });
  expect(late.fallen.get('talk')).toEqual({ target, fallen });
});

test('there is nothing to save until a conversation changes', () => {
  const conversations = createAffinityStore(createVirtualClock(), undefined);
  expect(conversations.conversationsToSave()).toBeUndefined();
  conversations.stickiness.set('talk', { target });
  expect(conversations.conversationsToSave()?.stickiness).toHaveLength(1);
  expect(conversations.conversationsToSave()).toBeUndefined();
});

test('a clock that was set back does not make entries younger', async () => {
  const clock = createVirtualClock();
  const before = createAffinityStore(clock, undefined);
  before.stickiness.set('talk', { target });
  const stored = before.conversationsToSave();
  clock.setWallTime(clock.now() - 3_600_000);
  await clock.advance(1);
  const after = createAffinityStore(clock, stored);
  await clock.advance(600_000);
  expect(after.stickiness.get('talk')).toBeUndefined();
});

test.each([
  null,
  7,
  'rubbish',
  [],
  {},
  { savedAtMs: 'x', stickiness: 3 },
  {
    savedAtMs: 1,
    stickiness: [null, 1, {}, { conversation: 'c' }, { conversation: 'c', idleMs: 0, pin: { target: null } }],
  },
])('what is stored as %j is as nothing', (stored) => {
  const { stickiness } = createAffinityStore(createVirtualClock(), stored);
  expect(stickiness.latest(9)).toEqual([]);
});
