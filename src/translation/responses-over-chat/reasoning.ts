import { type Json, objectsIn } from '../json.ts';
import { OWN_REASONING_MARK } from '../own-reasoning-mark.ts';

/** Signed thoughts as the `encrypted_content` of a reasoning item, so that the client gives them back. */
export function packThoughts(blocks: readonly Json[]): string {
  return OWN_REASONING_MARK + Buffer.from(JSON.stringify(blocks)).toString('base64');
}

/** The thoughts that were packed; none in anything else. */
export function thoughtsIn(packed: unknown): Json[] {
  if (typeof packed !== 'string' || !packed.startsWith(OWN_REASONING_MARK)) return [];
  try {
    return objectsIn(
      JSON.parse(Buffer.from(packed.slice(OWN_REASONING_MARK.length), 'base64').toString('utf8')),
    );
  } catch {
    return [];
  }
}
