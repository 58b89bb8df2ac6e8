import { describe, expect, test } from 'vitest';
import { createKey, revokeKey } from '../../../src/store/accounts/keys.ts';
import { removePrice, setPrice } from '../../../src/store/accounts/prices.ts';
import { createProject, removeProject, setPaused, setPlan } from '../../../src/store/accounts/projects.ts';
import { removeBudget, setBudget } from '../../../src/store/budgets/budgets.ts';
import { openDatabase } from '../../../src/store/database/open.ts';
import { createConfigurationWatch, inTransaction } from '../../../src/store/database/write.ts';
import {
  admissionOf,
  createWorld,
  fileDatabase,
  memoryDatabase,
  NOON,
  startDaemon,
} from '../../support/simulator.ts';

describe('createConfigurationWatch()', () => {
  test('tells of each change that another connection makes, once', async () => {
    const path = await fileDatabase();
    const [daemon, command] = [await openDatabase(path), await openDatabase(path)];
    const { calendar } = createWorld();
    const watch = createConfigurationWatch(daemon);
    expect(watch.changed()).toBe(false);
    const project = await createProject(command, { name: 'web', now: NOON });
    expect([watch.changed(), watch.changed()]).toEqual([true, false]);
    const changes = [
      () => createKey(command, { projectId: project.id, now: NOON }),
      () => revokeKey(command, 1, NOON),
      () => setPlan(command, 'web', 'free'),
      () => setPaused(command, 'web', NOON),
      () => setPrice(command, { provider: '', model: 'm', inputPicoUsd: 1, outputPicoUsd: 1 }, NOON),
      () => removePrice(command, '', 'm'),
      () => setBudget(command, project, { period: 'daily', capNanoUsd: 1 }, { calendar, now: NOON }),
      () => removeBudget(command, project, { period: 'daily' }, NOON),
      () => removeProject(command, 'web', NOON),
    ];
    for (const change of changes) {
      await change();
      expect([watch.changed(), watch.changed()], String(change)).toEqual([true, false]);
    }
  });

  test('is not stirred by the requests of another daemon', async () => {
    const path = await fileDatabase();
    const [own, other] = [await openDatabase(path), await openDatabase(path)];
    await createProject(other, { name: 'web', now: NOON });
    const watch = createConfigurationWatch(own);
    const daemon = startDaemon(other, createWorld(), 0);
    await daemon.ledger.admit(admissionOf(daemon.nextId(), 5));
    expect(watch.changed()).toBe(false);
  });
});

describe('inTransaction()', () => {
  test('undoes everything when its body throws, and passes the error on', async () => {
    const db = await memoryDatabase();
    const insert = db.prepare('INSERT INTO names (name) VALUES (?)');
    const act = () =>
      inTransaction(db, () => {
        insert.run('half');
        throw new RangeError('mine');
      });
    expect(act).toThrow(RangeError);
    expect(db.prepare("SELECT count(*) FROM names WHERE name = 'half'").pluck().get()).toBe(0);
  });
});
