import type { Db } from './open.ts';
import type * as schema from './schema.ts';

type TableName = keyof typeof schema;

export type Row<Table extends TableName> = (typeof schema)[Table]['$inferSelect'];

/** The name in SQL of a column, which the schema's rows have in camel case. */
export type ColumnName<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${ColumnName<Rest>}`
  : '';

export function columnName<Name extends string>(name: Name): ColumnName<Name> {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) as ColumnName<Name>;
}

/** SQL that selects columns under their names in the schema. `from`: the table's alias, if the statement needs one. */
export function columnsAs(names: readonly string[], from?: string): string {
  const prefix = from === undefined ? '' : `${from}.`;
  return names
    .map((name) => (columnName(name) === name ? prefix + name : `${prefix}${columnName(name)} AS ${name}`))
    .join(', ');
}

/** Fields of an object under the names of their columns. */
export const byColumnName = <Name extends string, Value>(
  names: readonly Name[],
  read: (name: Name) => Value,
): Record<ColumnName<Name>, Value> =>
  Object.fromEntries(names.map((name) => [columnName(name), read(name)])) as Record<ColumnName<Name>, Value>;

/** Inserts a row, whose other columns get their defaults, and returns its id. Call it within a write transaction. */
export function insertRow<Table extends TableName>(
  db: Db,
  table: Table,
  row: (typeof schema)[Table]['$inferInsert'],
): number {
  const names = Object.keys(row);
  const insert = db.prepare<object>(`INSERT INTO ${columnName(table)} (${names.map(columnName).join(', ')})
    VALUES (${names.map((name) => `@${name}`).join(', ')})`);
  const values = Object.entries(row).map(([name, value]) => [
    name,
    typeof value === 'boolean' ? Number(value) : value,
  ]);
  return Number(insert.run(Object.fromEntries(values)).lastInsertRowid);
}
