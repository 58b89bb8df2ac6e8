import { expect, onTestFinished, test } from 'vitest';
import { createCalendar } from '../../../src/calendar.ts';
import { systemClock } from '../../../src/clock.ts';
import type { Sources } from '../../../src/operations/sources.ts';
import { createGwApi } from '../../../src/server/gw-api/gw-routes.ts';
import { createReports } from '../../../src/server/gw-api/reports.ts';
import type { SourceOptions } from '../../../src/server/gw-api/sources-of.ts';
import type { Handler } from '../../../src/server/routes.ts';
import { createProject } from '../../../src/store/accounts/projects.ts';
import {
  admissionOf,
  createWorld,
  fileDatabase,
  NOON,
  openFast,
  recordOf,
  startDaemon,
} from '../../support/simulator.ts';

/** Two projects with a request each, and the thread that reads them. */
async function started() {
  const path = await fileDatabase();
  const db = await openFast(path);
  const { ledger, nextId } = startDaemon(db, createWorld(), 0);
  for (const [name, costNanoUsd] of [
    ['web', 7_000],
    ['agents', 11_000],
  ] as const) {
    const { id: projectId } = await createProject(db, { name, now: NOON });
    const id = nextId();
    await ledger.admit(admissionOf(id, costNanoUsd, { projectId }));
    await ledger.settle(recordOf(id, { projectId, costNanoUsd }));
  }
  const reports = createReports({ path, clock: systemClock });
  onTestFinished(() => reports.close());
  const sources = (scope: object) =>
    ({ scope, calendar: createCalendar('UTC'), now: () => NOON }) as unknown as Sources;
  return { db, reports, sources };
}

const ADMIN = { project: 'web', projectId: 1, admin: true };
const AGENTS = { project: 'agents', projectId: 2, admin: false };

test('reads for a key what the key may see', async () => {
  const { reports, sources } = await started();
  expect(await reports.read('usage', { group_by: 'project' }, sources(ADMIN))).toMatchObject({
    data: [
      { project_id: 'agents', cost_nano_usd: 11_000 },
      { project_id: 'web', cost_nano_usd: 7_000 },
    ],
  });
  expect(await reports.read('usage', {}, sources(AGENTS))).toMatchObject({
    total: { cost_nano_usd: 11_000 },
  });
  expect(await reports.read('dashboardView', {}, sources(AGENTS))).toMatchObject({
    data: { totals: { cost_nano_usd: 11_000 } },
  });
});

test('refuses as the operation does', async () => {
  const { reports, sources } = await started();
  await expect(reports.read('usage', { group_by: 'nope' }, sources(ADMIN))).rejects.toMatchObject({
    ...{ name: 'GwError', status: 400, param: 'group_by', code: 'invalid_value' },
    message: expect.stringContaining('"nope"'),
  });
  await expect(reports.read('usage', { project_id: 'web' }, sources(AGENTS))).rejects.toMatchObject({
    status: 403,
    code: 'budget_forbidden',
  });
});

test('are warm once the page is about to open', async () => {
  const { db, reports } = await started();
  const gateway = { calendar: () => createCalendar('UTC'), clock: systemClock, keptBodies: {}, replays: {} };
  const options = { db, reports, gateway } as unknown as SourceOptions;
  expect(reports.isWarm()).toBe(false);
  createGwApi((answer) => answer as unknown as Handler, options).warm();
  await expect.poll(() => reports.isWarm()).toBe(true);
});

test('no report is lost for want of a thread', async () => {
  const { db } = await started();
  const reports = { read: () => Promise.reject(new Error('the thread stopped')) };
  const gateway = {
    calendar: () => createCalendar('UTC'),
    clock: systemClock,
    keptBodies: {},
    replays: {},
    ledger: {},
  };
  const { routes } = createGwApi((answer) => answer as unknown as Handler, {
    db,
    reports,
    gateway,
  } as unknown as SourceOptions);
  const read = routes['GET /v1/gw/usage'] as unknown as (...call: unknown[]) => Promise<unknown>;
  expect(
    await read(AGENTS, { request: { url: '/v1/gw/usage?from=2026-05-12&to=2026-05-12' } }, {}),
  ).toMatchObject({
    total: { cost_nano_usd: 11_000 },
  });
});
