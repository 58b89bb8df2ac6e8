import { describe, expect, test } from 'vitest';
import { createCalendar } from '../../../src/calendar.ts';
import { requestIdAt } from '../../../src/ids.ts';
import { usageTrends } from '../../../src/store/reports/usage-report.ts';
import {
  addProjects,
  createWorld,
  memoryDatabase,
  NOON,
  recordOf,
  startDaemon,
} from '../../support/simulator.ts';

const DAY_MS = 86_400_000;
const calendar = createCalendar('Australia/Lord_Howe');

async function threeDays() {
  const db = await memoryDatabase();
  addProjects(db, 2);
  const { ledger } = await startDaemon(db, createWorld(), 1);
  const origin = { process: 'claude', repo: '/srv/shop' };
  const records = [
    recordOf(requestIdAt(NOON - 2 * DAY_MS), { costNanoUsd: 5, origin }),
    recordOf(requestIdAt(NOON), { costNanoUsd: 7, projectId: 2 }),
    recordOf(requestIdAt(NOON) + 1, { costNanoUsd: 2, model: 'gpt-5' }),
  ];
  await Promise.all(records.map((record) => ledger.record(record)));
  return db;
}

const dayOf = (timeMs: number) => calendar.dateOf(timeMs);
const span = { from: dayOf(NOON - 2 * DAY_MS), to: dayOf(NOON) };

describe('usageTrends()', () => {
  test('is the cost of each day, by model, project, program or repository', async () => {
    const db = await threeDays();
    const trends = async (groupBy: 'model' | 'project' | 'process' | 'repo', projectId?: number) =>
      Object.fromEntries(
        (await usageTrends(db, calendar, { ...span, groupBy, ...(projectId ? { projectId } : {}) })) ?? [],
      );
    expect(await trends('model')).toEqual({ 'openai/gpt-5-mini': [5, 0, 7], 'openai/gpt-5': [0, 0, 2] });
    expect(await trends('project')).toEqual({ p1: [5, 0, 2], p2: [0, 0, 7] });
    expect(await trends('project', 2)).toEqual({ p2: [0, 0, 7] });
    expect(await trends('process')).toEqual({ claude: [5, 0, 0] });
    expect(await trends('repo')).toEqual({ '/srv/shop': [5, 0, 0] });
  });

  test('is not for spans of years', async () => {
    const db = await threeDays();
    const years = { from: '2020-01-01', to: span.to, groupBy: 'model' as const };
    expect(await usageTrends(db, calendar, years)).toBeUndefined();
  });
});
