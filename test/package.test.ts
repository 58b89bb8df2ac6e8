import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

interface Pack {
  size: number;
  files: { path: string; mode: number }[];
}

/** Compressed bytes; 0.1.0 had 0.6 MB. */
const MAX_BYTES = 1_000_000;

test('the package has the program, its documents and nothing else, and stays small', () => {
  const output = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: new URL('..', import.meta.url),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [pack] = JSON.parse(output) as [Pack];
  const paths = pack.files.map(({ path }) => path);
  const known =
    /^(package\.json|README\.md|CHANGELOG\.md|LICENSE|bin\/gw|docs\/.+|dist\/bundle\/([\w.-]+\.js|build\.json|(store\/migrations|team\/postgres)\/.+\.(sql|json)))$/;
  expect(paths.filter((path) => !known.test(path))).toEqual([]);
  expect(paths).toEqual(
    expect.arrayContaining([
      'bin/gw',
      'dist/bundle/main.js',
      'dist/bundle/build.json',
      'dist/bundle/team/postgres/rights.sql',
      'LICENSE',
    ]),
  );
  expect(pack.files.find(({ path }) => path === 'bin/gw')?.mode).toBe(0o755);
  expect(pack.size).toBeLessThan(MAX_BYTES);
});
