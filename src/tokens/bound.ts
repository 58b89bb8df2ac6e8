/** The most tokens that a text can be under any byte-level encoding: its UTF-8 bytes, as no token is shorter than one. */
export function tokenBound(text: string | Uint8Array): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : text.byteLength;
}
