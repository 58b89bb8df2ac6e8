import { asText, type Json } from '../json.ts';

/** Type of a block that holds unsigned reasoning of a chat completion. */
export const REASONING_TEXT = 'reasoning_content';

/** The blocks that Anthropic signed. */
export const signedIn = (blocks: readonly Json[]): Json[] =>
  blocks.filter(({ type }) => type === 'thinking' || type === 'redacted_thinking');

/** The texts of the others. */
export const textsIn = (blocks: readonly Json[]): string[] =>
  blocks.filter(({ type }) => type === REASONING_TEXT).map(({ text }) => asText(text));
