import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The path of the first of these programs that a shell would find; undefined if there is none. */
export function findProgram(
  names: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const extensions = process.platform === 'win32' ? ['.exe', '.cmd'] : [''];
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return names
    .flatMap((name) => folders.flatMap((folder) => extensions.map((end) => join(folder, name + end))))
    .find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
