import { readdirSync, readFileSync } from 'node:fs';
import { FILES } from '../../version.ts';

const FOLDER = new URL('team/postgres/', FILES);

/** The SQL of a file of this folder, for a schema of any name. */
export function sqlOf(file: string, schema: string): string {
  const text = readFileSync(new URL(file, FOLDER), 'utf8');
  return text.replaceAll('gw_team', schema);
}

/** The schema's version that this gw speaks: the number of its last migration. */
export const SCHEMA_VERSION = 6;

/** The migrations after a version, in order. */
export function migrationsAfter(version: number): { version: number; file: string }[] {
  return readdirSync(new URL('migrations/', FOLDER))
    .filter((name) => /^\d{4}_\w+\.sql$/.test(name))
    .sort()
    .map((name) => ({ version: Number(name.slice(0, 4)), file: `migrations/${name}` }))
    .filter((migration) => migration.version > version);
}
