import { pathText } from '../../agents/settings/change.ts';
import {
  type Connection,
  type FileRecord,
  readConnections,
  saveConnection,
} from '../../agents/settings/connections.ts';
import { type PlannedRestore, undoEdit } from '../../agents/settings/edit-file.ts';
import { revokeKey } from '../../store/accounts/keys.ts';
import { type Context, note } from '../context.ts';
import { withStore } from '../with-store.ts';
import { agentNamed, editing } from './agents.ts';
import { shortPath } from './view.ts';

/** Puts an agent's settings back and revokes its key. Returns whether values of gw stayed, as others have changed them. */
export async function disconnectAgent(
  context: Context,
  name: string,
  { force = false }: { force?: boolean } = {},
): Promise<boolean> {
  const connection = readConnections(context.paths.connections)[name];
  if (connection === undefined) {
    note(context, `${agentNamed(name).title} is not connected.`);
    return false;
  }
  const results = connection.files.map((record) => ({ record, restore: undo(record, force) }));
  for (const { restore } of results) note(context, resultText(context, restore));
  const left = results.flatMap(({ record, restore }) => leftOf(record, restore));
  await saveConnection(
    context.paths.connections,
    name,
    left.length === 0 ? undefined : { ...connection, key_id: null, files: left },
  );
  await revoke(context, connection);
  for (const file of left) {
    const values = file.values.map(({ path }) => pathText(path)).join(', ');
    note(
      context,
      `${values} in ${shortPath(context, file.path)} was changed by others since; left as it is.`,
    );
  }
  if (left.length > 0) note(context, `To put it back as well: gw disconnect ${name} --force`);
  else note(context, `${agentNamed(name).title} is disconnected.`);
  return left.length > 0;
}

/** Undoes the edits of a connection, the last one first. */
export function undoAll(connection: Pick<Connection, 'files'>): void {
  for (const record of connection.files.toReversed()) undo(record, false);
}

/** Revokes the key of a connection, if nobody has done so. */
export async function revoke(context: Context, { key_id: id }: Pick<Connection, 'key_id'>): Promise<void> {
  if (id === null) return;
  await withStore(context, (db) => revokeKey(db, id, context.clock.now()).catch(() => undefined));
}

function undo(record: FileRecord, force: boolean): PlannedRestore {
  return editing(record.path, () => undoEdit(record, { force }));
}

function leftOf(record: FileRecord, { left }: PlannedRestore): FileRecord[] {
  return left.length === 0 ? [] : [{ ...record, values: left }];
}

function resultText(context: Context, { path, bytes, kind }: PlannedRestore): string {
  const file = shortPath(context, path);
  if (kind === 'nothing') return `${file} has nothing of gw.`;
  if (bytes === undefined) return `Removed ${file}, which gw had made.`;
  if (kind === 'exact') return `${file} is as it was before.`;
  return `${file} was changed by others since: only gw's values were put back.`;
}
