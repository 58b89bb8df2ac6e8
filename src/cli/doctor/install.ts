import { dirname } from 'node:path';
import { messageOf } from '../../errors.ts';
import type { Context } from '../context.ts';
import { isOnPath } from '../invocation.ts';
import { broken, type Finding, ok, warning } from './check.ts';

/** The oldest supported Node, as in package.json. */
const OLDEST_NODE: readonly [number, number] = [20, 19];

export function checkNode(version = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [wantedMajor, wantedMinor] = OLDEST_NODE;
  const fits = major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
  if (fits) return ok('node', `Node ${version}`);
  return broken('node', `Node ${version} is older than ${OLDEST_NODE.join('.')}`, 'install a newer Node.js');
}

/** Checks that the native module loads, the part of an installation that can go wrong. */
export async function checkInstall({ version, program }: Context): Promise<Finding> {
  try {
    const { default: Database } = await import('better-sqlite3');
    new Database(':memory:').close();
    return ok('install', `gw ${version} in ${dirname(dirname(program))}`);
  } catch (error) {
    const where = dirname(dirname(program));
    return broken(
      'install',
      `better-sqlite3 does not load: ${messageOf(error)}`,
      `cd ${where} && npm rebuild better-sqlite3`,
    );
  }
}

/** Checks that the shell finds gw, which `eval "$(gw env)"` needs. */
export function checkPath(context: Context): Finding {
  if (isOnPath(context)) return ok('path', 'gw is on the PATH');
  return warning('path', 'gw is not on the PATH', `npm install -g ${dirname(dirname(context.program))}`);
}
