import { readdirSync, readFileSync } from 'node:fs';
import { FILES } from '../../version.ts';

const FOLDER = new URL('team/postgres/', FILES);

/** Reads an SQL file of this folder, with the schema's name replaced. */
export function sqlOf(file: string, schema: string): string {
  const text = readFileSync(new URL(file, FOLDER), 'utf8');
  return text.replaceAll('gw_team', schema);
}

/** The schema version of this gw: the number of the last migration. */
export const schemaVersion = (): number => migrationsAfter(0).at(-1)?.version ?? 0;

/** The migrations after a version, in order. */
export function migrationsAfter(version: number): { version: number; file: string }[] {
  return readdirSync(new URL('migrations/', FOLDER))
    .filter((name) => /^\d{4}_\w+\.sql$/.test(name))
    .sort()
    .map((name) => ({ version: Number(name.slice(0, 4)), file: `migrations/${name}` }))
    .filter((migration) => migration.version > version);
}
