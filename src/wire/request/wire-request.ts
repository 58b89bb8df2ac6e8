import type { Edit } from '../../json/edit.ts';
import type { Member } from '../../json/scan.ts';
import type { NonTextInput } from './non-text-input.ts';
import type { ServerTools } from './server-tools.ts';
import type { ServiceOptions } from './service-options.ts';
import type { Surcharges } from './surcharges.ts';

/** A request as gw reads it: a few facts, and the client's bytes with the edits to make in them. */
export interface WireRequest {
  bytes: Buffer;
  members: Member[];
  model: string;
  stream: boolean;
  options: ServiceOptions;
  /** The request's own limit of output tokens per choice. */
  maxOutputTokens: number | undefined;
  /** False: the API has no field that limits its output. */
  limitable?: false;
  /** Output tokens of each choice that may be billed beyond the limit. */
  beyondLimit?: number | undefined;
  /** Output tokens of each choice that the model may think, by a limit of their own: a host may go by that one. */
  reasoningTokens?: number | undefined;
  /** How many answers are asked for. */
  choices: number;
  /** Left out where the listed prices hold. */
  surcharges?: Surcharges | undefined;
  /** Left out where the provider runs no tools of its own. */
  serverTools?: ServerTools | undefined;
  /** A stream's usage is the client's to see. */
  wantsUsage: boolean;
  /** What it points at, looked for quickly: never less than there is. */
  nonText: NonTextInput;
  /** Edits that have to be made wherever it goes. */
  edits: Edit[];
}

/** The input as the model reads it, for counting tokens. */
export interface Prompt {
  texts: string[];
  /** How many messages, tools and the like it comes in. */
  items: number;
  /** Given as tokens, not as text. */
  tokens: number;
  /** What is in no text. */
  nonText: NonTextInput;
}
