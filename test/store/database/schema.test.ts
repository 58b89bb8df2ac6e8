import { getTableConfig } from 'drizzle-orm/sqlite-core';
import { describe, expect, test } from 'vitest';
import { COUNTERS } from '../../../src/store/archive/usage-sums.ts';
import type { Db } from '../../../src/store/database/open.ts';
import * as schema from '../../../src/store/database/schema.ts';
import { requestColumns, writer } from '../../../src/store/ledger/request-columns.ts';
import { memoryDatabase } from '../../support/simulator.ts';

interface Column {
  name: string;
  type: string;
  notnull: number;
  pk: number;
  dflt_value: string | null;
}

const TABLES = Object.values(schema).map((table) => getTableConfig(table));

test.each(TABLES.map((table) => [table.name, table] as const))(
  'the schema and the migrations agree on table %s',
  async (name, table) => {
    const db = await memoryDatabase();
    const stored = db.pragma(`table_info(${name})`) as Column[];
    const composite = table.primaryKeys[0]?.columns.map((column) => column.name) ?? [];
    const described = table.columns.map((column) => ({
      name: column.name,
      type: column.getSQLType(),
      notNull: column.notNull,
      key: composite.length > 0 ? composite.indexOf(column.name) + 1 : Number(column.primary),
      default: column.default === undefined ? null : column.default,
    }));
    expect(described).toEqual(
      stored.map((column) => ({
        name: column.name,
        type: column.type.toLowerCase(),
        notNull: column.notnull === 1,
        key: column.pk,
        default: literal(column.dflt_value),
      })),
    );
  },
);

/** A default as SQL writes it, as a value. */
function literal(sql: string | null): string | number | null {
  if (sql === null) return null;
  return sql.startsWith("'") ? sql.slice(1, -1) : Number(sql);
}

test('every table of a migrated database is in the schema, and every index that the schema names exists', async () => {
  const db = await memoryDatabase();
  const named = (type: string) =>
    db
      .prepare("SELECT name FROM sqlite_master WHERE type = ? AND name NOT LIKE 'sqlite_%' ORDER BY name")
      .pluck()
      .all(type);
  expect(named('table').filter((name) => name !== '__drizzle_migrations')).toEqual(
    TABLES.map(({ name }) => name).sort(),
  );
  expect(named('index')).toEqual(
    TABLES.flatMap(({ indexes }) => indexes.map(({ config }) => config.name)).sort(),
  );
});

test('every table is STRICT, so that a column holds what it says', async () => {
  const db = await memoryDatabase();
  const lax = db
    .prepare(
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0 AND name NOT LIKE 'sqlite_%'",
    )
    .pluck()
    .all();
  expect(lax).toEqual(['__drizzle_migrations']);
});

describe('the columns of a request', () => {
  const IN_ORDER_ONLY = ['ahead_ms', 'admitted_us', 'settled_us'];
  const columnsOf = (db: Db, table: string) =>
    (db.pragma(`table_info(${table})`) as Column[]).map(({ name }) => name).sort();

  test.each([
    ['journal', requestColumns(() => true)],
    ['requests', requestColumns(({ only }) => only === undefined)],
    ['request_details', ['id', ...requestColumns(({ only }) => only === 'details')]],
  ])('are those of %s', async (table, columns) => {
    expect(columnsOf(await memoryDatabase(), table)).toEqual([...columns].sort());
  });

  test('are those of the view of both, with the time', async () => {
    const read = requestColumns(({ only }) => only !== 'journal');
    expect(columnsOf(await memoryDatabase(), 'request_log')).toEqual(
      [...read.filter((name) => !IN_ORDER_ONLY.includes(name)), 'at'].sort(),
    );
  });

  test('are written in the order of their values', async () => {
    const seen: unknown[] = [];
    const record = writer<{ a: number; b: string }>({ run: (...values) => seen.push(...values) }, [
      ({ a }) => a,
      ({ b }) => b,
      () => null,
    ]);
    record({ a: 1, b: 'two' });
    record({ a: 3, b: 'four' });
    expect(seen).toEqual([1, 'two', null, 3, 'four', null]);
  });
});

test('the figures of a rollup are those of each table that sums them', async () => {
  const db = await memoryDatabase();
  for (const [table, keys] of [
    ['usage_hours', 2],
    ['usage_sums', 6],
  ] as const) {
    const stored = db.pragma(`table_info(${table})`) as Column[];
    expect(
      stored.slice(keys).map(({ name }) => name),
      table,
    ).toEqual(COUNTERS);
  }
});
