import { describe, expect, test } from 'vitest';
import { createCallerLookup } from '../../../src/store/accounts/callers.ts';
import { createKey, hashKey, listKeys, revokeKey } from '../../../src/store/accounts/keys.ts';
import {
  createProject,
  findProject,
  getProject,
  listProjects,
  projectIds,
  removeProject,
  setPaused,
  setPlan,
} from '../../../src/store/accounts/projects.ts';
import { listBudgets, setBudget } from '../../../src/store/budgets/budgets.ts';
import { admissionOf, createWorld, memoryDatabase, NOON, startDaemon } from '../../support/simulator.ts';

const NO_LIMITS = { expiresAt: null, models: null, rpm: null };

describe('createProject()', () => {
  test('makes a project on the pro plan, listed by name', async () => {
    const db = await memoryDatabase();
    expect(await createProject(db, { name: 'web', now: NOON })).toEqual({
      id: 1,
      name: 'web',
      plan: 'pro',
      createdAt: NOON,
      pausedAt: null,
    });
    await createProject(db, { name: 'api', plan: 'free', now: NOON });
    expect((await listProjects(db)).map(({ name }) => name)).toEqual(['api', 'web']);
  });

  test.each(['', 'Web', 'my web', '-web', 'x'.repeat(64), 'wéb', 'a/b'])(
    'refuses the name %j',
    async (name) => {
      const db = await memoryDatabase();
      await expect(createProject(db, { name, now: NOON })).rejects.toMatchObject({
        status: 400,
        param: 'name',
      });
    },
  );

  test('refuses a name that is taken', async () => {
    const db = await memoryDatabase();
    await createProject(db, { name: 'web', now: NOON });
    await expect(createProject(db, { name: 'web', now: NOON })).rejects.toMatchObject({
      status: 409,
      code: 'project_exists',
    });
  });
});

describe('a project', () => {
  test('is found by its name in any letter case, and returned for its exact name alone', async () => {
    const db = await memoryDatabase();
    const { id } = await createProject(db, { name: 'web', now: NOON });
    expect(findProject(db, 'WEB')).toBe(id);
    await expect(getProject(db, 'WEB')).rejects.toMatchObject({ status: 404 });
    await expect(createProject(db, { name: 'web', now: NOON })).rejects.toMatchObject({ status: 409 });
  });

  test('that was removed comes back under its id, with its plan anew and running', async () => {
    const db = await memoryDatabase();
    const { id } = await createProject(db, { name: 'web', plan: 'team', now: NOON });
    await setPaused(db, 'web', NOON);
    await removeProject(db, 'web', NOON);
    expect(projectIds(db)).toEqual([]);
    expect(() => findProject(db, 'web')).toThrow('no project "web"');
    expect(await createProject(db, { name: 'web', now: NOON + 1 })).toEqual({
      id,
      name: 'web',
      plan: 'pro',
      createdAt: NOON,
      pausedAt: null,
    });
    expect(projectIds(db)).toEqual([id]);
  });

  test('changes its plan, pauses and resumes', async () => {
    const db = await memoryDatabase();
    await createProject(db, { name: 'web', now: NOON });
    await setPlan(db, 'web', 'team');
    await setPaused(db, 'web', NOON);
    expect(await getProject(db, 'web')).toMatchObject({ plan: 'team', pausedAt: NOON });
    await setPaused(db, 'web', null);
    expect((await getProject(db, 'web')).pausedAt).toBeNull();
  });

  test('that does not exist is named with what to run', async () => {
    const db = await memoryDatabase();
    for (const act of [getProject(db, 'web'), setPlan(db, 'web', 'free'), removeProject(db, 'web', NOON)])
      await expect(act).rejects.toMatchObject({
        status: 404,
        message: 'no project "web". See: gw projects list. To make it: gw projects add web',
      });
  });
});

describe('removeProject()', () => {
  test('keeps the default project', async () => {
    const db = await memoryDatabase();
    await createProject(db, { name: 'default', now: NOON });
    await expect(removeProject(db, 'default', NOON)).rejects.toThrow('cannot be removed');
  });

  test('takes its keys and budgets with it, for good', async () => {
    const db = await memoryDatabase();
    const world = createWorld();
    const context = { calendar: world.calendar, now: NOON };
    const project = await createProject(db, { name: 'web', now: NOON });
    const { key } = await createKey(db, { projectId: project.id, now: NOON });
    await setBudget(db, project, { period: 'daily', capNanoUsd: 5 }, context);
    await removeProject(db, 'web', NOON);
    expect(await listProjects(db)).toEqual([]);
    expect(await listKeys(db)).toEqual([]);
    const { ledger } = startDaemon(db, world, 0);
    world.clock.set(NOON + 86_400_000);
    await ledger.roll();
    expect(db.prepare('SELECT count(*) FROM events').pluck().get()).toBe(0);

    const again = await createProject(db, { name: 'web', plan: 'free', now: NOON });
    expect(again).toMatchObject({ id: project.id, plan: 'free' });
    expect(createCallerLookup(db)(hashKey(key))).toBeUndefined();
    expect((await listKeys(db)).map(({ revokedAt }) => revokedAt)).toEqual([NOON]);
    expect(await listBudgets(db, [project.id], context)).toEqual([]);
  });

  test('leaves the holds of requests that run to settle', async () => {
    const db = await memoryDatabase();
    const world = createWorld();
    const project = await createProject(db, { name: 'web', now: NOON });
    const { ledger, nextId } = startDaemon(db, world, 0);
    const id = nextId();
    await ledger.admit(admissionOf(id, 5, { projectId: project.id }));
    await removeProject(db, 'web', NOON);
    expect(await ledger.closeHolds(0)).toBe(1);
  });
});

describe('keys', () => {
  test('are shown once, stored as a hash, and found by it', async () => {
    const db = await memoryDatabase();
    const project = await createProject(db, { name: 'web', plan: 'team', now: NOON });
    const { id, key } = await createKey(db, { projectId: project.id, admin: true, label: 'ci', now: NOON });
    expect(key).toMatch(/^sk-gw-/);
    expect(await listKeys(db, project.id)).toEqual([
      {
        id,
        project: 'web',
        admin: true,
        label: 'ci',
        hint: key.slice(-4),
        createdAt: NOON,
        revokedAt: null,
        ...NO_LIMITS,
        oldUntil: null,
        teamKeyId: null,
      },
    ]);
    expect(createCallerLookup(db)(hashKey(key))).toEqual({
      keyId: id,
      projectId: project.id,
      project: 'web',
      plan: 'team',
      admin: true,
      paused: false,
      hasBudget: false,
      labels: null,
      isTeam: false,
      ...NO_LIMITS,
    });
    const everything = db.serialize().toString('latin1');
    expect(everything).not.toContain(key.slice(6));
  });

  test('are of their own project only', async () => {
    const db = await memoryDatabase();
    const [web, api] = [
      await createProject(db, { name: 'web', now: NOON }),
      await createProject(db, { name: 'api', now: NOON }),
    ];
    await createKey(db, { projectId: web.id, now: NOON });
    const other = await createKey(db, { projectId: api.id, now: NOON });
    expect((await listKeys(db, api.id)).map(({ id }) => id)).toEqual([other.id]);
    expect(await listKeys(db)).toHaveLength(2);
  });

  test('stop working with the request after they are revoked, or their project is paused', async () => {
    const db = await memoryDatabase();
    const project = await createProject(db, { name: 'web', now: NOON });
    const { id, key } = await createKey(db, { projectId: project.id, now: NOON });
    const find = createCallerLookup(db);
    await setPaused(db, 'web', NOON);
    expect(find(hashKey(key))).toMatchObject({ paused: true, admin: false });
    await revokeKey(db, id, NOON);
    expect(find(hashKey(key))).toBeUndefined();
    await expect(revokeKey(db, id, NOON)).rejects.toMatchObject({ status: 404, code: 'key_not_found' });
  });
});
