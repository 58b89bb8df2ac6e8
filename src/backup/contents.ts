import { createCipheriv, createDecipheriv, scrypt } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { parsePrivate, readSecrets } from '../config/secrets.ts';
import { orElse } from '../errors.ts';
import type { Random } from '../ids.ts';
import { isObject } from '../json/object.ts';
import type { Paths } from '../paths.ts';
import type { BackupFile } from '../store/database/backup-files.ts';

const SETTINGS = 'config.json';
const KEYS = 'keys';

/** Provider keys, and the gw keys of the CLI. */
export interface Keys {
  credentials: Record<string, string>;
  cliKeys: Record<string, string>;
}

/** Files of a backup besides the database: the settings and, with a passphrase, the keys. */
export async function collectFiles(
  paths: Paths,
  { passphrase, random }: { passphrase: string | undefined; random: Random },
): Promise<BackupFile[]> {
  const nothing = Buffer.alloc(0);
  const unsealed = { cost: 0, salt: nothing, iv: nothing, tag: nothing };
  const files = existsSync(paths.config)
    ? [{ name: SETTINGS, content: readFileSync(paths.config), ...unsealed }]
    : [];
  if (passphrase === undefined) return files;
  const keys: Keys = { credentials: readSecrets(paths.credentials), cliKeys: readSecrets(paths.cliKeys) };
  return [...files, { name: KEYS, ...(await seal(JSON.stringify(keys), passphrase, random)) }];
}

/** The settings file in a backup; undefined if it has none. */
export function settingsIn(files: readonly BackupFile[]): string | undefined {
  return files.find(({ name }) => name === SETTINGS)?.content.toString('utf8');
}

/** False if the settings aren't a JSON object. */
export function hasReadableSettings(files: readonly BackupFile[]): boolean {
  const settings = settingsIn(files);
  return orElse(() => settings === undefined || isObject(JSON.parse(settings)), false);
}

export function sealedKeysIn(files: readonly BackupFile[]): BackupFile | undefined {
  return files.find(({ name }) => name === KEYS);
}

/** Decrypts the keys; undefined if the passphrase is wrong. */
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

/** Text encrypted with a passphrase: AES-256-GCM with a key that scrypt derives from it; `cost` is scrypt's N. */
type Sealed = Omit<BackupFile, 'name'>;

/** https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#scrypt */
const COST = 2 ** 17;
const BLOCK_SIZE = 8;
const KEY_BYTES = 32;
/** Limits the memory that a damaged file can request. */
const MAX_COST = 2 ** 20;

const derive = promisify<string, Buffer, number, object, Buffer>(scrypt);

function keyOf(passphrase: string, salt: Buffer, cost: number): Promise<Buffer> {
  // scrypt needs 128 * N * r bytes.
  const options = { N: cost, r: BLOCK_SIZE, p: 1, maxmem: 129 * cost * BLOCK_SIZE };
  return derive(passphrase.normalize('NFC'), salt, KEY_BYTES, options);
}

async function seal(text: string, passphrase: string, random: Random): Promise<Sealed> {
  const salt = random(16);
  const iv = random(12);
  const cipher = createCipheriv('aes-256-gcm', await keyOf(passphrase, salt, COST), iv);
  const content = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return { cost: COST, salt, iv, tag: cipher.getAuthTag(), content };
}

/** Decrypts the text; undefined if the passphrase is wrong or a byte was changed. */
async function unseal(sealed: Sealed, passphrase: string): Promise<string | undefined> {
  const { cost, salt, iv, tag, content } = sealed;
  if (!Number.isInteger(Math.log2(cost)) || cost < 2 || cost > MAX_COST || tag.length !== 16)
    return undefined;
  try {
    const decipher = createDecipheriv('aes-256-gcm', await keyOf(passphrase, salt, cost), iv);
    decipher.setAuthTag(tag);
    return Buffer.concat([decipher.update(content), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}
