import { expect, test } from 'vitest';
import { loadSettings } from '../../src/config/load.ts';
import { readTrials, readVerdicts } from '../../src/store/optimizer/trials.ts';
import { MODEL, startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/home.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const HOUR = 3_600_000;
/** The bit by which the ledger marks the level. */
const SAFE = 2 ** 48;
const ROWS = JSON.stringify(
  Array.from({ length: 40 }, (_, id) => ({ id, name: `item ${id}`, state: 'active' })),
);
const LONG = {
  model: MODEL,
  messages: [
    { role: 'user', content: 'List them.' },
    { role: 'tool', tool_call_id: 'a', content: ROWS },
  ],
};

/** Inserts conversations with these costs each, in nano-USD: compressed and held out. */
function seed(gateway: TestGateway, treated: number, heldOut: number, now: number): void {
  const insert = gateway.db.prepare('INSERT INTO optimizer_trials VALUES (?, ?, 0, 0, ?, 1, 1000, ?, ?)');
  for (let i = 0; i < 60; i++) {
    insert.run(gateway.project.id, 0, SAFE + i, treated + (i % 5), now);
    insert.run(gateway.project.id, 1, SAFE + i, heldOut + (i % 7), now);
  }
}

async function sentWhole(gateway: TestGateway): Promise<boolean> {
  await gateway.post(LONG);
  const sent = JSON.parse(gateway.upstream.requests.at(-1)?.body.toString() ?? '') as typeof LONG;
  return sent.messages[1]?.content === ROWS;
}

test('the optimizer switches itself off when it costs more than it saves, and the user can override that', async () => {
  const clock = createVirtualClock();
  const gateway = await startGateway({ clock });
  expect(await sentWhole(gateway)).toBe(false);
  seed(gateway, 2_000_000, 1_000_000, clock.now());
  await clock.advance(HOUR);
  await until(async () => (await readVerdicts(gateway.db)).size === 1);
  await until(() =>
    gateway.logged.some(({ msg }) => String(msg).includes('optimizer.projects.default safe')),
  );
  const { settings } = loadSettings({ file: gateway.paths.config });
  expect(settings['optimizer.projects']).toEqual({ default: 'off' });
  expect(settings.providers.mock?.baseUrl).toBe(gateway.upstream.url);
  expect((await readVerdicts(gateway.db)).get('default')).toMatchObject({
    savedNanoUsd: expect.closeTo(-60 * 1_000_000, -3),
    treatedConversations: 60,
    heldOutConversations: 60,
  });
  expect(await sentWhole(gateway)).toBe(true);
  gateway.configure({ 'optimizer.projects': { default: 'safe' } });
  expect(await sentWhole(gateway)).toBe(false);
  // Earlier evidence no longer counts.
  await clock.advance(HOUR);
  expect((await readTrials(gateway.db, gateway.project.id, 'safe')).length).toBeLessThanOrEqual(1);
  expect(await sentWhole(gateway)).toBe(false);
});

test.each([
  ['it pays', 1_000_000, 2_000_000],
  ['the difference is not certain', 1_000_000, 1_000_001],
])('it stays on when %s', async (_, treated, heldOut) => {
  const clock = createVirtualClock();
  const gateway = await startGateway({ clock });
  seed(gateway, treated, heldOut, clock.now());
  await clock.advance(2 * HOUR);
  expect(await sentWhole(gateway)).toBe(false);
  expect((await readVerdicts(gateway.db)).size).toBe(0);
});
