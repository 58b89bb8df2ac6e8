import { execFile } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const CACHE = join(import.meta.dirname, '../../.agents');
const INSTALL_MS = 600_000;

/** An agent's package. The version is pinned: what an agent reads changes from one to the next. */
export interface Package {
  registry: 'npm' | 'pypi';
  spec: string;
  /** The name of its executable. */
  bin: string;
}

/** Installs a package into the cache, unless it is there. Returns the path of its executable. Rejects if it can't. */
export async function installAgent({ registry, spec, bin }: Package): Promise<string> {
  const folder = join(CACHE, spec.replaceAll(/[/=]+/g, '_'));
  const path = join(folder, registry === 'npm' ? 'node_modules/.bin' : 'bin', bin);
  if (existsSync(path)) return path;
  mkdirSync(CACHE, { recursive: true });
  const run = (program: string, ...args: string[]) =>
    promisify(execFile)(program, args, { timeout: INSTALL_MS });
  if (registry === 'npm') await run('npm', 'install', '--prefix', folder, '--no-audit', '--no-fund', spec);
  else {
    await run('python3', '-m', 'venv', folder);
    await run(join(folder, 'bin/pip'), 'install', '--quiet', spec);
  }
  if (!existsSync(path)) throw new Error(`${spec} has no executable ${bin}`);
  return path;
}
