import { describe, expect, test } from 'vitest';
import { type Dice, diceOf } from '../fuzz/dice.ts';
import { startClouds } from '../providers/clouds/support/clouds.ts';
import { type GatewayOptions, until } from '../support/gateway.ts';
import { playAgent } from './cloud-agent.ts';
import { CLOUD_CASES, type CloudCase, scriptedCloud } from './scripted-cloud.ts';

const CAP_NANO_USD = 1e9;
/** By how much less of a cap agents may use than the ideal. */
const SLACK_NANO_USD = 0.02 * CAP_NANO_USD;

const FROM = Number(process.env.GW_SEED ?? 1);
const SEEDS = Array.from({ length: process.env.GW_LONG ? 6 : 1 }, (_, i) => FROM + i);

/** Half of the clouds; npm run test:long plays all, with more seeds, and with several agents at once. */
const PLAYED = process.env.GW_LONG ? CLOUD_CASES : CLOUD_CASES.filter((_, i) => i % 2 === 0);

interface Play {
  agents?: number;
  overwrites?: number;
  settings?: GatewayOptions['settings'];
  /** SQL that spoils what is settled. */
  fault?: string;
}

/** Agents spend a cap of $1 at a cloud. Returns what is wrong with that. */
async function play(cloud: CloudCase, dice: Dice, { agents = 1, overwrites, settings, fault }: Play = {}) {
  const { provider } = cloud;
  const gateway = await startClouds(
    { [provider]: cloud.settings },
    {
      credentials: { bedrock: 'key', azure: 'key', gemini: 'key' },
      env: { TOKEN: 'token' },
      budget: { capUsd: 1, period: 'daily' },
      settings: { 'admission.max_wait_ms': 60_000, 'optimizer.level': 'off', ...settings },
    },
  );
  const { script, bills } = scriptedCloud(cloud, dice, { ...(overwrites ? { overwrites } : {}) });
  gateway.upstream.script(script);
  if (fault) gateway.db.exec(`CREATE TRIGGER planted AFTER UPDATE OF outcome ON journal BEGIN ${fault}; END`);
  const agent = { gateway, cloud, dice };
  const refusals = await Promise.all(Array.from({ length: agents }, () => playAgent(agent)));
  await until(() => gateway.holds() === 0);
  const records = (await gateway.records()).filter(
    ({ outcome, endpoint }) => outcome === 'ok' && endpoint === 'messages',
  );
  const costs = records.map(({ costNanoUsd }) => costNanoUsd);
  const sum = (list: readonly number[]) => list.reduce((total, each) => total + each, 0);
  const problems: string[] = [];
  if (sum(bills) > CAP_NANO_USD) problems.push(`billed ${sum(bills)} of a cap of ${CAP_NANO_USD}`);
  const sorted = (list: readonly number[]) => list.toSorted((a, b) => a - b).join();
  if (sorted(costs) !== sorted(bills)) problems.push(`booked ${costs.join()} of ${bills.join()}`);
  // What others hold is no longer to be told.
  if (agents > 1) return { problems, requests: bills.length };
  for (const { neededNanoUsd, served } of refusals.flat()) {
    const leftNanoUsd = CAP_NANO_USD - sum(bills.slice(0, served));
    if (leftNanoUsd > neededNanoUsd + SLACK_NANO_USD)
      problems.push(`refused with ${leftNanoUsd} left, where ${neededNanoUsd} were needed`);
  }
  return { problems, requests: bills.length };
}

describe.each(SEEDS)('with seed %i', (seed) => {
  test.each(PLAYED)(
    'an agent uses a dollar to the ideal less 2 points, and no more: $name',
    async (cloud) => {
      const { problems, requests } = await play(cloud, diceOf(seed, 0));
      expect(problems).toEqual([]);
      expect(requests).toBeGreaterThan(10);
    },
  );

  test.runIf(process.env.GW_LONG).each(CLOUD_CASES)('three agents at once: $name', async (cloud) => {
    const { problems } = await play(cloud, diceOf(seed, 1), { agents: 3 });
    expect(problems).toEqual([]);
  });
});

const [RUNTIME] = CLOUD_CASES as [CloudCase];

test.each<[string, RegExp, Play]>([
  ['a model that writes beyond its limit', /billed/, { overwrites: 10 }],
  [
    'a cost that is not booked',
    /booked/,
    { fault: 'UPDATE journal SET cost_nano_usd = 0 WHERE id = NEW.id' },
  ],
  ['holds that are too large', /refused/, { settings: { 'admission.min_output_tokens': 4000 } }],
])('the campaign notices %s', async (_, problem, how) => {
  const { problems } = await play(RUNTIME, diceOf(FROM, 2), how);
  expect(problems.join('\n')).toMatch(problem);
});
