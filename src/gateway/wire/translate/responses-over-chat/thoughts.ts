import { type Json, objectsIn } from '../json.ts';

/** Tells gw's own `encrypted_content` from that of OpenAI, which nobody else can read. */
const MARK = 'gw1.';

/** Signed thoughts as the `encrypted_content` of a reasoning item, so that the client gives them back. */
export function packThoughts(blocks: readonly Json[]): string {
  return MARK + Buffer.from(JSON.stringify(blocks)).toString('base64');
}

/** The thoughts that were packed; none in anything else. */
export function thoughtsIn(packed: unknown): Json[] {
  if (typeof packed !== 'string' || !packed.startsWith(MARK)) return [];
  try {
    return objectsIn(JSON.parse(Buffer.from(packed.slice(MARK.length), 'base64').toString('utf8')));
  } catch {
    return [];
  }
}
