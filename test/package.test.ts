import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { VERSION } from '../src/version.ts';

interface Pack {
  size: number;
  files: { path: string; mode: number }[];
}

/** Compressed bytes. 40 % of them are the two rank tables, and 15 % the daemon's file, which starts without the commands'. */
const MAX_BYTES = 3_800_000;

test('the package has the program, its documents and nothing else, and stays small', () => {
  const output = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: new URL('..', import.meta.url),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [pack] = JSON.parse(output) as [Pack];
  const paths = pack.files.map(({ path }) => path);
  const known =
    /^(package\.json|README\.md|CHANGELOG\.md|LICENSE|bin\/gw|docs\/.+|dist\/bundle\/([\w.-]+\.js|(build|sbom)\.json|LICENSES\.txt|ranks\/(o200k|cl100k)_base\.cjs|(store\/migrations|team\/postgres)\/.+\.(sql|json)|page\/(index\.html|assets\/[\w-]+\.(js|css|svg))))$/;
  expect(paths.filter((path) => !known.test(path))).toEqual([]);
  expect(paths).toEqual(
    expect.arrayContaining([
      'bin/gw',
      'dist/bundle/main.js',
      'dist/bundle/build.json',
      'dist/bundle/LICENSES.txt',
      'dist/bundle/sbom.json',
      'dist/bundle/ranks/o200k_base.cjs',
      'dist/bundle/team/postgres/rights.sql',
      'LICENSE',
    ]),
  );
  expect(pack.files.find(({ path }) => path === 'bin/gw')?.mode).toBe(0o755);
  expect(pack.size).toBeLessThan(MAX_BYTES);
});

const ROOT = join(import.meta.dirname, '..');
const MB = 1_000_000;
/** What compiling better-sqlite3 12 leaves; a fetched one has 2 MB. 13 has its binaries in the package. */
const COMPILED = existsSync(join(ROOT, 'node_modules/better-sqlite3/prebuilds')) ? 0 : 18 * MB;

interface LockedPackage {
  dev?: true;
  devOptional?: true;
  optional?: true;
}

/** Paths of the packages that npm may install in a folder, from its lock file. */
function lockedPackages(folder = ''): [path: string, entry: LockedPackage][] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, folder, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  return Object.entries(packages).flatMap(([path, entry]) =>
    path === '' ? [] : [[join(folder, path), entry] as const],
  );
}

/** Bytes of the files of a package, in blocks of 4 KB; without packages inside it, and without what a compiler left. */
function weightOf(path: string): number {
  return readdirSync(path, { withFileTypes: true }).reduce((bytes, entry) => {
    const inside = join(path, entry.name);
    if (entry.isDirectory())
      return /^(node_modules|build)$/.test(entry.name) ? bytes : bytes + weightOf(inside);
    return entry.isFile() ? bytes + Math.ceil(statSync(inside).size / 4096) * 4096 : bytes;
  }, 0);
}

const weightOfAll = (paths: readonly string[]) =>
  paths
    .map((path) => join(ROOT, path))
    .filter((path) => existsSync(path))
    .reduce((bytes, path) => bytes + weightOf(path), 0);

test("the version is the changelog's first: a gw takes over from an older one alone", () => {
  const [, first] = /^## (\S+)/m.exec(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8')) ?? [];
  expect(first).toBe(VERSION);
});

test('what npm installs with the package stays small', () => {
  const paths = lockedPackages().flatMap(([path, { dev, devOptional }]) => (dev || devOptional ? [] : path));
  expect(paths.length).toBeLessThan(90);
  expect(weightOfAll(paths) + weightOf(join(ROOT, 'dist/bundle')) + COMPILED).toBeLessThan(65 * MB);
});

test('what npm installs in a checkout, and for its tests, stays small', () => {
  const paths = lockedPackages();
  expect(paths.filter(([, { optional }]) => !optional).length).toBeLessThan(280);
  expect(weightOfAll(paths.map(([path]) => path)) + COMPILED).toBeLessThan(365 * MB);
  expect(weightOfAll(lockedPackages('test').map(([path]) => path))).toBeLessThan(205 * MB);
});

interface Component {
  name: string;
  version: string;
  purl: string;
  licenses: [{ license?: { id: string }; expression?: string }];
  properties: [{ value: 'bundled' | 'installed' }];
}

/** Licenses that let gw's package contain, or come with, the code. */
const ALLOWED = /^\(?(MIT|ISC|Apache-2\.0|BSD-[23]-Clause|0BSD|BlueOak-1\.0\.0|Unlicense)\b/;

test('the bill of materials has all that is bundled or installed, under licenses that allow it, with their texts', () => {
  const read = (file: string) => readFileSync(join(ROOT, 'dist/bundle', file), 'utf8');
  const { components, specVersion } = JSON.parse(read('sbom.json')) as {
    components: Component[];
    specVersion: string;
  };
  expect(specVersion).toBe('1.6');
  const licenseOf = ({ licenses: [{ license, expression }] }: Component) => license?.id ?? expression ?? '';
  expect(components.filter((each) => !ALLOWED.test(licenseOf(each)))).toEqual([]);
  const named = (how: string) =>
    components.filter(({ properties: [{ value }] }) => value === how).map(({ name }) => name);
  expect(named('bundled')).toEqual(
    expect.arrayContaining(['commander', 'preact', 'react', 'uplot', 'zod', 'js-tiktoken']),
  );
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  expect(named('installed')).toEqual(expect.arrayContaining(Object.keys(dependencies)));
  const texts = read('LICENSES.txt').split(`\n\n${'-'.repeat(80)}\n\n`);
  const bare = texts.filter((text) => text.length < 300).map((text) => text.split('\n')[0]);
  expect({ bare, count: texts.length }).toEqual({ bare: [], count: named('bundled').length });
});

test('the dashboard is loaded with the packages that are installed with gw', () => {
  const ink = readFileSync(join(ROOT, 'dist/bundle/ink.js'), 'utf8');
  expect(ink).not.toMatch(/^import .*"react-devtools-core"/m);
  expect(ink).toMatch(/^import .*"node:/m);
});
