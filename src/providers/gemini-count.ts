import { OPEN_BRACE } from '../json/bytes.ts';
import type { Member } from '../json/scan.ts';

/** The request that a count of Gemini's API has within it: https://ai.google.dev/api/tokens#request-body */
export function innerRequest(
  bytes: Buffer,
  members: readonly Member[],
): { text: Buffer; start: number } | undefined {
  const inner = members.find(({ key }) => /^generate_?content_?request$/i.test(key));
  if (!inner || bytes[inner.start] !== OPEN_BRACE) return undefined;
  return { text: bytes.subarray(inner.start, inner.end), start: inner.start };
}
