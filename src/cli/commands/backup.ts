import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import {
  collectFiles,
  hasReadableSettings,
  type Keys,
  openKeys,
  sealedKeysIn,
  settingsIn,
} from '../../backup/contents.ts';
import { type Replacement, replaceFiles } from '../../backup/replace-files.ts';
import { GwError, messageOf, orElse } from '../../errors.ts';
import { systemRandom } from '../../ids.ts';
import { makeHome } from '../../paths.ts';
import {
  addBackupFiles,
  type BackupFile,
  prepareRestored,
  readBackup,
  removeBeside,
} from '../../store/database/backup-files.ts';
import { liveDaemons } from '../../store/database/daemons.ts';
import { inspectDatabase } from '../../store/database/inspect.ts';
import { acquireLock } from '../../store/database/lock.ts';
import { bytes, plural } from '../../terminal/numbers.ts';
import { writeFault } from '../../write-fault.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { type Context, note, sayJson } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { confirmLoss, readPassphrase } from '../input/prompt.ts';
import { withStore } from '../with-store.ts';

export const backup: SetUp = (command, context) =>
  command
    .argument('<file>', 'where to write the copy')
    .option('--force', 'replace an existing file')
    .option('--with-keys', 'include provider keys, encrypted with a passphrase')
    .option('--stdin', 'read the passphrase from stdin')
    .option(...AS_JSON)
    .addHelpText('after', BACKUP_HELP)
    .action(async (file, { force, withKeys, stdin, json }) => {
      // Makes an online backup next to the target, checks it and renames it, so that the target is never incomplete.
      const target = resolve(file);
      if (!existsSync(dirname(target)))
        throw new CliError(`there is no folder ${dirname(target)}`, EXIT.notFound);
      if (statSync(target, { throwIfNoEntry: false })?.isDirectory())
        throw usageError(`${target} is a folder, not a file`);
      if (existsSync(target) && !force)
        throw new CliError(`${target} already exists. To replace it, add --force`);
      const passphrase = withKeys ? await newPassphrase(context, file, stdin) : undefined;
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

const BACKUP_HELP = `
The copy holds projects, hashes of keys, budgets, usage, requests, webhooks
with their secrets, and the settings. Provider keys are in it only with
--with-keys. To restore it, here or on another machine: gw restore FILE`;

const MIN_PASSPHRASE = 8;

async function newPassphrase(context: Context, file: string, stdin: boolean | undefined): Promise<string> {
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

const RESTORE_HELP = `
gw has to be stopped. The backup is checked first; until then nothing changes.
It replaces the database, the settings if it has any, and the provider keys if
it was made with --with-keys.`;

export const restore: SetUp = (command, context) =>
  command
    .argument('<file>', 'a file that gw backup has written, on this machine or another')
    .option('--yes', 'replace what is there without asking')
    .option('--stdin', 'read the passphrase of its keys from stdin')
    .option('--no-keys', 'leave the keys in it')
    .option(...AS_JSON)
    .addHelpText('after', RESTORE_HELP)
    .action(async (name, { yes, stdin, keys: wantsKeys, json }) => {
      const file = resolve(name);
      const { files, requests, projects } = verify(file);
      const settings = settingsIn(files);
      const keys = wantsKeys ? await keysOf(context, { file, files, stdin }) : undefined;
      makeHome(context.paths);
      const lock = acquireLock(context.paths.lock);
      if (!lock) throw new CliError(`gw is running in ${context.paths.home}. First: gw stop`);
      try {
        refuseLiveDaemons(context);
        const loss = lossOf(context, { settings, keys });
        if (loss !== undefined) await confirmLoss(context, loss, { yes });
        await replaceAll(context, file, { settings, keys });
      } finally {
        lock.release();
      }
      const restored = { settings: settings !== undefined, keys: keys !== undefined };
      if (json) return sayJson(context, { file, requests, projects, ...restored });
      const more = `${restored.settings ? ', the settings' : ''}${restored.keys ? ', provider keys' : ''}`;
      note(
        context,
        `Restored ${file}: ${plural(requests, 'request')}, ${plural(projects, 'project')}${more}. To start it: gw start`,
      );
    });

/** Reads all of a backup. Throws CliError, with nothing changed. */
function verify(file: string) {
  if (!existsSync(file)) throw new CliError(`there is no file ${file}`, EXIT.notFound);
  const damaged = (why: string) => new CliError(`${file} can't be restored: ${why}. Nothing was changed`);
  try {
    const { faults, schema, wantedSchema, requests } = inspectDatabase(file);
    if (faults.length > 0) throw damaged(`it is damaged (${faults[0]})`);
    if (schema > wantedSchema)
      throw damaged(
        `a newer gw has written it (schema ${schema}, this gw knows ${wantedSchema}). Update gw first`,
      );
    const backup = schema > 0 ? readBackup(file) : undefined;
    if (!backup) throw damaged('it is a database, but not one of gw');
    if (!hasReadableSettings(backup.files)) throw damaged('the settings in it are not JSON');
    return { ...backup, requests };
  } catch (error) {
    throw error instanceof CliError ? error : damaged(`it is no backup, or damaged (${messageOf(error)})`);
  }
}

async function keysOf(
  context: Context,
  { file, files, stdin }: { file: string; files: BackupFile[]; stdin: boolean | undefined },
): Promise<Keys | undefined> {
  const sealed = sealedKeysIn(files);
  if (!sealed) return undefined;
  const hint = `gw restore ${file} --stdin < FILE   or leave the keys in it: --no-keys`;
  const keys = await openKeys(sealed, await readPassphrase(context, { stdin, hint }));
  if (keys) return keys;
  throw new CliError(
    `the passphrase does not open the keys in ${file}. Nothing was changed. To leave them in it: --no-keys`,
  );
}

/** A daemon of another home may share the database. */
function refuseLiveDaemons({ paths }: Context): void {
  const [other] = existsSync(paths.database) ? liveDaemons(paths.database, paths.lock) : [];
  if (other)
    throw new CliError(
      `gw (pid ${other.pid}) is using ${paths.database}. Stop it first, in its own GW_HOME: gw stop`,
    );
}

interface Contents {
  settings: string | undefined;
  keys: Keys | undefined;
}

/** A sentence that names what the restore replaces; undefined if it replaces nothing. */
function lossOf({ paths }: Context, { settings, keys }: Contents): string | undefined {
  const lost = [
    existsSync(paths.database) ? databaseLoss(paths.database) : undefined,
    settings !== undefined && existsSync(paths.config) ? 'the settings' : undefined,
    keys && existsSync(paths.credentials) ? 'the stored provider keys' : undefined,
  ].filter((text) => text !== undefined);
  if (lost.length === 0) return undefined;
  return `This replaces ${lost.join(', ')} in ${paths.home}, which are lost. To keep them first: gw backup FILE.`;
}

function databaseLoss(path: string): string {
  return orElse(
    () => `the database with ${plural(inspectDatabase(path, { quick: true }).requests, 'request')}`,
    'the database, which gw cannot read',
  );
}

/** Writes each file beside the one that it replaces, checks it, and replaces all of them at once. */
async function replaceAll({ paths }: Context, file: string, { settings, keys }: Contents): Promise<void> {
  const staged = (to: string): Replacement => ({ from: `${to}.restore`, to });
  const database = staged(paths.database);
  const texts = [
    { ...staged(paths.config), text: settings },
    { ...staged(paths.credentials), text: keys && JSON.stringify(keys.credentials) },
    { ...staged(paths.cliKeys), text: keys && JSON.stringify(keys.cliKeys) },
  ].filter(({ text }) => text !== undefined);
  const replacements: Replacement[] = [database, ...texts.map(({ from, to }) => ({ from, to }))];
  try {
    writeFileSync(database.from, '', { mode: 0o600 });
    copyFileSync(file, database.from);
    await prepareRestored(database.from);
    const { faults } = inspectDatabase(database.from);
    if (faults.length > 0) throw new CliError(`the copy is damaged: ${faults[0]}. Nothing was changed`);
    for (const { from, text = '' } of texts) writeFileSync(from, text, { mode: 0o600, flush: true });
  } catch (error) {
    removeBeside(database.from);
    for (const { from } of replacements) rmSync(from, { force: true });
    throw error instanceof GwError || error instanceof CliError ? error : writeFault(paths.database, error);
  }
  replaceFiles(paths, replacements);
}
