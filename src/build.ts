/**
 * The last step of a build, run from `dist`: copies what the compiler leaves, and writes down what was built.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';

const DIST = new URL('.', import.meta.url);
const MIGRATIONS = new URL('store/migrations/', DIST);

cpSync(new URL('../src/store/migrations/', DIST), MIGRATIONS, { recursive: true });
cpSync(new URL('../src/team/postgres/', DIST), new URL('team/postgres/', DIST), {
  recursive: true,
  filter: (file) => !file.endsWith('.ts'),
});
const { entries } = JSON.parse(readFileSync(new URL('meta/_journal.json', MIGRATIONS), 'utf8')) as {
  entries: unknown[];
};
writeFileSync(
  new URL('build.json', DIST),
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
