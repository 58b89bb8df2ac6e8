import type { Edit } from '../../../json/edit.ts';
import { OWN_REASONING_MARK } from '../../carry/envelope.ts';

/**
 * A signature that carries seals. Clients decode and encode signatures, some in the alphabet of URLs, so it is base64 of
 * what gw packs.
 */
export const packSignature = (packed: readonly string[]): string =>
  Buffer.from(packed.join(' ')).toString('base64');

/** The packed seals of a signature; none of one that Google made. */
export function unpackSignature(signature: unknown): string[] {
  if (typeof signature !== 'string') return [];
  const text = Buffer.from(signature, 'base64').toString('latin1');
  return text.startsWith(OWN_REASONING_MARK) ? text.split(' ') : [];
}

/** `OWN_REASONING_MARK` in base64, as far as it doesn't depend on what follows. */
const MARK = Buffer.from('"Z3cxL');
const SIGNATURE = /"thought_?[sS]ignature"\s*:\s*("Z3cxL[\w+/=-]*")/g;

/** The edits that put Google's stand-in for a signature in place of those that gw made, which Google refuses. */
export function ownSignatures(body: Buffer): Edit[] {
  if (!body.includes(MARK)) return [];
  return [...body.toString('latin1').matchAll(SIGNATURE)].flatMap(([whole, value = ''], i, all) => {
    const end = (all[i]?.index ?? 0) + whole.length;
    if (unpackSignature(value).length === 0) return [];
    return [{ start: end - value.length, end, text: `"${STAND_IN}"` }];
  });
}

/** https://ai.google.dev/gemini-api/docs/thought-signatures */
const STAND_IN = 'skip_thought_signature_validator';
