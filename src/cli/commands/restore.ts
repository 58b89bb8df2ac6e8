import { copyFileSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { hasReadableSettings, type Keys, openKeys, sealedKeysIn, settingsIn } from '../../backup/contents.ts';
import { type Replacement, replaceFiles } from '../../backup/replace-files.ts';
import { GwError, messageOf } from '../../errors.ts';
import { makeHome } from '../../paths.ts';
import {
  type BackupFile,
  prepareRestored,
  readBackup,
  removeBeside,
} from '../../store/database/backup-files.ts';
import { liveDaemons } from '../../store/database/daemons.ts';
import { inspectDatabase } from '../../store/database/inspect.ts';
import { acquireLock } from '../../store/database/lock.ts';
import { plural } from '../../terminal/numbers.ts';
import { writeFault } from '../../write-fault.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { type Context, note, sayJson } from '../context.ts';
import { CliError, EXIT } from '../exit.ts';
import { confirmLoss, readPassphrase } from '../input/confirm.ts';

interface Options {
  yes?: boolean;
  stdin?: boolean;
  keys: boolean;
  json?: boolean;
}

const HELP = `
gw has to be stopped. The backup is checked first; until then nothing changes.
It replaces the database, the settings if it has any, and the provider keys if
it was made with --with-keys.`;

export const restore: SetUp = (command, context) => {
  command
    .argument('<file>', 'a file that gw backup has written, on this machine or another')
    .option('--yes', 'replace what is there without asking')
    .option('--stdin', 'read the passphrase of its keys from stdin')
    .option('--no-keys', 'leave the keys in it')
    .option(...AS_JSON)
    .addHelpText('after', HELP)
    .action((file: string, options: Options) => run(context, resolve(file), options));
};

async function run(context: Context, file: string, options: Options): Promise<void> {
  const { files, requests, projects } = verify(file);
  const keys = await keysOf(context, file, files, options);
  makeHome(context.paths);
  const lock = acquireLock(context.paths.lock);
  if (!lock) throw new CliError(`gw is running in ${context.paths.home}. First: gw stop`);
  try {
    refuseLiveDaemons(context);
    const loss = lossOf(context, { settings: settingsIn(files), keys });
    if (loss !== undefined) await confirmLoss(context, loss, options);
    await replaceAll(context, file, { settings: settingsIn(files), keys });
  } finally {
    lock.release();
  }
  const restored = {
    file,
    requests,
    projects,
    settings: settingsIn(files) !== undefined,
    keys: keys !== undefined,
  };
  if (options.json) sayJson(context, restored);
  else note(context, `${summary(restored)} To start it: gw start`);
}

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
  file: string,
  files: BackupFile[],
  { keys: wanted, stdin }: Options,
): Promise<Keys | undefined> {
  const sealed = sealedKeysIn(files);
  if (!sealed || !wanted) return undefined;
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

/** What the restore replaces; undefined: nothing. */
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
  try {
    return `the database with ${plural(inspectDatabase(path, { quick: true }).requests, 'request')}`;
  } catch {
    return 'the database, which gw cannot read';
  }
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

function summary({
  file,
  requests,
  projects,
  settings,
  keys,
}: {
  file: string;
  requests: number;
  projects: number;
  settings: boolean;
  keys: boolean;
}): string {
  const more = `${settings ? ', the settings' : ''}${keys ? ', provider keys' : ''}`;
  return `Restored ${file}: ${plural(requests, 'request')}, ${plural(projects, 'project')}${more}.`;
}
