import { createCipheriv, createDecipheriv, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import type { Random } from '../ids.ts';

/** A text that only a passphrase opens: AES-256-GCM under a key that scrypt derives from it. */
export interface Sealed {
  /** scrypt's N. */
  cost: number;
  salt: Buffer;
  iv: Buffer;
  tag: Buffer;
  content: Buffer;
}

/** https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#scrypt */
const COST = 2 ** 17;
const BLOCK_SIZE = 8;
const KEY_BYTES = 32;
/** A damaged file must not ask for all of the memory. */
const MAX_COST = 2 ** 20;

const derive = promisify<string, Buffer, number, object, Buffer>(scrypt);

function keyOf(passphrase: string, salt: Buffer, cost: number): Promise<Buffer> {
  // scrypt takes 128 * N * r bytes.
  const options = { N: cost, r: BLOCK_SIZE, p: 1, maxmem: 129 * cost * BLOCK_SIZE };
  return derive(passphrase.normalize('NFC'), salt, KEY_BYTES, options);
}

export async function seal(text: string, passphrase: string, random: Random): Promise<Sealed> {
  const salt = random(16);
  const iv = random(12);
  const cipher = createCipheriv('aes-256-gcm', await keyOf(passphrase, salt, COST), iv);
  const content = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return { cost: COST, salt, iv, tag: cipher.getAuthTag(), content };
}

/** The text; undefined if the passphrase is wrong, or a byte was changed. */
export async function unseal(sealed: Sealed, passphrase: string): Promise<string | undefined> {
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
