import { readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { writing } from '../write-fault.ts';
import { parsePrivate } from './secrets.ts';

/** A JSON file of settings or credentials, open for writing. A key is an array of path segments. */
export interface SettingsFile {
  set(path: string[], value: unknown): void;
  delete(path: string[]): void;
}

/**
 * Opens a JSON file for atomic writes with mode 0600, by conf. Read-only commands use load.ts, which doesn't load conf.
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
    deserialize: (text) => parsePrivate(text, file),
  });
  const key = (path: string[]) => path.map((part) => part.replaceAll('.', '\\.')).join('.');
  return {
    set: (path, value) => spare.beside(() => store.set(key(path), value)),
    delete: (path) => spare.beside(() => store.delete(key(path))),
  };
}

/**
 * Copy of the content to be written. On a full disk, conf doesn't notice a short write and replaces the file with half
 * a file. Writing the copy first fails before the file is touched.
 */
function createSpare(file: string) {
  const path = `${file}.${process.pid}.new`;
  let savedText = '';
  return {
    keep(text: string): string {
      writeFileSync(path, text, { mode: 0o600, flush: true });
      savedText = text;
      return text;
    },
    beside(write: () => void): void {
      try {
        writing(file, () => {
          write();
          if (readFileSync(file, 'utf8') !== savedText) renameSync(path, realpathSync(file));
        });
      } finally {
        rmSync(path, { force: true });
      }
    },
  };
}
