import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';

const SRC = join(import.meta.dirname, '../src');

/** What a folder may import besides itself and the vocabulary, which is the files at the top and `json`. */
const TABLE: Record<string, readonly string[]> = (() => {
  const parts = ['attribution', 'config', 'sse', 'tokens', 'pricing', 'compression', 'store'];
  const services = ['routing', 'providers', 'webhooks'];
  const gateway = [...parts, ...services];
  return {
    ...Object.fromEntries(parts.map((folder) => [folder, []])),
    ...Object.fromEntries(services.map((folder) => [folder, parts])),
    gateway,
    server: [...gateway, 'gateway'],
    daemon: [...gateway, 'gateway', 'server'],
    cli: [...gateway, 'tui'],
    // It draws with the command line's palette, bars and views; the cycle test holds that nothing leads back.
    tui: [...gateway, 'cli'],
  };
})();

/** Where what the table says is not enough, and why. */
const EXCEPTIONS: Record<string, string> = {
  // The daemon in the foreground; loaded when the command runs and not before.
  'cli/commands/serve.ts': 'daemon',
};

interface Import {
  /** A file of ours, relative to src, or the name of a package. */
  target: string;
  isPackage: boolean;
  isType: boolean;
  isLazy: boolean;
}

interface Source {
  file: string;
  folder: string;
  text: string;
  imports: Import[];
}

const STATIC = /(?:^|\n)\s*(?:import|export)\s+(type\s+)?(?:[\w*{][^;'"]*?\s+from\s+)?'([^']+)'/g;
const DYNAMIC = /\bimport\('([^']+)'\)/g;

function read(file: string): Source {
  const text = readFileSync(join(SRC, file), 'utf8');
  const target = (name: string) => ({
    target: name.startsWith('.') ? relative(SRC, join(SRC, dirname(file), name)) : name,
    isPackage: !name.startsWith('.'),
  });
  const imports = [
    ...[...text.matchAll(STATIC)].map(([, type, name = '']) => ({
      ...target(name),
      isType: type !== undefined,
      isLazy: false,
    })),
    ...[...text.matchAll(DYNAMIC)].map(([, name = '']) => ({ ...target(name), isType: false, isLazy: true })),
  ];
  return { file, folder: folderOf(file), text, imports };
}

/** The folder below src that a file is in; empty for the vocabulary. */
function folderOf(file: string): string {
  const [first = '', ...rest] = file.split('/');
  return rest.length === 0 || first === 'json' ? '' : first;
}

const sources = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file))
  .sort()
  .map(read);
const byFile = new Map(sources.map((source) => [source.file, source]));

/** The text without comments, strings and regular expressions. */
function codeOf({ text }: Source): string {
  return text
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g, "''")
    .replaceAll(/\/\/.*/g, '')
    .replaceAll(/\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[dgimsuvy]*/g, "''");
}

test('there is something to look at', () => {
  expect(sources.length).toBeGreaterThan(100);
  expect(byFile.get('daemon/boot.ts')?.imports.map(({ target }) => target)).toContain('gateway/gateway.ts');
  const files = sources.flatMap(({ imports }) => imports.filter(({ isPackage }) => !isPackage));
  expect(files.filter(({ target }) => !byFile.has(target))).toEqual([]);
});

describe('imports', () => {
  test('point one way', () => {
    const wrong = sources.flatMap(({ file, folder, imports }) =>
      imports
        .filter(({ isPackage }) => !isPackage)
        .map(({ target }) => ({ target, to: folderOf(target) }))
        .filter(
          ({ to }) => to !== folder && to !== '' && !TABLE[folder]?.includes(to) && EXCEPTIONS[file] !== to,
        )
        .map(({ target }) => `${file} -> ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test('of a folder are in the table', () => {
    expect(
      [...new Set(sources.map(({ folder }) => folder))].filter(
        (folder) => folder !== '' && !(folder in TABLE),
      ),
    ).toEqual([]);
  });

  test('have no cycle, but for types', () => {
    const cycles: string[] = [];
    const done = new Set<string>();
    const visit = (file: string, path: string[]) => {
      if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
      if (done.has(file) || path.includes(file)) return;
      for (const { target, isPackage, isType, isLazy } of byFile.get(file)?.imports ?? []) {
        if (!isPackage && !isType && !isLazy) visit(target, [...path, file]);
      }
      done.add(file);
    };
    for (const { file } of sources) visit(file, []);
    expect(cycles).toEqual([]);
  });

  test('of SQL stand in the store alone', () => {
    const wrong = sources
      .filter(({ folder }) => folder !== 'store')
      .flatMap(({ file, imports }) =>
        imports.map(({ target, isType, isLazy }) => ({ file, target, isType, isLazy })),
      )
      .filter(({ target }) => /^(better-sqlite3|drizzle-orm)/.test(target))
      .filter(({ file, isLazy }) => !(file === 'cli/doctor/install.ts' && isLazy));
    expect(wrong).toEqual([]);
  });

  test('of the daemon in the command line are lazy, and stand in serve alone', () => {
    const reach = sources.filter(
      ({ folder, imports }) =>
        (folder === 'cli' || folder === 'tui') &&
        imports.some(({ target }) => /^(daemon|server|gateway)\//.test(target)),
    );
    expect(reach.map(({ file }) => file)).toEqual(['cli/commands/serve.ts']);
    const heavy = reach[0]?.imports.filter(({ target, isType }) => target.startsWith('daemon/') && !isType);
    expect(heavy?.every(({ isLazy }) => isLazy)).toBe(true);
  });

  test('have no default exports to name', () => {
    expect(
      sources.filter((source) => /^export default\b/m.test(codeOf(source))).map(({ file }) => file),
    ).toEqual([]);
  });
});

describe('the code', () => {
  const found = (pattern: RegExp) =>
    sources.flatMap((source) =>
      [...codeOf(source).matchAll(pattern)].map(([text]) => `${source.file}: ${text}`),
    );

  test('has no any', () => {
    expect(found(/(?::|<|\bas|\||&|=)\s*any\b(?!\s*[:(])/g)).toEqual([]);
  });

  test('asserts nothing to be there that the types do not know', () => {
    expect(found(/[\w)\]]!(?=[.;,)\]}[]|\s*$)/gm)).toEqual([]);
  });

  test('silences no checker of types', () => {
    const silenced = sources.filter(({ text }) =>
      /@ts-(ignore|expect-error|nocheck)|biome-ignore.*(noExplicitAny|noNonNull)/.test(text),
    );
    expect(silenced.map(({ file }) => file)).toEqual([]);
  });

  test('asks in one place whether a value is a JSON object', () => {
    const wanted = /typeof (\w+) (?:=== '' && \1 !==|!== '' \|\| \1 ===) null (?:&& !|\|\| )Array\.isArray/g;
    expect(found(wanted).map((text) => text.replace(/:.*/, ''))).toEqual(['json/object.ts']);
  });

  test('has no files for what belongs nowhere', () => {
    expect(sources.filter(({ file }) => /(^|\/)(utils?|helpers?|common|misc)(\/|\.|-)/.test(file))).toEqual(
      [],
    );
  });

  test('has no file that is too long to read', () => {
    const long = sources
      .map(({ file, text }) => ({ file, lines: text.split('\n').length }))
      .filter(({ lines }) => lines > 400);
    expect(long).toEqual([]);
  });
});
