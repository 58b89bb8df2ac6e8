/**
 * The last step of a build, run from `dist`, which has the compiled modules: bundles them into `dist/bundle`, from which
 * gw runs, copies the SQL, and writes down what was built. Hundreds of modules take gw as long to load as all else that it
 * does before it answers.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import type { BuiltWorker } from './worker-calls.ts';

const DIST = new URL('.', import.meta.url);
const BUNDLE = new URL('bundle/', DIST);

/** What starts a process or a thread. All files of the bundle stand in one folder, so that `FILES` is the same for each. */
const ENTRIES: Record<'main' | 'statusline' | BuiltWorker, string> = {
  main: 'cli/main.js',
  statusline: 'cli/statusline/main.js',
  'attribution-worker': 'attribution/worker.js',
  'checkpoints-worker': 'store/checkpoints/worker.js',
  'compression-worker': 'compression/worker.js',
  'scan-worker': 'gateway/intake/scan-worker.js',
  'tokens-worker': 'tokens/worker.js',
  'unzstd-worker': 'gateway/intake/unzstd-worker.js',
};

const bundle = await rolldown({
  input: ENTRIES,
  cwd: fileURLToPath(DIST),
  platform: 'node',
  external: /^[^./]/,
});
await bundle.write({ dir: fileURLToPath(BUNDLE), chunkFileNames: '[name].js', comments: false });
await bundle.close();

const MIGRATIONS = new URL('store/migrations/', BUNDLE);
for (const folder of [DIST, BUNDLE]) {
  const options = { recursive: true, filter: (file: string) => !file.endsWith('.ts') };
  for (const sql of ['store/migrations/', 'team/postgres/'])
    cpSync(new URL(`../src/${sql}`, DIST), new URL(sql, folder), options);
}
const { entries } = JSON.parse(readFileSync(new URL('meta/_journal.json', MIGRATIONS), 'utf8')) as {
  entries: unknown[];
};
writeFileSync(
  new URL('build.json', BUNDLE),
  `${JSON.stringify({ commit: commit(), schema: entries.length })}\n`,
);

/** The commit of the checkout; undefined where there is no git or no repository. */
function commit(): string | undefined {
  try {
    const output = execFileSync('git', ['rev-parse', '--short=7', 'HEAD'], {
      cwd: new URL('..', DIST),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return output.trim();
  } catch {
    return undefined;
  }
}
