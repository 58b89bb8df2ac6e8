import { execFile } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installPython } from '../support/install-python.ts';

const CACHE = join(import.meta.dirname, '../../.agents');
const INSTALL_MS = 600_000;

/** An agent's package. The version is pinned: what an agent reads changes from one to the next. */
export interface Package {
  registry: 'npm' | 'pypi';
  spec: string;
  /** The name of its executable. */
  bin: string;
  /** The version of Python that it needs, where any 3.11 or later won't do. */
  python?: string;
}

/** Installs a package into the cache, unless it is there. Returns the path of its executable. Rejects if it can't. */
export async function installAgent({ registry, spec, bin, python }: Package): Promise<string> {
  if (registry === 'pypi') return join(await installPython([spec], python), bin);
  const folder = join(CACHE, spec.replaceAll('/', '_'));
  const path = join(folder, 'node_modules/.bin', bin);
  if (existsSync(path)) return path;
  const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', spec];
  mkdirSync(CACHE, { recursive: true });
  await promisify(execFile)('npm', args, { timeout: INSTALL_MS });
  if (!existsSync(path)) throw new Error(`${spec} has no executable ${bin}`);
  return path;
}
