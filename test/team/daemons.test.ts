import { expect, onTestFinished, test } from 'vitest';
import { readMembership } from '../../src/store/team/membership.ts';
import { completion } from '../support/chat-scripts.ts';
import { PLAIN, startGateway, type TestGateway, until } from '../support/gateway.ts';
import { startUpstream } from '../support/upstream.ts';
import { createModelTeam, type ModelTeam } from './support/model-team.ts';

/** A request holds $0.001 at most and costs as much. */
const PRICE = { input: 0, output: 10 };
const BODY = { ...PLAIN, max_tokens: 100 };
const COST_USD = 0.001;

async function startTeam({ capUsd = 1, gateways = 2 } = {}): Promise<{ team: ModelTeam; members: TestGateway[] }> {
  const team = createModelTeam({ capUsd });
  const upstream = await startUpstream({
    script: completion({ content: 'Hi', usage: { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 } }),
  });
  onTestFinished(() => upstream.close());
  const members: TestGateway[] = [];
  for (let id = 1; id <= gateways; id++) {
    const gateway = await startGateway({ upstream, price: PRICE, openTeam: team.openTeam });
    team.join(gateway, id);
    members.push(gateway);
  }
  for (const gateway of members) await until(() => joined(gateway));
  return { team, members };
}

const joined = ({ db }: TestGateway) => readMembership(db)?.syncedAt != null;

test('gateways spend a cap together, to the last request that it can pay, and no more', async () => {
  const { team, members } = await startTeam({ capUsd: 0.02 });
  const statuses: number[] = [];
  for (let i = 0; i < 24; i++) {
    const t0 = performance.now(); const answer = await members[i % 2]?.post(BODY); (await import('node:fs')).appendFileSync('/tmp/tg.log', [i, answer?.status, Math.round(performance.now() - t0), team.syncs, JSON.stringify(team.sums()), String(answer?.body).slice(0,400)].join(' ') + '\n');
    if (answer) statuses.push(answer.status);
  }
  expect(statuses.filter((status) => status === 200)).toHaveLength(20);
  expect(statuses.slice(0, 20)).not.toContain(402);
  for (const gateway of members) await gateway.stop();
  expect(team.sums()).toEqual({ allocated: 20 * COST_USD * 1e9, spent: 20 * COST_USD * 1e9 });
});
