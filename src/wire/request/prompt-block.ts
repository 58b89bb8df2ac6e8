import type { Range } from '../../json/bytes.ts';
import type { Earlier } from '../../json/recent-texts.ts';

/**
 * The kinds of blocks in a prompt. `notice`: for the provider only, such as a billing line in the first system block,
 * which no model reads. `deferred`: a tool whose definition is read only if a block refers to it. `option`: a field
 * that changes how the prompt is rendered. Prompt bases store a kind as its index here.
 */
// biome-ignore format: they fit a line
export const BLOCK_KINDS = [
  'option', 'tool', 'deferred', 'system', 'notice', 'user', 'assistant', 'result', 'reasoning', 'image',
] as const;

export type BlockKind = (typeof BLOCK_KINDS)[number];

export type BlockRole = 'option' | 'tool' | 'system' | 'user' | 'assistant' | 'result';

/** The unit in which two prompts are compared. Its range is in the body. */
export interface PromptBlock extends Range {
  /** Hash of role, kind and the bytes without cache markers. Equal ids are equal to the model. */
  id: string;
  kind: BlockKind;
  role: BlockRole;
  /** Bytes of the range that belong to other blocks. */
  without: number;
  /** Whether it is the first block of its message. */
  opensMessage: boolean;
  /** The provider's template may reformat it as JSON: tools, calls and their results. */
  isJson: boolean;
  /** A tool's name. */
  name?: string | undefined;
  /** Names of referenced tools. Each reference expands to the tool's whole definition. */
  references?: readonly string[] | undefined;
  /** Number of images, including those by URL or file id. */
  images: number;
  /** Images by URL or file id, whose content may change. */
  addressed: number;
  /** Bytes of images in the range. No provider of this API reads them as text. */
  inline: number;
}

/** A prompt as sent, in the order of comparison: options, tools, system blocks, messages. */
export interface PromptBlocks {
  bytes: Buffer;
  /** The shape that it was read by. Another API may refuse what this one knows, so it reuses none of the blocks. */
  shape: object;
  blocks: readonly PromptBlock[];
  /** Id of the response that the prompt continues. Its prompt and output precede this prompt. */
  previous?: string | undefined;
  /** Hash of the other fields, except those that no model reads. */
  key: string;
  /** Whether the provider renders all reasoning of the prompt. If not, a later request may restore it. */
  keepsReasoning: boolean;
  /** Undefined for a prompt whose only message is a string. */
  messages: SplitMessages | undefined;
  /** The other fields that contain blocks. */
  fields: readonly SplitField[];
  /** Tokens by which normalized forms of the text can exceed its bytes; undefined until computed. */
  growth?: number | undefined;
}

/** The end of each message, so that a prompt with the same prefix can reuse its blocks. */
export interface SplitMessages {
  /** Index of the messages' first block. */
  firstBlock: number;
  /** The end of each message, and the number of blocks up to there. */
  ends: number[];
  blocks: number[];
}

/** Blocks of a field, so that a prompt with the same field can reuse them. */
export interface SplitField extends Range {
  key: string;
  /** Index of the field's first block. */
  firstBlock: number;
  /** The number of its blocks. */
  blocks: number;
}

/** An earlier prompt with a common prefix. */
export type EarlierPrompt = Earlier<PromptBlocks>;

/** Input that may have more tokens than its request has bytes, such as the contents of a URL. */
export interface UnknownInput {
  /** Description for error messages. */
  what: string;
  /** The input is entirely in the request, so that the provider's count covers it, as for a document. */
  isInline: boolean;
}
