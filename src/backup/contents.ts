import { existsSync, readFileSync } from 'node:fs';
import { parsePrivate, readSecrets } from '../config/secrets.ts';
import type { Random } from '../ids.ts';
import { isObject } from '../json/object.ts';
import type { Paths } from '../paths.ts';
import type { BackupFile } from '../store/database/backup-files.ts';
import { seal, unseal } from './seal.ts';

const SETTINGS = 'config.json';
const KEYS = 'keys';

/** Provider keys, and the command line's own keys of gw. */
export interface Keys {
  credentials: Record<string, string>;
  cliKeys: Record<string, string>;
}

/** What a backup contains besides the database: the settings and, under a passphrase, keys. */
export async function collectFiles(
  paths: Paths,
  { passphrase, random }: { passphrase: string | undefined; random: Random },
): Promise<BackupFile[]> {
  const nothing = Buffer.alloc(0);
  const plain = (name: string, content: Buffer) => ({
    name,
    content,
    cost: 0,
    salt: nothing,
    iv: nothing,
    tag: nothing,
  });
  const files = existsSync(paths.config) ? [plain(SETTINGS, readFileSync(paths.config))] : [];
  if (passphrase === undefined) return files;
  const keys: Keys = { credentials: readSecrets(paths.credentials), cliKeys: readSecrets(paths.cliKeys) };
  return [...files, { name: KEYS, ...(await seal(JSON.stringify(keys), passphrase, random)) }];
}

/** The settings file in a backup; undefined if it has none. */
export function settingsIn(files: readonly BackupFile[]): string | undefined {
  return files.find(({ name }) => name === SETTINGS)?.content.toString('utf8');
}

/** False for settings that are not a JSON object. */
export function hasReadableSettings(files: readonly BackupFile[]): boolean {
  const settings = settingsIn(files);
  try {
    return settings === undefined || isObject(JSON.parse(settings));
  } catch {
    return false;
  }
}

export function sealedKeysIn(files: readonly BackupFile[]): BackupFile | undefined {
  return files.find(({ name }) => name === KEYS);
}

/** The keys; undefined if the passphrase is wrong. */
export async function openKeys(sealed: BackupFile, passphrase: string): Promise<Keys | undefined> {
  const text = await unseal(sealed, passphrase);
  const keys = text === undefined ? undefined : parsePrivate(text, 'the backup');
  return isObject(keys) && isObject(keys.credentials) && isObject(keys.cliKeys)
    ? { credentials: secretsIn(keys.credentials), cliKeys: secretsIn(keys.cliKeys) }
    : undefined;
}

function secretsIn(value: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
