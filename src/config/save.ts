import { basename, dirname } from 'node:path';

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
  const store = new Conf<Record<string, unknown>>({
    cwd: dirname(file),
    configName: basename(file, '.json'),
    projectName: 'gw',
    projectSuffix: '',
    configFileMode: 0o600,
    clearInvalidConfig: false,
  });
  const key = (path: string[]) => path.map((part) => part.replaceAll('.', '\\.')).join('.');
  return {
    set: (path, value) => store.set(key(path), value),
    delete: (path) => store.delete(key(path)),
  };
}
