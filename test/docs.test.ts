import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const SRC = join(ROOT, 'src');
const ARCHITECTURE = 'docs/architecture.md';
const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
];

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const sourceNames = new Set(
  readdirSync(SRC, { recursive: true, encoding: 'utf8' }).flatMap((path) => path.split('/').at(-1) ?? []),
);
const sourceFolders = foldersIn(SRC);

function foldersIn(path: string): string[] {
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

/** Paths from the root of the repository: `src/...` and `test/...`, wherever they stand. */
function rootPaths(text: string): string[] {
  return [...text.matchAll(/(?<![\w/.:-])(?:src|test)\/[\w./-]*\w/g)].map(([path]) => path);
}

/** Paths that begin at a folder of src, in backticks: `store/ledger`, `gateway/intake/read-body.ts`. */
function sourcePaths(text: string): string[] {
  return [...text.matchAll(/`([\w-]+)\/([\w./-]*)`/g)]
    .filter(([, folder = '']) => sourceFolders.includes(folder))
    .map(([, folder, rest]) => `${folder}/${rest}`);
}

/** File names without a folder, in backticks: `affinity.ts`. */
function bareNames(text: string): string[] {
  return [...text.matchAll(/`([\w-]+\.tsx?)`/g)].flatMap(([, name]) => name ?? []);
}

/** The paths of the tree in docs/architecture.md, without a slash at the end. Two blanks indent by a folder. */
function treePaths(): string[] {
  const block = /## The tree\s+```\n(.*?)```/s.exec(read(ARCHITECTURE))?.[1] ?? '';
  const parents: string[] = [];
  return block.split('\n').flatMap((line) => {
    const [, indent = '', name] = /^( *)([\w./*-]+)/.exec(line) ?? [];
    if (name === undefined || name.includes('*')) return [];
    parents.length = indent.length / 2;
    parents.push(name.replace(/\/$/, ''));
    return [parents.join('/')];
  });
}

describe.each(DOCUMENTS)('%s', (file) => {
  const text = read(file);

  test('names paths that exist', () => {
    const missing = [
      ...rootPaths(text).filter((path) => !existsSync(join(ROOT, path))),
      ...sourcePaths(text).filter((path) => !existsSync(join(SRC, path))),
      ...bareNames(text).filter((name) => !sourceNames.has(name)),
    ];
    expect(missing).toEqual([]);
  });

  test('has relative links that resolve', () => {
    const links = [...text.matchAll(/\]\(([^)\s#]+)[^)]*\)/g)].flatMap(([, link]) => link ?? []);
    const relative = links.filter((link) => !/^[a-z]+:/.test(link));
    expect(relative.filter((link) => !existsSync(join(ROOT, dirname(file), link)))).toEqual([]);
  });
});

describe('the tree in docs/architecture.md', () => {
  const tree = treePaths();

  test('names folders that exist', () => {
    expect(tree.length).toBeGreaterThan(40);
    expect(tree.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  test('has every folder of src, and every room of the folders whose rooms it lists', () => {
    const parents = new Set(tree.map(dirname).filter((path) => path !== '.'));
    const folders = [...parents].flatMap((path) =>
      foldersIn(join(ROOT, path)).map((name) => `${path}/${name}`),
    );
    expect(folders.filter((folder) => !tree.includes(folder))).toEqual([]);
  });
});
