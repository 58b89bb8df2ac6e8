import { type Labels, labelsText } from '../../labels.ts';
import { withoutOwnKeys } from '../../redact.ts';
import { createIdCache } from '../database/names.ts';
import type { Db } from '../database/open.ts';

/** In place of names and values that come later than so many. */
const OTHER = 'other';

/** What clients can make gw keep of the labels of a project. Every further daemon on the database may add as much. */
const MAX_NAMES = 100;
const MAX_VALUES = 1_000;
const MAX_SETS = 10_000;

/** The sets of labels that requests have had. */
export type LabelSets = ReturnType<typeof createLabelSets>;

/**
 * Labels are counted as they are up to a bound: in each project the first values of a name, of the first names, in the
 * first combinations. Later ones count as `other`, so that a flood of them takes neither memory nor disk. Nothing is
 * deleted, so a value that is counted once is always counted. Call its functions within a write transaction.
 */
export function createLabelSets(db: Db) {
  const select = db
    .prepare<[number, string], number>('SELECT id FROM label_sets WHERE project_id = ? AND labels = ?')
    .pluck();
  const insert = db.prepare<[number, string]>('INSERT INTO label_sets (project_id, labels) VALUES (?, ?)');
  const ids = createIdCache();
  const values = createLabelValues(db);
  const sets = createCount(db, 'label_sets WHERE project_id = ?');

  function idOfText(projectId: number, text: string): number | undefined {
    const key = `${projectId} ${text}`;
    const id = ids.get(key) ?? select.get(projectId, text);
    if (id !== undefined) ids.set(key, id);
    return id;
  }

  function add(projectId: number, text: string): number {
    sets.add(projectId);
    return Number(insert.run(projectId, text).lastInsertRowid);
  }

  return {
    /** The id of a request's labels; 0 without any. */
    idOf(projectId: number, labels: Labels | undefined): number {
      if (labels === undefined || labels.size === 0) return 0;
      const counted = new Map([...labels].map((label) => values.counted(projectId, label)).sort(byName));
      const known = idOfText(projectId, labelsText(counted));
      if (known !== undefined) return known;
      const text = labelsText(sets.of(projectId) < MAX_SETS ? counted : new Map([[OTHER, OTHER]]));
      return idOfText(projectId, text) ?? add(projectId, text);
    },
    /** The value that a label of a request is counted under; '' if it has none of that name. */
    valueOf(projectId: number, labels: Labels | undefined, name: string): string {
      const value = labels?.get(name);
      return value === undefined ? '' : values.counted(projectId, [name, value])[1];
    },
    /** The transaction has ended. */
    settle(isCommitted: boolean) {
      ids.settle(isCommitted);
      values.settle(isCommitted);
    },
  };
}

type Label = readonly [name: string, value: string];

const byName = ([a]: Label, [b]: Label) => (a < b ? -1 : 1);

function createLabelValues(db: Db) {
  const exists = db
    .prepare<[number, string, string], number>(
      'SELECT 1 FROM label_values WHERE project_id = ? AND name = ? AND value = ?',
    )
    .pluck();
  const insert = db.prepare<[number, string, string]>(
    'INSERT INTO label_values (project_id, name, value) VALUES (?, ?, ?)',
  );
  const names = createCount(db, '(SELECT DISTINCT name FROM label_values WHERE project_id = ?)');
  const values = createCount(db, 'label_values WHERE project_id = ? AND name = ?');
  const known = createIdCache();
  return {
    /** A label as it is counted. It is added if it is new and there is room. */
    counted(projectId: number, [name, text]: Label): Label {
      const value = withoutOwnKeys(text);
      const key = `${projectId} ${name}=${value}`;
      if (known.get(key) !== undefined) return [name, value];
      if (exists.get(projectId, name, value) === undefined) {
        const isNew = names.of(projectId) >= MAX_NAMES ? values.peek(projectId, name) === 0 : false;
        if (isNew) return [OTHER, OTHER];
        const count = values.of(projectId, name);
        if (count >= MAX_VALUES) return [name, OTHER];
        if (count === 0) names.add(projectId);
        values.add(projectId, name);
        insert.run(projectId, name, value);
      }
      known.set(key, 1);
      return [name, value];
    },
    settle: known.settle,
  };
}

/** The number of rows of a source, which is counted once. */
function createCount<Key extends (number | string)[]>(db: Db, source: string) {
  const select = db.prepare<Key, number>(`SELECT count(*) FROM ${source}`).pluck();
  const counts = new Map<string, number>();
  const peek = (...key: Key) => counts.get(key.join(' ')) ?? select.get(...key) ?? 0;
  return {
    /** As `of`, of a key that may be one of very many. */
    peek,
    of(...key: Key): number {
      const count = peek(...key);
      counts.set(key.join(' '), count);
      return count;
    },
    add: (...key: Key): void => void counts.set(key.join(' '), peek(...key) + 1),
  };
}
