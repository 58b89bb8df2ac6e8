import { asText, type Json, objectsIn } from '../json.ts';
import { OWN_REASONING_MARK } from '../own-reasoning-mark.ts';

/** Type of a block that holds unsigned reasoning of a chat completion. */
export const REASONING_TEXT = 'reasoning_content';

/** Packs reasoning into the `encrypted_content` of a reasoning item, which the client sends back. */
export function packReasoning(blocks: readonly Json[]): string {
  return OWN_REASONING_MARK + Buffer.from(JSON.stringify(blocks)).toString('base64');
}

/** Unpacks the blocks of `packReasoning`; empty if the content has another origin. */
export function unpackReasoning(content: unknown): Json[] {
  if (typeof content !== 'string' || !content.startsWith(OWN_REASONING_MARK)) return [];
  try {
    return objectsIn(
      JSON.parse(Buffer.from(content.slice(OWN_REASONING_MARK.length), 'base64').toString('utf8')),
    );
  } catch {
    return [];
  }
}

/** The blocks that Anthropic signed. */
export const signedIn = (blocks: readonly Json[]): Json[] =>
  blocks.filter(({ type }) => type === 'thinking' || type === 'redacted_thinking');

/** The texts of the others. */
export const textsIn = (blocks: readonly Json[]): string[] =>
  blocks.filter(({ type }) => type === REASONING_TEXT).map(({ text }) => asText(text));
