import { chmodSync, closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { GwError } from '../../errors.ts';
import { inspectDatabase } from '../../store/database/inspect.ts';
import { bytes, plural } from '../../terminal/numbers.ts';
import { writeFault } from '../../write-fault.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, sayJson } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { withStore } from '../with-store.ts';

interface Options {
  force?: boolean;
  json?: boolean;
}

export const backup: SetUp = (command, context) => {
  command
    .argument('<file>', 'where to write the copy')
    .option('--force', 'replace an existing file')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action((file: string, options: Options) => run(context, file, options));
};

/** A write-ahead log left by a killed daemon belongs to the old database and must not be replayed on the copy. */
const HELP = `
The copy holds projects, hashes of keys, budgets, usage and requests. Settings
and provider keys are in separate files: gw config path

To restore: gw stop, copy the backup over gw.db (in the folder of those files,
or where GW_DATABASE points), delete gw.db-wal and gw.db-shm next to it, and
then: gw start`;

/** Makes an online backup next to the target, checks it and renames it, so that the target is never incomplete. */
async function run(context: Context, file: string, { force, json }: Options): Promise<void> {
  const target = resolve(file);
  if (!existsSync(dirname(target)))
    throw new CliError(`there is no folder ${dirname(target)}`, EXIT.notFound);
  if (statSync(target, { throwIfNoEntry: false })?.isDirectory())
    throw usageError(`${target} is a folder, not a file`);
  if (existsSync(target) && !force)
    throw new CliError(`${target} already exists. To replace it, add --force`);
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
    else note(context, `Backed up to ${target}: ${bytes(size)}, ${plural(requests, 'request')}, checked.`);
  } catch (error) {
    throw error instanceof GwError || error instanceof CliError ? error : writeFault(target, error);
  } finally {
    for (const file of [partial, `${partial}-wal`, `${partial}-shm`, `${partial}-journal`])
      rmSync(file, { force: true });
  }
}
