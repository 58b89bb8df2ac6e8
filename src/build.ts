/**
 * Last step of the build, run in `dist` after compilation: bundles the modules into `dist/bundle`, which gw runs from,
 * copies the SQL and the rank tables, and writes `build.json` and a bill of materials. Unbundled, loading hundreds of modules takes as long as
 * the rest of gw's start. Dev dependencies are bundled too, with their licenses: gw uses a tenth of their code.
 */
import { execFileSync, type StdioOptions } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CodeSplittingGroup, type Plugin, type RolldownOutput, rolldown } from 'rolldown';
import { orElse } from './errors.ts';
import type { BuiltWorker } from './worker-calls.ts';

const DIST = new URL('.', import.meta.url);
const BUNDLE = new URL('bundle/', DIST);

/** Entry points of processes and threads. All bundle files are in one folder, so that `FILES` is the same in each. */
const ENTRIES: Record<'main' | 'statusline' | BuiltWorker, string> = {
  main: 'cli/main.js',
  statusline: 'cli/statusline/main.js',
  'attribution-worker': 'attribution/worker.js',
  'checkpoints-worker': 'store/checkpoints/worker.js',
  'compression-worker': 'compression/worker.js',
  'reports-worker': 'server/gw-api/reports-worker.js',
  'scan-worker': 'gateway/intake/scan-worker.js',
  'tokens-worker': 'tokens/worker.js',
  'unzstd-worker': 'gateway/intake/unzstd-worker.js',
};

/** Entry points of the daemon's own bundle. The commands' bundle imports the second one. */
const DAEMON_SERVE = 'daemon-serve';
const DAEMON = { daemon: 'cli/serve/main.js', [DAEMON_SERVE]: 'daemon/serve.js' };
/** What each start of the daemon imports: one file has these and all that they import. */
const DAEMON_STARTS =
  /[/\\]dist[/\\](cli[/\\]serve[/\\]main|cli[/\\]commands[/\\]serve|daemon[/\\]serve)\.js$/;

/** Keep in sync with `Encoding` in tokens/encoding.ts. */
const ENCODINGS = ['o200k_base', 'cl100k_base'];

const { name, version, dependencies, peerDependencies } = JSON.parse(
  readFileSync(new URL('../package.json', DIST), 'utf8'),
) as Record<'dependencies' | 'peerDependencies', Record<string, string>> & { name: string; version: string };
/** Packages that npm installs beside gw. Ink loads react-devtools-core only if a developer has installed it. */
const INSTALLED = [...Object.keys({ ...dependencies, ...peerDependencies }), 'react-devtools-core'];

/** The commands import the daemon from its own bundle. */
const DAEMON_APART: Plugin = {
  name: 'daemon-apart',
  resolveId: (id) =>
    id.endsWith('/daemon/serve.js') ? { id: `./${DAEMON_SERVE}.js`, external: true } : null,
};

const PACKAGED = /^.*[/\\]node_modules[/\\](@[^/\\]+[/\\])?[^/\\]+/;
const SEPARATOR = /[/\\]/;

const output = [
  ...(await writeBundle(ENTRIES, '[name].js', [
    // One chunk per package, so that file names show which packages a command loads.
    { debugName: 'packages', test: PACKAGED, name: chunkOf, priority: 2 },
    // One chunk for what most commands load, but for SQLite: each file costs a start 0.3 ms.
    { name: 'shared', test: /^(?!.*[/\\]store[/\\]database[/\\])/, minShareCount: 20, priority: 1 },
  ])),
  // The daemon shares no chunk with the commands, so that all it starts with is in one file: 85 of them cost it 40 ms.
  ...(await writeBundle(DAEMON, 'daemon-[name].js', [{ name: 'program', test: DAEMON_STARTS }])),
];
const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
const pageModules = await buildPage();
const bundled = packagesOf([...modules, ...pageModules]);
const root = fileURLToPath(new URL('..', DIST));
writeFileSync(new URL('LICENSES.txt', BUNDLE), licensesOf(bundled, root));
const materials = materialsOf(bundled, root);
writeFileSync(new URL('sbom.json', BUNDLE), billOfMaterials({ name, version }, materials));

for (const encoding of ENCODINGS) {
  const table = createRequire(import.meta.url).resolve(`js-tiktoken/ranks/${encoding}`);
  cpSync(table, new URL(`ranks/${encoding}.cjs`, BUNDLE));
}

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

/** Bundles gw's compiled modules for Node, with the packages that are not installed beside it. */
async function writeBundle(
  input: Record<string, string>,
  chunkFileNames: string,
  groups: CodeSplittingGroup[],
): Promise<RolldownOutput['output']> {
  const bundle = await rolldown({
    input,
    cwd: fileURLToPath(DIST),
    platform: 'node',
    // What the daemon starts with is loaded by then, and commands load it when they need it.
    checks: { ineffectiveDynamicImport: false },
    plugins: input === ENTRIES ? [DAEMON_APART] : [],
    external: (id) => INSTALLED.some((name) => id === name || id.startsWith(`${name}/`)),
  });
  const { output } = await bundle.write({
    dir: fileURLToPath(BUNDLE),
    chunkFileNames,
    comments: false,
    codeSplitting: { groups },
  });
  await bundle.close();
  return output;
}

/**
 * Bundles the page in a browser: scripts and a style sheet, named by their content so that browsers keep them for good.
 * Returns the paths of the script's modules.
 */
async function buildPage(): Promise<string[]> {
  const source = new URL('../src/page/', DIST);
  const page = new URL('page/', BUNDLE);
  const bundle = await rolldown({
    input: fileURLToPath(new URL('begin.ts', source)),
    platform: 'browser',
  });
  const { output } = await bundle.write({
    dir: fileURLToPath(new URL('assets/', page)),
    entryFileNames: 'page-[hash].js',
    chunkFileNames: '[name]-[hash].js',
    minify: true,
    comments: false,
  });
  await bundle.close();
  const scripts = output.filter((file) => file.type === 'chunk');
  const sheets = [
    createRequire(import.meta.url).resolve('uplot/dist/uPlot.min.css'),
    new URL('page.css', source),
  ];
  const css = sheets.map((sheet) => readFileSync(sheet, 'utf8')).join('\n');
  const sheet = `page-${createHash('sha256').update(css).digest('base64url').slice(0, 8)}.css`;
  writeFileSync(new URL(`assets/${sheet}`, page), css);
  cpSync(new URL('icon.svg', source), new URL('assets/icon.svg', page));
  const html = readFileSync(new URL('index.html', source), 'utf8');
  writeFileSync(
    new URL('index.html', page),
    scripts
      .reduce((text, { name, fileName }) => text.replace(`${name}.js`, fileName), html)
      .replace('page.css', sheet),
  );
  return scripts.flatMap(({ moduleIds }) => moduleIds);
}

/** The package folder of a module's path; undefined for gw's own modules. */
function packageFolder(path: string): string | undefined {
  return PACKAGED.exec(path)?.[0];
}

/** Ink imports its devtools.js on demand. In Ink's chunk it would always load and fail on its missing package. */
function chunkOf(path: string): string | null {
  if (path.endsWith('devtools.js')) return null;
  return packageFolder(path)?.split(SEPARATOR).at(-1) ?? null;
}

/** The folders of the bundled packages, and of js-tiktoken, whose tables are copied. */
function packagesOf(paths: readonly string[]): string[] {
  const folders = paths.flatMap((path) => packageFolder(path) ?? []);
  const copied = fileURLToPath(new URL('../node_modules/js-tiktoken', DIST));
  return [...new Set([...folders, copied])].sort();
}

/** A package whose code is in gw's package, or is installed with it. */
interface Material {
  name: string;
  version: string;
  license: string;
  /** `bundled`: its code is in gw's bundle; `installed`: npm installs it beside gw. */
  how: 'bundled' | 'installed';
}

/**
 * The licenses of the packages in these folders, with their notices. A package without the text of its license gets it
 * from one that has it, gw's own or prom-client's, with the authors that it names.
 */
function licensesOf(folders: readonly string[], root: string): string {
  const standard: Record<string, string> = {
    MIT: readFileSync(join(root, 'LICENSE'), 'utf8').replace(/^Copyright .*\n+/m, ''),
    'Apache-2.0': readFileSync(join(root, 'node_modules/prom-client/LICENSE'), 'utf8'),
  };
  return folders
    .map((folder) => {
      const { name, version, license, author, repository } = readPackage(folder);
      const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice)/i.test(file));
      const texts = files.map((file) => readFileSync(join(folder, file), 'utf8').trim());
      const own = `Copyright (c) ${typeof author === 'string' ? author : `the authors of ${name}`}, ${repository?.url}`;
      const all = texts.length > 0 ? texts : [own, (standard[license] ?? '').trim()];
      return [`${name} ${version}, ${license}`, ...all].join('\n\n');
    })
    .join(`\n\n${'-'.repeat(80)}\n\n`);
}

/** The packages in the bundle, from their folders, and those that the lock file has npm install beside gw. */
function materialsOf(folders: readonly string[], root: string): Material[] {
  const bundled = folders.map((folder) => ({ ...readPackage(folder), how: 'bundled' as const }));
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; license?: string; dev?: true; devOptional?: true }>;
  };
  const installed = Object.entries(packages).flatMap(([path, { version, license = '', dev, devOptional }]) =>
    path === '' || dev || devOptional
      ? []
      : { name: path.replace(/^.*node_modules\//, ''), version, license, how: 'installed' as const },
  );
  return [...bundled, ...installed];
}

interface PackageFile extends Omit<Material, 'how'> {
  author?: unknown;
  repository?: { url: string };
}

function readPackage(folder: string): PackageFile {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as PackageFile;
}

/**
 * A bill of materials: CycloneDX 1.6, https://cyclonedx.org/docs/1.6/json/. Without a time or a serial number, so that the
 * same sources give the same bytes.
 */
function billOfMaterials(own: { name: string; version: string }, materials: readonly Material[]): string {
  const component = ({ name, version, license, how }: Material) => ({
    type: 'library',
    'bom-ref': `${purlOf(name, version)}?how=${how}`,
    name,
    version,
    licenses: [/^[\w.+-]+$/.test(license) ? { license: { id: license } } : { expression: license }],
    purl: purlOf(name, version),
    properties: [{ name: 'gw:how', value: how }],
  });
  const bill = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'application', ...own, purl: purlOf(own.name, own.version) } },
    components: materials.map(component).sort((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1)),
  };
  return `${JSON.stringify(bill, undefined, 1)}\n`;
}

/** https://github.com/package-url/purl-spec */
function purlOf(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

/** The commit of the checkout; undefined without git or a repository. */
function commit(): string | undefined {
  const stdio: StdioOptions = ['ignore', 'pipe', 'ignore'];
  const options = { cwd: new URL('..', DIST), encoding: 'utf8', stdio } as const;
  return orElse(() => execFileSync('git', ['rev-parse', '--short=7', 'HEAD'], options).trim(), undefined);
}
