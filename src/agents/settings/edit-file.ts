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

/** Changes to one settings file of an agent. */
export interface FileEdit {
  path: string;
  format: FormatName;
  changes: readonly Change[];
}

/** A planned edit of a file. */
export interface PlannedEdit {
  path: string;
  /** The file's bytes at planning time; undefined if it didn't exist. */
  current: Buffer | undefined;
  bytes: Buffer;
  /** Record of the edit; `folders` is filled in when they are created. */
  record: FileRecord;
}

/** A planned undo of an edit. */
export interface PlannedRestore {
  path: string;
  current: Buffer | undefined;
  bytes: Buffer | undefined;
  /**
   * `exact` restores the former bytes; `edited` restores only gw's values, because others have changed the file since.
   */
  kind: 'nothing' | 'exact' | 'edited';
  /** Values that others have changed since the edit; they stay. */
  left: readonly WrittenValue[];
}

/** Plans an edit. `earlier` is the record of a previous edit, which is undone first. */
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

/** Plans the undo of an edit. `force` also restores values that others have changed since. */
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

/** Writes a planned edit. Throws FileChanged if the file has changed since planning. */
export function writeEdit({ path, current, bytes }: PlannedEdit): void {
  replaceFile(path, { expected: current, bytes });
}

/** Creates the folders of a planned edit and returns its complete record. */
export function prepareEdit({ path, record }: PlannedEdit): FileRecord {
  return { ...record, folders: makeFolderOf(path) };
}

const MAX_TRIES = 5;

/** Undoes an edit and returns the applied plan. Plans again if the file changes meanwhile. */
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

/** Whether the file still has all values that gw wrote. */
export function isIntact({ path, format, values }: FileRecord): boolean {
  const bytes = readBytes(path);
  return bytes !== undefined && changedValues(format, bytes, values).length === 0;
}

/** Records the file's current bytes as gw's result, because the proof run of the agent may have rewritten the file. */
export function acceptFile(record: FileRecord): FileRecord {
  const bytes = readBytes(record.path);
  return bytes === undefined ? record : { ...record, after_sha256: sha256(bytes) };
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
