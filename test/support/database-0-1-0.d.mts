import type Database from 'better-sqlite3';

export function makeOldDatabase(
  file: string,
  options: { requests: number; days?: number; start?: number; pruned?: number },
): Database.Database;
