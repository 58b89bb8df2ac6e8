import type { Earlier } from '../../json/recent-texts.ts';

/**
 * What a block is to the model. `notice` is for the provider alone, such as a line for its bill that stands as the first
 * system block: no model reads it; `deferred` a tool whose definition is read only where a block refers to it; `option` a field that
 * changes how the prompt is rendered.
 */
export type BlockKind =
  | 'option'
  | 'tool'
  | 'deferred'
  | 'system'
  | 'notice'
  | 'user'
  | 'assistant'
  | 'result'
  | 'reasoning'
  | 'image';

/** All kinds; a kind's place here is its number in a base. */
// biome-ignore format: they fit a line
export const BLOCK_KINDS: readonly BlockKind[] = [
  'option', 'tool', 'deferred', 'system', 'notice', 'user', 'assistant', 'result', 'reasoning', 'image',
];

export type BlockRole = 'option' | 'tool' | 'system' | 'user' | 'assistant' | 'result';

/** A part of a prompt that stays the same, or changes, as a whole. */
export interface PromptBlock {
  /** Of its role, its kind and its bytes without cache marks: equal ids are equal to the model. */
  id: string;
  kind: BlockKind;
  role: BlockRole;
  /** Byte range in the body. */
  start: number;
  end: number;
  /** Bytes of the range that belong to other blocks. */
  without: number;
  /** It is the first block of its message. */
  opensMessage: boolean;
  /** A template may write it anew as JSON: tools, calls and their results. */
  isJson: boolean;
  /** A tool's name. */
  name?: string | undefined;
  /** The tools that it refers to; each reference stands for the tool's whole definition. */
  references?: readonly string[] | undefined;
  /** Images that it contains, those by address included. */
  images: number;
  /** Images by address, whose content may change. */
  addressed: number;
  /** Bytes of images in the range that no provider of this API reads as text. */
  inline: number;
}

/** A prompt as it will be sent, in the order in which it is compared: options, tools, system blocks, messages. */
export interface PromptBlocks {
  bytes: Buffer;
  blocks: readonly PromptBlock[];
  /** The id of the response that it continues, whose prompt and answer come before it. */
  previous?: string | undefined;
  /** Hash of the other fields, but for those that no model reads. */
  key: string;
  /** The provider renders the reasoning of the prompt in full. If not, a later request may bring it back. */
  keepsReasoning: boolean;
  /** Undefined for a prompt whose only message is a text. */
  messages: SplitMessages | undefined;
  /** Tokens by which normal forms of its text can exceed its bytes; undefined until that is asked for. */
  growth?: number | undefined;
}

/** Where each message ends, so that a prompt with the same beginning can take over its blocks. */
export interface SplitMessages {
  /** The place of their first block. */
  firstBlock: number;
  /** The end of each message, and how many blocks the messages have up to there. */
  ends: number[];
  blocks: number[];
}

/** A prompt that begins with the same bytes as another one. */
export type EarlierPrompt = Earlier<PromptBlocks>;

/** Input whose size the bytes of its request don't bound. */
export interface UnknownInput {
  /** What it is, for people. */
  what: string;
  /** It is all in the request, so that the provider's count covers it: a document, say. */
  isInline: boolean;
}
