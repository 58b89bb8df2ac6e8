import { createHash } from 'node:crypto';
import type { Change } from './change.ts';
import type { FileRecord } from './connections.ts';
import {
  changedValues,
  type FormatName,
  isBlank,
  restoreValues,
  type WrittenValue,
  writeValues,
} from './edit.ts';
import { FileChanged, makeFolderOf, readBytes, removeEmptyFolders, replaceFile } from './replace-file.ts';

/** What gw writes into one file of an agent. */
export interface FileEdit {
  path: string;
  format: FormatName;
  changes: readonly Change[];
}

/** New bytes for a file. */
export interface PlannedEdit {
  path: string;
  /** The bytes when it was planned; undefined if there was no file. */
  current: Buffer | undefined;
  bytes: Buffer;
  /** The record of it, without the folders that writing will make. */
  record: FileRecord;
}

/** How a file is put back. */
export interface PlannedRestore {
  path: string;
  current: Buffer | undefined;
  /** Undefined removes the file. */
  bytes: Buffer | undefined;
  /** `exact` brings the former bytes back; `edited` only gw's values, as others have changed the file since. */
  kind: 'nothing' | 'exact' | 'edited';
  /** Values that others have changed since; they stay. */
  left: readonly WrittenValue[];
}

/** Plans an edit; with the record of an earlier one, as if that was undone before. */
export function planEdit({ path, format, changes }: FileEdit, earlier?: FileRecord): PlannedEdit {
  const restore = earlier && planRestore(earlier);
  const current = restore ? restore.current : readBytes(path);
  const base = restore ? restore.bytes : current;
  const { bytes, values } = writeValues(format, base, changes);
  const before = base === undefined ? null : base.toString('base64');
  return {
    path,
    current,
    bytes,
    record: { path, format, before, after_sha256: sha256(bytes), folders: [], values },
  };
}

/** Plans how to undo an edit. `force` takes back values that were changed since, too. */
export function planRestore(record: FileRecord, { force = false } = {}): PlannedRestore {
  const { path, format, values } = record;
  const current = readBytes(path);
  const before = record.before === null ? undefined : Buffer.from(record.before, 'base64');
  const isAsBefore = before === undefined ? current === undefined : current?.equals(before);
  if (current === undefined || isAsBefore)
    return { path, current, bytes: current, kind: 'nothing', left: [] };
  if (sha256(current) === record.after_sha256)
    return { path, current, bytes: before, kind: 'exact', left: [] };
  const { bytes, left } = restoreValues(format, current, { values, force });
  const isGone = before === undefined && isBlank(format, bytes);
  return { path, current, bytes: isGone ? undefined : bytes, kind: 'edited', left };
}

/** Writes a planned edit. Throws FileChanged if the file has changed since it was planned. */
export function writeEdit({ path, current, bytes }: PlannedEdit): void {
  replaceFile(path, { expected: current, bytes });
}

/** Makes the folders of a planned edit, and returns its complete record. */
export function prepareEdit({ path, record }: PlannedEdit): FileRecord {
  return { ...record, folders: makeFolderOf(path) };
}

const MAX_TRIES = 5;

/** Undoes an edit, and reports how. A file that changes meanwhile is read again. */
export function undoEdit(record: FileRecord, options: { force?: boolean } = {}): PlannedRestore {
  for (let tries = 1; ; tries++) {
    const plan = planRestore(record, options);
    try {
      if (plan.kind !== 'nothing') replaceFile(plan.path, { expected: plan.current, bytes: plan.bytes });
      if (plan.bytes === undefined) removeEmptyFolders(record.folders);
      return plan;
    } catch (error) {
      if (!(error instanceof FileChanged) || tries === MAX_TRIES) throw error;
    }
  }
}

/** Whether all that gw wrote into a file is still there. */
export function isIntact({ path, format, values }: FileRecord): boolean {
  const bytes = readBytes(path);
  return bytes !== undefined && changedValues(format, bytes, values).length === 0;
}

/** Accepts the file as it is now as what gw left: a run of the agent for the proof may have rewritten it. */
export function acceptFile(record: FileRecord): FileRecord {
  const bytes = readBytes(record.path);
  return bytes === undefined ? record : { ...record, after_sha256: sha256(bytes) };
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
