/** Upper bound of a text's tokens in any byte-level encoding: its UTF-8 bytes, since every token has at least one. */
export function tokenBound(text: string | Uint8Array): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : text.byteLength;
}
