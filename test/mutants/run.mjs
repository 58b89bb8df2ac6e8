// What share of small faults the tests notice, by room. Mutants are drawn from a seed and tried one by one in a copy of the
// sources: a mutant is caught when a test fails, or when the tests take three times as long as without it.
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
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { mutantsOf } from './mutate.mjs';
import { ROOMS } from './rooms.mjs';

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    each: { type: 'string', default: '25' },
    room: { type: 'string', multiple: true, default: Object.keys(ROOMS) },
    out: { type: 'string' },
  },
});
const root = new URL('../..', import.meta.url).pathname;
const copy = mkdtempSync(join(tmpdir(), 'gw-mutants-'));
process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
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

/** Resolves with true if a test fails, or if they don't end in time. */
function notices(tests, milliseconds) {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const child = spawn(
    process.execPath,
    [vitest, 'run', '--bail=1', '--maxWorkers=1', '--reporter=dot', ...tests],
    {
      cwd: copy,
      stdio: 'ignore',
      detached: true,
    },
  );
  return new Promise((resolve) => {
    const stop = () => {
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {}
    };
    const timer = setTimeout(stop, milliseconds);
    child.on('exit', (code) => {
      clearTimeout(timer);
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
    .map(({ mutant }) => mutant);
}

/** The files below `path` (or `path` itself) whose names end so. */
function filesIn(path, ending) {
  if (path.endsWith(ending)) return [path];
  const names = readdirSync(join(root, path), { recursive: true });
  return names.filter((name) => name.endsWith(ending)).map((name) => join(path, name));
}

function mutantsIn(room) {
  return room.sources
    .flatMap((folder) => filesIn(folder, '.ts'))
    .flatMap((file) =>
      mutantsOf(readFileSync(join(root, file), 'utf8')).map((mutant) => ({ file, ...mutant })),
    );
}

/** Tries the tests named like the file first, as most mutants are caught there. */
async function tried(mutant, room, limit) {
  const path = join(copy, mutant.file);
  const source = readFileSync(path, 'utf8');
  writeFileSync(path, source.slice(0, mutant.start) + mutant.to + source.slice(mutant.end));
  const own = `${basename(mutant.file, '.ts')}.test.ts`;
  const near = room.tests
    .flatMap((test) => filesIn(test, '.test.ts'))
    .filter((test) => basename(test) === own);
  const isCaught = (near.length > 0 && (await notices(near, limit))) || (await notices(room.tests, limit));
  writeFileSync(path, source);
  const change = `${source.slice(mutant.start, mutant.end).replaceAll(/\s+/g, ' ').slice(0, 60)} -> ${mutant.to}`;
  return { isCaught, text: `${mutant.file}:${mutant.line} ${change}` };
}

const print = (line) => {
  console.log(line);
  if (options.out) appendFileSync(options.out, `${line}\n`);
};

for (const name of options.room) {
  const room = ROOMS[name];
  const begin = performance.now();
  if (await notices(room.tests, 1_800_000)) throw new Error(`${name}: its tests fail without a mutant`);
  const limit = 30_000 + 3 * (performance.now() - begin);
  const mutants = mutantsIn(room);
  const missed = [];
  const sample = drawn(mutants, Number(options.each));
  for (const mutant of sample) {
    const result = await tried(mutant, room, limit);
    if (!result.isCaught) missed.push(result.text);
  }
  const caught = sample.length - missed.length;
  print(
    `${name}: ${caught} of ${sample.length} caught (${Math.round((100 * caught) / sample.length)} %), drawn from ${mutants.length}`,
  );
  for (const text of missed) print(`  missed ${text}`);
}
