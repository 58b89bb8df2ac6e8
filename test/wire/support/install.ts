import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const INSTALL_MS = 300_000;

/**
 * The `node_modules` that has a package, for tests of programs as they are published: one that `GW_CLIENTS` names, or,
 * in the long run, a new one in a temporary folder that `undo` removes. Undefined where it can't be had.
 */
export async function install(spec: string, undo: (run: () => void) => void): Promise<string | undefined> {
  const name = spec.replace(/(?<=.)@.*$/, '');
  const found = placesOf(spec).find((place) => existsSync(join(place, name)));
  if (found) return found;
  if (!process.env.GW_LONG) {
    console.warn(`${spec} is not installed; its tests are skipped. npm run test:long installs it`);
    return undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), 'gw-clients-'));
  undo(() => rmSync(folder, { recursive: true, force: true }));
  const args = ['install', '--prefix', folder, '--legacy-peer-deps', '--no-audit', '--no-fund', spec];
  try {
    await promisify(execFile)('npm', args, { timeout: INSTALL_MS });
    return join(folder, 'node_modules');
  } catch (error) {
    const [reason = ''] = String((error as { stderr?: string }).stderr || error).split('\n');
    console.warn(`${spec} cannot be installed, so its tests are skipped: ${reason}`);
    return undefined;
  }
}

/** Of the folders in `GW_CLIENTS`, those of the package's version (`openai@4` in `openai4`), or all for a program. */
function placesOf(spec: string): string[] {
  const places = (process.env.GW_CLIENTS ?? '').split(delimiter).filter((place) => place !== '');
  const version = /(?<=.)@(.*)$/.exec(spec)?.[1];
  const fitting =
    version === undefined ? places : places.filter((place) => place.includes(spec.replace('@', '')));
  return fitting.map((place) => join(place, 'node_modules'));
}
