// What share of small faults the tests notice, by room. Mutants are drawn from a seed; a copy of the sources has all of them,
// each behind a switch, so that one run of the tests without any tells which files reach which. Each mutant is then tried on
// those alone, up to the first failure. It is caught when a test fails, or when they take three times as long as without it.
// Usage: npm run test:mutants -- [--seed 1] [--each 25] [--room NAME ...] [--out FILE]
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { mutantsOf, withSwitches } from './mutate.mjs';
import { ROOMS } from './rooms.mjs';

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    each: { type: 'string', default: '25' },
    room: { type: 'string', multiple: true, default: Object.keys(ROOMS) },
    out: { type: 'string' },
  },
});
const LONGEST_MS = 1_800_000;
const root = new URL('../..', import.meta.url).pathname;
const copy = mkdtempSync(join(tmpdir(), 'gw-mutants-'));
process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
for (const part of [
  'src',
  'test',
  'bin',
  'docs',
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
  'README.md',
  'dist',
])
  cpSync(join(root, part), join(copy, part), {
    recursive: true,
    filter: (path) => !path.endsWith('node_modules'),
  });
for (const part of ['node_modules', 'test/node_modules']) symlinkSync(join(root, part), join(copy, part));

/** Runs test files in this order. Resolves with true if a test fails, or if they don't end in time. */
function notices(files, milliseconds, env) {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const options = ['--config', 'test/mutants/vitest.config.ts', '--bail=1', '--reporter=dot'];
  const child = spawn(process.execPath, [vitest, 'run', ...options, ...files], {
    cwd: copy,
    env: { ...process.env, GW_MUTANT_FILES: files.join(' '), ...env },
    stdio: 'ignore',
    detached: true,
  });
  return new Promise((resolve) => {
    const stop = () => {
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {}
    };
    const timer = setTimeout(stop, milliseconds);
    process.once('exit', stop);
    child.on('exit', (code) => {
      clearTimeout(timer);
      process.off('exit', stop);
      stop();
      resolve(code !== 0);
    });
  });
}

/** The first `count` of the mutants, in an order that follows from the seed alone. */
function drawn(mutants, count) {
  const place = ({ file, start, to }) =>
    createHash('sha256').update(`${options.seed} ${file} ${start} ${to}`).digest('hex');
  return mutants
    .map((mutant) => ({ mutant, at: place(mutant) }))
    .sort((a, b) => (a.at < b.at ? -1 : 1))
    .slice(0, count)
    .map(({ mutant }, number) => ({ ...mutant, number }));
}

/** The files below `path` (or `path` itself) whose names end so. */
function filesIn(path, ending) {
  if (path.endsWith(ending)) return [path];
  const names = readdirSync(join(root, path), { recursive: true });
  return names.filter((name) => name.endsWith(ending)).map((name) => join(path, name));
}

const sourceOf = (file) => readFileSync(join(root, file), 'utf8');

function mutantsIn(room) {
  return room.sources
    .flatMap((folder) => filesIn(folder, '.ts'))
    .flatMap((file) => mutantsOf(sourceOf(file)).map((mutant) => ({ file, ...mutant })));
}

/** Writes the sources with these mutants behind switches. */
function write(sample) {
  for (const file of new Set(sample.map((mutant) => mutant.file))) {
    const mutants = sample.filter((mutant) => mutant.file === file);
    writeFileSync(join(copy, file), withSwitches(sourceOf(file), mutants));
    // Tests that run what is built would build it again from newer sources.
    utimesSync(join(copy, file), 0, 0);
  }
}

/** What each test file of a room reaches, and how long it takes. */
async function survey(name) {
  const log = join(copy, `${name}.log`);
  const files = ROOMS[name].tests.flatMap((test) => filesIn(test, '.test.ts'));
  if (await notices(files, LONGEST_MS, { GW_MUTANT_LOG: log }))
    throw new Error(`${name}: its tests fail without a mutant`);
  return readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .map((each) => ({ ...each, file: relative(copy, each.file) }));
}

/** The test files that reach a mutant: first those that are named like its file, then the shortest. */
function filesFor({ file, number }, surveyed) {
  const isEarly = surveyed.some(({ onImport }) => onImport.includes(number));
  const own = `${basename(file, '.ts')}.test.ts`;
  const place = (each) => (basename(each.file) === own ? 0 : each.milliseconds);
  return surveyed
    .filter(({ reached }) => isEarly || reached.includes(number))
    .sort((a, b) => place(a) - place(b));
}

async function tried(mutant, surveyed) {
  const reaching = filesFor(mutant, surveyed);
  const milliseconds = reaching.reduce((sum, each) => sum + each.milliseconds, 0);
  const files = reaching.map(({ file }) => file);
  const env = { GW_MUTANT: String(mutant.number) };
  const isCaught = files.length > 0 && (await notices(files, 30_000 + 3 * milliseconds, env));
  const before = sourceOf(mutant.file).slice(mutant.start, mutant.end).replaceAll(/\s+/g, ' ').slice(0, 60);
  const reach = files.length > 0 ? '' : ', which no test reaches';
  return { isCaught, text: `${mutant.file}:${mutant.line} ${before} -> ${mutant.to}${reach}` };
}

const print = (line) => {
  console.log(line);
  if (options.out) appendFileSync(options.out, `${line}\n`);
};

for (const name of options.room) {
  const mutants = mutantsIn(ROOMS[name]);
  const sample = drawn(mutants, Number(options.each));
  write(sample);
  const surveyed = await survey(name);
  let caught = 0;
  for (const mutant of sample) {
    const { isCaught, text } = await tried(mutant, surveyed);
    if (isCaught) caught++;
    else print(`  missed ${text}`);
  }
  const share = Math.round((100 * caught) / sample.length);
  print(`${name}: ${caught} of ${sample.length} caught (${share} %), drawn from ${mutants.length}`);
  for (const { file } of sample) cpSync(join(root, file), join(copy, file));
}
