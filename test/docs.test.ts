import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { COMMAND_NAMES } from '../src/terminal/command-names.ts';
import { DOCUMENTS, readDocument as read } from './support/console-blocks.ts';

const ROOT = join(import.meta.dirname, '..');
const SRC = join(ROOT, 'src');
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

  test('has links that lead to a file, and to a heading in it', () => {
    const links = [...text.matchAll(/\]\(([^)\s]+)[^)]*\)/g)].flatMap(([, link]) => link ?? []);
    const broken = links.filter((link) => {
      if (/^[a-z]+:/.test(link)) return false;
      const [path = '', heading] = link.split('#');
      const target = path === '' ? file : join(dirname(file), path);
      if (!existsSync(join(ROOT, target))) return true;
      return heading !== undefined && !anchorsOf(read(target)).includes(heading);
    });
    expect(broken).toEqual([]);
  });

  test('names commands that exist, and shows them in console blocks, which are run', () => {
    const named = [...text.matchAll(/`gw ([a-z][\w-]*)/g)].flatMap(([, name]) => name ?? []);
    expect(named.filter((name) => !COMMAND_NAMES.includes(name))).toEqual([]);
    const blocks = [...text.matchAll(/^ *```(?:sh|bash|shell)?\n(.*?)^ *```$/gms)].map(([, block]) => block);
    expect(blocks.filter((block) => /^ *(gw|eval "\$\(gw) /m.test(block ?? ''))).toEqual([]);
  });
});

/** The anchors of a document's headings, as GitHub makes them. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  );
}

describe('docs/troubleshooting.md', () => {
  const statuses = new Map(
    [...read('docs/troubleshooting.md').matchAll(/^\| `(\w+)` \| ([^|]*) \|/gm)].map(
      ([, code = '', status = '']) => [code, status],
    ),
  );
  const entries = [...statuses.keys()];
  const codes = errorCodes();

  test('has an entry for each error code of the source, and no other', () => {
    expect(codes.length).toBeGreaterThan(70);
    expect(entries.toSorted()).toEqual(codes);
  });

  test('has the statuses of the source', () => {
    const pairs = sourceFiles().flatMap((text) => [
      ...[...text.matchAll(/\bstatus: (\d{3}),[^{}]*?\bcode: '(\w+)'/g)].map(
        ([, status = '', code = '']) => ({ code, status }),
      ),
      ...callsOf(text, 'unavailable').flatMap(([, value = '']) =>
        [...value.matchAll(/'(\w+)'/g)].map(([, code = '']) => ({ code, status: '503' })),
      ),
    ]);
    expect(pairs.length).toBeGreaterThan(40);
    const wrong = pairs.filter(({ code, status }) => {
      const shown = statuses.get(code) ?? status;
      return !shown.startsWith('exit') && !shown.includes(status);
    });
    expect(wrong).toEqual([]);
  });
});

/** The source, but for what has codes of its own: logs of agents, the command line. */
function sourceFiles(): string[] {
  return readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.ts$/.test(file) && !/^(agents|cli|tui)\//.test(file))
    .map((file) => readFileSync(join(SRC, file), 'utf8'));
}

/** Every code of a GwError, and of the error objects that gw writes into answers. */
function errorCodes(): string[] {
  const codes = new Set<string>();
  for (const text of sourceFiles()) {
    const given = [...text.matchAll(/\bcode(?::| =) ([^,;\n]*)/g)].flatMap(([, value]) => value ?? []);
    const inCalls = [
      ...callsOf(text, 'badRequest').flatMap((call) => call[2] ?? []),
      ...callsOf(text, 'notFound').flatMap((call) => call[1] ?? []),
      ...callsOf(text, 'unavailable').flatMap((call) => call[1] ?? []),
    ];
    for (const value of [...given, ...inCalls])
      for (const [, code = ''] of value.matchAll(/(?<!=== )'([a-z]+(?:_[a-z]+)*)'/g)) codes.add(code);
  }
  return [...codes].sort();
}

/** The arguments of each call of a function. */
function callsOf(text: string, name: string): string[][] {
  return [...text.matchAll(new RegExp(`\\b${name}\\(`, 'g'))].map(({ index }) => {
    const args = [''];
    let depth = 1;
    let quote = '';
    for (let i = index + name.length + 1; depth > 0 && i < text.length; i++) {
      const character = text[i] ?? '';
      if (character === '\\') i++;
      else if (quote !== '') quote = character === quote ? '' : quote;
      else if (/['"`]/.test(character)) quote = character;
      else if (/[([{]/.test(character)) depth++;
      else if (/[)\]}]/.test(character)) depth--;
      if (character === ',' && depth === 1 && quote === '') args.push('');
      else args[args.length - 1] += character;
    }
    return args;
  });
}
