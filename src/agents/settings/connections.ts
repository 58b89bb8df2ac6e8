import { existsSync, readFileSync } from 'node:fs';
import { openSettingsFile } from '../../config/save.ts';
import { parsePrivate } from '../../config/secrets.ts';
import type { FormatName, WrittenValue } from './edit.ts';

/** Changes that gw made to a file, with the data to undo them. */
export interface FileRecord {
  path: string;
  format: FormatName;
  /** The file's former bytes in base64; null if the file didn't exist. */
  before: string | null;
  after_sha256: string;
  /** Folders that gw created, innermost first. */
  folders: readonly string[];
  values: readonly WrittenValue[];
}

/** Result of a connection's proof run. */
export interface ProofRecord {
  state: 'covered' | 'bypassed' | 'not_run';
  request_id: string | null;
  went_to: string | null;
}

/** An agent whose settings point at gw. */
export interface Connection {
  /** Null after a disconnect that kept values changed by others. */
  key_id: number | null;
  connected_at: string;
  proof: ProofRecord;
  files: readonly FileRecord[];
}

/** Connections by agent. The file is private to its owner: it holds former settings, which may contain keys. */
export function readConnections(file: string): Record<string, Connection> {
  return existsSync(file)
    ? (parsePrivate(readFileSync(file, 'utf8'), file) as Record<string, Connection>)
    : {};
}

/** Stores a connection; undefined deletes it. */
export async function saveConnection(
  file: string,
  agent: string,
  connection: Connection | undefined,
): Promise<void> {
  const store = await openSettingsFile(file);
  if (connection === undefined) store.delete([agent]);
  else store.set([agent], connection);
}

/** Names of agents whose settings point at gw. */
export function connectedAgents(file: string): string[] {
  return Object.entries(readConnections(file))
    .filter(([, { key_id }]) => key_id !== null)
    .map(([name]) => name);
}
