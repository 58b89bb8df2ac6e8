import { chmodSync, closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { inspectDatabase } from '../../store/inspect.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, sayJson } from '../context.ts';
import { CliError } from '../exit.ts';
import { bytes, plural } from '../output/numbers.ts';
import { withStore } from '../with-store.ts';

interface Options {
  force?: boolean;
  json?: boolean;
}

export const backup: SetUp = (command, context) => {
  command
    .argument('<file>', 'where to write the copy')
    .option('--force', 'replace the file')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      '\nThe copy holds projects, hashes of keys, budgets, usage and requests. Settings and provider keys are in files of\ntheir own: gw config path. To restore: gw stop, put the copy in the place of the database, gw start.',
    )
    .action((file: string, options: Options) => run(context, file, options));
};

/** SQLite's own online backup into a file beside the target, checked and then renamed: no half copy has its name. */
async function run(context: Context, file: string, { force, json }: Options): Promise<void> {
  const target = resolve(file);
  if (existsSync(target) && !force)
    throw new CliError(`${target} is there already. To replace it: add --force`);
  const partial = `${target}.partial`;
  try {
    closeSync(openSync(partial, 'w', 0o600));
    chmodSync(partial, 0o600);
    await withStore(context, (db) => db.backup(partial));
    const { faults, requests } = inspectDatabase(partial);
    if (faults.length > 0) throw new CliError(`the copy is damaged: ${faults.join('; ')}. Run: gw doctor`);
    renameSync(partial, target);
    const size = statSync(target).size;
    if (json) sayJson(context, { file: target, bytes: size, requests });
    else note(context, `${target}: ${bytes(size)}, ${plural(requests, 'request')}, checked.`);
  } finally {
    for (const left of [partial, `${partial}-wal`, `${partial}-shm`, `${partial}-journal`])
      rmSync(left, { force: true });
  }
}
