/** Whether a text's bytes stand at an offset; false where the buffer ends before, for which `Buffer.compare` throws. */
export function bytesAt(bytes: Buffer, start: number, text: Buffer): boolean {
  const end = start + text.length;
  return start >= 0 && end <= bytes.length && text.compare(bytes, start, end) === 0;
}
