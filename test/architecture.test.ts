import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';

const SRC = join(import.meta.dirname, '../src');

/**
 * What a folder may import besides itself and the vocabulary, which is the files at the top and `json`. Rows of
 * folders that do not exist yet hold their place.
 */
const FOLDERS: Record<string, readonly string[]> = (() => {
  const parts = [
    'attribution',
    'compression',
    'config',
    'network',
    'pricing',
    'routing',
    'sse',
    'store',
    'tokens',
  ];
  const services = ['providers', 'tiering', 'webhooks'];
  const above = ['agents', 'backup', 'insight', 'metrics', 'remote', 'service', 'team'];
  return {
    ...Object.fromEntries(parts.map((folder) => [folder, []])),
    providers: ['config', 'network', 'pricing'],
    operations: ['config', 'pricing', 'providers', 'store', 'webhooks'],
    terminal: ['operations', 'store'],
    tiering: ['routing'],
    webhooks: ['network', 'store'],
    agents: ['config', 'pricing'],
    backup: ['config', 'store'],
    insight: ['agents', 'attribution', 'config', 'network', 'operations', 'pricing', 'providers', 'store'],
    metrics: ['config', 'providers', 'routing', 'store'],
    remote: ['config', 'network', 'operations', 'store', 'webhooks'],
    service: ['config'],
    team: ['config', 'store'],
    page: ['operations', 'terminal'],
    tui: ['operations', 'store', 'terminal'],
    wire: ['compression', 'config', 'pricing', 'providers', 'sse'],
    translation: ['providers', 'wire'],
    gateway: [...parts, ...services, 'translation', 'wire'],
    server: [...parts, ...services, 'gateway', 'metrics', 'operations', 'wire'],
    daemon: [
      ...parts,
      ...services,
      ...['agents', 'gateway', 'insight', 'metrics', 'operations', 'server', 'team', 'translation'],
    ],
    cli: [...parts, ...services, ...above, 'operations', 'terminal', 'tui'],
  };
})();

/** The rooms of the larger folders, lowest first, and what each may import of its own folder. */
const ROOMS: Record<string, Record<string, readonly string[]>> = {
  compression: {
    json: [],
    prompt: [],
    turns: ['prompt'],
    blocks: ['json', 'prompt'],
    repeats: ['json', 'prompt'],
    transforms: ['blocks', 'json', 'prompt', 'repeats'],
    rewrite: ['blocks', 'prompt', 'repeats', 'transforms'],
    conversation: ['blocks', 'prompt', 'repeats', 'rewrite', 'transforms'],
    '': ['conversation', 'prompt', 'turns'],
  },
  store: {
    database: [],
    accounts: ['database'],
    checkpoints: ['database'],
    webhooks: ['accounts', 'database'],
    ledger: ['database', 'webhooks'],
    archive: ['database', 'ledger'],
    backtest: ['database', 'ledger'],
    runaways: ['database', 'ledger'],
    budgets: ['accounts', 'database', 'ledger', 'runaways'],
    optimizer: ['database', 'ledger'],
    reports: ['archive', 'database', 'ledger', 'requests'],
    requests: ['database', 'ledger'],
    router: ['database', 'ledger'],
    limits: ['database', 'ledger'],
    dashboard: ['archive', 'database', 'ledger', 'limits', 'requests', 'router'],
    team: ['accounts', 'archive', 'database', 'ledger'],
  },
  agents: {
    logs: [],
    run: [],
    settings: [],
    connect: ['run', 'settings'],
    '': ['connect', 'logs', 'run'],
  },
  wire: {
    request: [],
    answer: ['request'],
    '': ['answer', 'request'],
    apis: ['', 'answer', 'request'],
  },
  page: {
    state: [],
    parts: ['state'],
    views: ['parts', 'state'],
    '': ['parts', 'state', 'views'],
  },
  gateway: {
    state: [],
    context: ['state'],
    intake: ['context', 'state'],
    admission: ['context', 'intake', 'state'],
    routing: ['context', 'intake', 'state'],
    upstream: ['admission', 'context', 'intake', 'state'],
    objects: ['admission', 'context', 'state'],
    answer: ['context', 'intake', 'upstream'],
    metering: ['admission', 'answer', 'context', 'state', 'upstream'],
    attempt: ['admission', 'answer', 'context', 'metering', 'objects', 'routing', 'state', 'upstream'],
    learning: ['admission', 'answer', 'attempt', 'context', 'state'],
    replay: ['answer', 'attempt', 'context', 'state'],
    subscription: ['admission', 'attempt', 'context', 'learning', 'state', 'upstream'],
    'pass-through': [
      ...[
        'admission',
        'answer',
        'attempt',
        'context',
        'intake',
        'metering',
        'objects',
        'state',
        'subscription',
        'upstream',
      ],
    ],
    '': [
      ...[
        'admission',
        'attempt',
        'context',
        'intake',
        'learning',
        'objects',
        'replay',
        'routing',
        'state',
        'subscription',
        'upstream',
      ],
    ],
  },
};

/** The rooms of the command line, lowest first: each may import those below it. */
const CLI_ROOMS = [
  ...['', 'statusline', 'daemon', 'input', 'service', 'remote', 'gateway', 'budgets', 'config', 'doctor'],
  ...['prices', 'start', 'webhooks', 'client', 'connect', 'optimize', 'team', 'coverage', 'first-run'],
  ...['providers', 'requests', 'route', 'usage', 'commands', 'program'],
];
ROOMS.cli = Object.fromEntries(CLI_ROOMS.map((room, i) => [room, CLI_ROOMS.slice(0, i)]));

/** Files that belong to another room than their folder's. */
const PLACES: Record<string, string> = {
  ...placed('gateway', 'with-store', 'with-gateway', 'local-gateway', 'webhooks/local-service'),
  ...placed('gateway', 'team/connection'),
  ...placed('start', 'daemon/start'),
  ...placed('program', 'catalog', 'main', 'program', 'run-cli', 'run-command', 'run-process'),
  ...placed('program', 'serve/main', 'serve/entry', 'statusline/main'),
};

function placed(room: string, ...files: string[]): Record<string, string> {
  return Object.fromEntries(files.map((file) => [`cli/${file}.ts`, room]));
}

/** Imports that the table does not allow, and why they stand. */
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

/** The room of a file in its folder; empty for the files beside the rooms. */
function roomOf(file: string): string {
  const [, ...inside] = dirname(file).split('/');
  return PLACES[file] ?? inside[0] ?? '';
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

/** Each way that leads back to where it began, as a chain of names. */
function circlesOf(next: (name: string) => readonly string[], names: readonly string[]): string[] {
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (name: string, path: string[]) => {
    if (path.includes(name)) circles.push([...path.slice(path.indexOf(name)), name].join(' -> '));
    if (done.has(name) || path.includes(name)) return;
    for (const other of next(name)) visit(other, [...path, name]);
    done.add(name);
  };
  for (const name of names) visit(name, []);
  return circles;
}

test('there is something to look at', () => {
  expect(sources.length).toBeGreaterThan(100);
  expect(byFile.get('daemon/boot.ts')?.imports.map(({ target }) => target)).toContain(
    'gateway/context/gateway.ts',
  );
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
          ({ to }) => to !== folder && to !== '' && !FOLDERS[folder]?.includes(to) && EXCEPTIONS[file] !== to,
        )
        .map(({ target }) => `${file} -> ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test('between the rooms of a folder point down', () => {
    const wrong = sources.flatMap(({ file, folder, imports }) =>
      imports
        .filter(({ target, isPackage }) => !isPackage && folderOf(target) === folder && folder in ROOMS)
        .map(({ target }) => ({ target, from: roomOf(file), to: roomOf(target) }))
        .filter(({ from, to }) => from !== to && !ROOMS[folder]?.[from]?.includes(to))
        .map(({ target }) => `${file} -> ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test('of each folder and each room are in the tables', () => {
    const unknown = sources.filter(
      ({ file, folder }) =>
        folder !== '' &&
        (!(folder in FOLDERS) || (folder in ROOMS && !(roomOf(file) in (ROOMS[folder] ?? {})))),
    );
    expect(unknown.map(({ file }) => file)).toEqual([]);
  });

  test('may never lead back by the tables', () => {
    for (const table of [FOLDERS, ...Object.values(ROOMS)])
      expect(circlesOf((name) => table[name] ?? [], Object.keys(table))).toEqual([]);
  });

  test('have no circle, those of types and lazy ones included', () => {
    const importsOf = (file: string) =>
      (byFile.get(file)?.imports ?? []).filter(({ isPackage }) => !isPackage).map(({ target }) => target);
    expect(circlesOf(importsOf, [...byFile.keys()])).toEqual([]);
  });

  test('of SQL stand in the store alone', () => {
    const wrong = sources
      .filter(({ folder }) => folder !== 'store')
      .flatMap(({ file, imports }) =>
        imports.map(({ target, isType, isLazy }) => ({ file, target, isType, isLazy })),
      )
      .filter(({ target }) => /^(better-sqlite3|drizzle-orm)/.test(target))
      // The first looks for the library, the second reads the database of another program.
      .filter(
        ({ file, isLazy }) =>
          !(isLazy && /^(cli\/doctor\/checks|agents\/logs\/read-database)\.ts$/.test(file)),
      );
    expect(wrong).toEqual([]);
  });

  test('of drizzle stand in the schema, whose types alone are imported, and in migrations, where they are lazy', () => {
    const importing = (wanted: RegExp) =>
      sources.flatMap(({ file, imports }) =>
        imports.some(({ target, isLazy, isType }) => wanted.test(target) && !isLazy && !isType) ? [file] : [],
      );
    expect(importing(/^drizzle-orm/)).toEqual([
      'store/database/limit-schema.ts',
      'store/database/provider-schema.ts',
      'store/database/request-schema.ts',
      'store/database/schema.ts',
      'store/database/team-schema.ts',
    ]);
    expect(importing(/^store\/database\/schema\.ts$/)).toEqual([]);
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

  test('of the operations are types alone in the page, which reads them over HTTP', () => {
    const values = sources
      .filter(({ folder }) => folder === 'page')
      .flatMap(({ file, imports }) =>
        imports
          .filter(({ target, isPackage, isType }) =>
            isPackage ? !/^(preact|uplot)\b/.test(target) : folderOf(target) === 'operations' && !isType,
          )
          .map(({ target }) => `${file} -> ${target}`),
      );
    expect(values).toEqual([]);
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

  test('takes the whole Gateway in five functions at most: the others say what they use of it', () => {
    const whole = sources
      .filter(({ folder }) => folder === 'gateway')
      .flatMap((source) =>
        [...codeOf(source).matchAll(/[\w}]\??: Gateway(?=[,)\n])/g)].map(() => source.file),
      );
    expect(whole.length).toBeGreaterThan(0);
    expect(whole.length).toBeLessThanOrEqual(5);
  });

  test('has no folder of more than 20 files, the commands aside', () => {
    const sizes = new Map<string, number>();
    for (const { file } of sources) sizes.set(dirname(file), (sizes.get(dirname(file)) ?? 0) + 1);
    expect([...sizes].filter(([folder, size]) => size > 20 && folder !== 'cli/commands')).toEqual([]);
  });

  test('has no file that is too long to read', () => {
    const long = sources
      .map(({ file, text }) => ({ file, lines: text.split('\n').length }))
      .filter(({ lines }) => lines > 400);
    expect(long).toEqual([]);
  });
});
