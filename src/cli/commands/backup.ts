import { chmodSync, closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { collectFiles } from '../../backup/contents.ts';
import { GwError } from '../../errors.ts';
import { systemRandom } from '../../ids.ts';
import { addBackupFiles } from '../../store/database/backup-files.ts';
import { inspectDatabase } from '../../store/database/inspect.ts';
import { bytes, plural } from '../../terminal/numbers.ts';
import { writeFault } from '../../write-fault.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { type Context, note, sayJson } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { readPassphrase } from '../input/confirm.ts';
import { withStore } from '../with-store.ts';

interface Options {
  force?: boolean;
  withKeys?: boolean;
  stdin?: boolean;
  json?: boolean;
}

export const backup: SetUp = (command, context) => {
  command
    .argument('<file>', 'where to write the copy')
    .option('--force', 'replace an existing file')
    .option('--with-keys', 'include provider keys, encrypted with a passphrase')
    .option('--stdin', 'read the passphrase from stdin')
    .option(...AS_JSON)
    .addHelpText('after', HELP)
    .action(async (file, { force, json, ...options }) => {
      // Makes an online backup next to the target, checks it and renames it, so that the target is never incomplete.
      const target = resolve(file);
      if (!existsSync(dirname(target)))
        throw new CliError(`there is no folder ${dirname(target)}`, EXIT.notFound);
      if (statSync(target, { throwIfNoEntry: false })?.isDirectory())
        throw usageError(`${target} is a folder, not a file`);
      if (existsSync(target) && !force)
        throw new CliError(`${target} already exists. To replace it, add --force`);
      const passphrase = options.withKeys ? await newPassphrase(context, file, options) : undefined;
      const partial = `${target}.partial`;
      try {
        closeSync(openSync(partial, 'w', 0o600));
        chmodSync(partial, 0o600);
        await withStore(context, (db) => db.backup(partial));
        await voidLimits(partial);
        addBackupFiles(partial, await collectFiles(context.paths, { passphrase, random: systemRandom }));
        const { faults, requests } = inspectDatabase(partial);
        if (faults.length > 0)
          throw new CliError(`the copy is damaged: ${faults.join('; ')}. Run: gw doctor`);
        renameSync(partial, target);
        const size = statSync(target).size;
        if (json) sayJson(context, { file: target, bytes: size, requests });
        else
          note(context, `Backed up to ${target}: ${bytes(size)}, ${plural(requests, 'request')}, checked.`);
      } catch (error) {
        throw error instanceof GwError || error instanceof CliError ? error : writeFault(target, error);
      } finally {
        for (const file of [partial, `${partial}-wal`, `${partial}-shm`, `${partial}-journal`])
          rmSync(file, { force: true });
      }
    });
};

const HELP = `
The copy holds projects, hashes of keys, budgets, usage, requests, webhooks
with their secrets, and the settings. Provider keys are in it only with
--with-keys. To restore it, here or on another machine: gw restore FILE`;

const MIN_PASSPHRASE = 8;

async function newPassphrase(context: Context, file: string, { stdin }: Options): Promise<string> {
  const hint = `gw backup ${file} --with-keys --stdin < FILE`;
  const passphrase = await readPassphrase(context, { stdin, twice: true, hint });
  if (passphrase.length >= MIN_PASSPHRASE) return passphrase;
  throw usageError(`the passphrase is shorter than ${MIN_PASSPHRASE} characters; nothing was written`);
}

/** The team's money stays with this gateway: a copy that could spend it too would pass the cap. */
async function voidLimits(path: string): Promise<void> {
  const [{ openDatabase }, { createTeamLimits }] = await Promise.all([
    import('../../store/database/open.ts'),
    import('../../store/team/limits.ts'),
  ]);
  const copy = await openDatabase(path);
  try {
    createTeamLimits(copy).voidAll();
  } finally {
    // Without the log that stands beside a database in use.
    copy.pragma('journal_mode = DELETE');
    copy.close();
  }
}
