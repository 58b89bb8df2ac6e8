import { describe, expect, test } from 'vitest';
import { FLAGS } from '../../../src/store/ledger/record.ts';
import {
  closeTrial,
  forgetTrials,
  projectsOnTrial,
  readTrials,
  readVerdicts,
} from '../../../src/store/optimizer/trials.ts';
import {
  addProjects,
  createWorld,
  memoryDatabase,
  NOON,
  recordOf,
  startDaemon,
} from '../../support/simulator.ts';

async function ledgerWithProjects() {
  const db = await memoryDatabase();
  addProjects(db, 2);
  const { ledger, nextId } = startDaemon(db, createWorld(), 1);
  const bill = (conversation: number, heldOut: boolean, fields = {}) =>
    ledger.record(
      recordOf(nextId(), {
        costNanoUsd: 1_000,
        trial: { conversation, heldOut, level: 'safe', originalTokens: 10 },
        ...fields,
      }),
    );
  return { db, bill };
}

describe('the trial of the optimizer', () => {
  test('sums what conversations cost, on their side and for their model', async () => {
    const { db, bill } = await ledgerWithProjects();
    await Promise.all([bill(1, false), bill(1, false), bill(2, false), bill(3, true)]);
    await bill(1, false, { model: 'gpt-5' });
    await bill(4, false, { projectId: 2 });
    expect(await readTrials(db, 1, 'safe')).toEqual([
      expect.objectContaining({ model: 'openai/gpt-5', treated: expect.objectContaining({ requests: 1 }) }),
      {
        model: 'openai/gpt-5-mini',
        treated: {
          conversations: 2,
          requests: 3,
          originalTokens: 30,
          costNanoUsd: 3_000,
          tokensSquared: 20 ** 2 + 10 ** 2,
          costSquared: 2_000 ** 2 + 1_000 ** 2,
          costTimesTokens: 20 * 2_000 + 10 * 1_000,
        },
        heldOut: expect.objectContaining({ conversations: 1, requests: 1, costNanoUsd: 1_000 }),
      },
    ]);
    expect((await projectsOnTrial(db)).map(({ name }) => name)).toEqual(['p1', 'p2']);
  });

  test('is one for each level', async () => {
    const { db, bill } = await ledgerWithProjects();
    const most = 2 ** 48 - 1;
    await bill(most, false);
    await bill(0, false, {
      trial: { conversation: 0, heldOut: false, level: 'balanced', originalTokens: 7 },
    });
    await bill(most, false, {
      trial: { conversation: most, heldOut: false, level: 'balanced', originalTokens: 7 },
    });
    const tokensOf = async (level: string) => (await readTrials(db, 1, level))[0]?.treated.originalTokens;
    expect([await tokensOf('safe'), await tokensOf('balanced'), await tokensOf('off')]).toEqual([
      10,
      14,
      undefined,
    ]);
  });

  test('counts only what the provider billed', async () => {
    const { db, bill } = await ledgerWithProjects();
    await bill(1, false, { outcome: 'client_gone' });
    await bill(1, false, { flags: FLAGS.estimated });
    await bill(1, false, { flags: FLAGS.unpriced, costNanoUsd: 0 });
    await bill(1, false, { costNanoUsd: 0 });
    await bill(1, false, { trial: undefined });
    expect(await readTrials(db, 1, 'safe')).toEqual([]);
  });

  test('is closed with a verdict, and begins anew', async () => {
    const { db, bill } = await ledgerWithProjects();
    await bill(1, false);
    await bill(2, false, { projectId: 2 });
    const verdict = {
      at: NOON,
      savedNanoUsd: -5,
      marginNanoUsd: 1,
      treatedConversations: 100,
      heldOutConversations: 30,
    };
    closeTrial(db, 1, verdict);
    closeTrial(db, 1, verdict);
    expect(await readVerdicts(db)).toEqual(new Map([['p1', verdict]]));
    expect(await readTrials(db, 1, 'safe')).toEqual([]);
    expect(await readTrials(db, 2, 'safe')).toHaveLength(1);
  });

  test('forgets conversations that ended long ago', async () => {
    const { db, bill } = await ledgerWithProjects();
    await bill(1, false);
    forgetTrials(db, NOON - 1);
    expect(await readTrials(db, 1, 'safe')).toHaveLength(1);
    forgetTrials(db, NOON + 60_000);
    expect(await readTrials(db, 1, 'safe')).toEqual([]);
  });
});
