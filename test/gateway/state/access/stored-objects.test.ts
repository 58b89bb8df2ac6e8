import { beforeEach, describe, expect, it } from 'vitest';
import {
  createStoredObjects,
  type StoredObjects,
} from '../../../../src/gateway/state/access/stored-objects.ts';
import { createProject } from '../../../../src/store/accounts/projects.ts';
import { type Db, openDatabase } from '../../../../src/store/database/open.ts';
import { deferred } from '../../../support/deferred.ts';

let db: Db;
let warnings: string[];
let write: (command: () => unknown) => Promise<unknown>;
let objects: StoredObjects;
const NOBODY = { named: new Set<string>(), seen: new Set<string>() };

const isOpen = (projectId: number, id: string, providers = ['openai']) => {
  try {
    objects.check({ projectId, admin: false, providers }, { ...NOBODY, named: new Set([id]) });
    return true;
  } catch {
    return false;
  }
};

beforeEach(async () => {
  db = await openDatabase(':memory:');
  await createProject(db, { name: 'one', now: 1 });
  await createProject(db, { name: 'two', now: 1 });
  warnings = [];
  write = async (command) => command();
  objects = createStoredObjects({
    db,
    ledger: { writeApart: <T>(command: () => T) => write(command) as Promise<T> },
    now: () => 1,
    warn: (message) => warnings.push(message),
  });
});

describe('an object', () => {
  it('belongs to its project from the moment that it is named, before its row is written', async () => {
    const gate = deferred<void>();
    write = async (command) => {
      await gate.promise;
      return command();
    };
    const noted = objects.note(['file-1'], { provider: 'openai', projectId: 1 });
    expect([isOpen(1, 'file-1'), isOpen(2, 'file-1')]).toEqual([true, false]);
    gate.resolve();
    await noted;
    expect([isOpen(1, 'FILE-1'), isOpen(2, 'File-1')]).toEqual([true, false]);
  });

  it('that two answers name at once is durable for both only when its row is', async () => {
    const gate = deferred<void>();
    const written: string[] = [];
    write = async (command) => {
      await gate.promise;
      return command();
    };
    const notes = ['first', 'second'].map((name) =>
      objects.note(['file-1'], { provider: 'openai', projectId: 1 }).then(() => written.push(name)),
    );
    await new Promise(setImmediate);
    expect(written).toEqual([]);
    gate.resolve();
    await Promise.all(notes);
  });

  it('whose row was lost with the daemon is open to no project', async () => {
    write = () => Promise.reject(new Error('disk full'));
    await objects.note(['file-1'], { provider: 'openai', projectId: 1 });
    expect([isOpen(1, 'file-1'), isOpen(2, 'file-1')]).toEqual([false, false]);
    expect(warnings).toEqual(['could not write down who made 1 stored objects: disk full']);
  });

  it('stays with who made it first, and is another object at another provider', async () => {
    await objects.note(['file-1'], { provider: 'openai', projectId: 1 });
    await objects.note(['file-1'], { provider: 'openai', projectId: 2 });
    expect([isOpen(1, 'file-1'), isOpen(2, 'file-1')]).toEqual([true, false]);
    expect([isOpen(1, 'file-1', ['local']), isOpen(2, 'file-1', ['local'])]).toEqual([false, false]);
  });
});
