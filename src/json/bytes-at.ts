/** Whether the bytes at `start` equal `text`. False beyond the buffer's end, where `Buffer.compare` throws. */
export function bytesAt(bytes: Buffer, start: number, text: Buffer): boolean {
  const end = start + text.length;
  return start >= 0 && end <= bytes.length && text.compare(bytes, start, end) === 0;
}
