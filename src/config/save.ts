import { readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { writing } from '../write-fault.ts';
import { parsePrivate } from './secrets.ts';

/** A JSON file of settings or credentials that is open for change. Keys are paths: a dot inside a part needs escaping. */
export interface SettingsFile {
  set(path: string[], value: unknown): void;
  delete(path: string[]): void;
}

/**
 * Opens a JSON file for change, 0600, written whole and atomically by conf. Reading does not need this (load.ts),
 * so that commands which only read start without loading conf.
 */
export async function openSettingsFile(file: string): Promise<SettingsFile> {
  const { default: Conf } = await import('conf');
  const spare = createSpare(file);
  const store = new Conf<Record<string, unknown>>({
    cwd: dirname(file),
    configName: basename(file, '.json'),
    projectName: 'gw',
    projectSuffix: '',
    configFileMode: 0o600,
    clearInvalidConfig: false,
    serialize: (value) => spare.keep(JSON.stringify(value, undefined, '\t')),
    deserialize: (text) => parsePrivate(text, file) as Record<string, unknown>,
  });
  const key = (path: string[]) => path.map((part) => part.replaceAll('.', '\\.')).join('.');
  return {
    set: (path, value) => spare.beside(() => store.set(key(path), value)),
    delete: (path) => spare.beside(() => store.delete(key(path))),
  };
}

/**
 * A copy of what is about to be written. conf takes no notice of a write that a full disk takes in part, and would put
 * half a file into the place of the whole one: where there is no room for a copy nothing is begun.
 */
function createSpare(file: string) {
  const path = `${file}.${process.pid}.new`;
  let kept = '';
  return {
    keep(text: string): string {
      writeFileSync(path, text, { mode: 0o600, flush: true });
      kept = text;
      return text;
    },
    beside(write: () => void): void {
      try {
        writing(file, () => {
          write();
          if (readFileSync(file, 'utf8') !== kept) renameSync(path, realpathSync(file));
        });
      } finally {
        rmSync(path, { force: true });
      }
    },
  };
}
