import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const INSTALL_MS = 300_000;

/**
 * Finds a published package for tests. Returns the `node_modules` that contains it: one that `GW_CLIENTS` lists or,
 * in the long run, a new one in a temporary folder that is removed at cleanup. Undefined when it can't be installed.
 */
export async function install(
  spec: string,
  onCleanUp: (cleanUp: () => void) => void,
): Promise<string | undefined> {
  const name = spec.replace(/(?<=.)@.*$/, '');
  const installed = listedModules(spec).find((modules) => existsSync(join(modules, name)));
  if (installed) return installed;
  if (!process.env.GW_LONG) {
    console.warn(`${spec} is not installed; its tests are skipped. npm run test:long installs it`);
    return undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), 'gw-clients-'));
  onCleanUp(() => rmSync(folder, { recursive: true, force: true }));
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

/** The `node_modules` in `GW_CLIENTS`; for a spec with a version those of that version (`openai@4` in `openai4`). */
function listedModules(spec: string): string[] {
  const folders = (process.env.GW_CLIENTS ?? '').split(delimiter).filter((folder) => folder !== '');
  const version = /(?<=.)@(.*)$/.exec(spec)?.[1];
  const matches =
    version === undefined ? folders : folders.filter((folder) => folder.includes(spec.replace('@', '')));
  return matches.map((folder) => join(folder, 'node_modules'));
}
