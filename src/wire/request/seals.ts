import { hash } from 'node:crypto';

/** Encrypted reasoning that only its provider can read. */
export interface Seal {
  /** Hash of the encrypted content and the text that it belongs to. */
  id: string;
  /** Size of both in bytes. */
  bytes: number;
}

/** The encrypted content of a reasoning item, thinking block or redacted block; undefined if there is none. */
export function sealOf({
  type,
  encrypted_content,
  thinking,
  signature,
  data,
}: Record<string, unknown>): Seal | undefined {
  if (type === 'reasoning' && isText(encrypted_content)) return seal('', encrypted_content);
  if (type === 'redacted_thinking' && isText(data)) return seal('', data);
  if (type === 'thinking' && isText(signature) && typeof thinking === 'string')
    return seal(thinking, signature);
  return undefined;
}

function seal(text: string, sealed: string): Seal {
  return {
    id: hash('sha256', `${text.length}:${text}${sealed}`, 'base64'),
    bytes: Buffer.byteLength(text) + Buffer.byteLength(sealed),
  };
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
