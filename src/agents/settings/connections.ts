import { existsSync, readFileSync } from 'node:fs';
import { openSettingsFile } from '../../config/save.ts';
import { parsePrivate } from '../../config/secrets.ts';
import type { FormatName, WrittenValue } from './edit.ts';

/** What gw wrote into a file, and how to undo it. */
export interface FileRecord {
  path: string;
  format: FormatName;
  /** The file's bytes before, in base64; null if there was no file. */
  before: string | null;
  after_sha256: string;
  /** Folders that gw made, the innermost first. */
  folders: readonly string[];
  values: readonly WrittenValue[];
}

/** What became of the proof of a connection. */
export interface ProofRecord {
  state: 'covered' | 'bypassed' | 'not_run';
  request_id: string | null;
  went_to: string | null;
}

/** An agent whose settings point at gw. */
export interface Connection {
  /** Null for what a disconnect left because others had changed it. */
  key_id: number | null;
  connected_at: string;
  proof: ProofRecord;
  files: readonly FileRecord[];
}

/** Connections by agent. The file holds former settings, which may have keys in them: it is for the owner only. */
export function readConnections(file: string): Record<string, Connection> {
  return existsSync(file)
    ? (parsePrivate(readFileSync(file, 'utf8'), file) as Record<string, Connection>)
    : {};
}

/** Remembers a connection, or forgets it. */
export async function saveConnection(
  file: string,
  agent: string,
  connection: Connection | undefined,
): Promise<void> {
  const store = await openSettingsFile(file);
  if (connection === undefined) store.delete([agent]);
  else store.set([agent], connection);
}

/** Agents whose settings send their requests to gw. */
export function connectedAgents(file: string): string[] {
  return Object.entries(readConnections(file))
    .filter(([, { key_id }]) => key_id !== null)
    .map(([name]) => name);
}
