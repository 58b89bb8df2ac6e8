import type { Edit } from '../../json/edit.ts';
import type { Member } from '../../json/scan.ts';
import type { CacheWrites } from '../../pricing/price-profile.ts';
import type { NamedModels } from './named-models.ts';
import type { NonTextInput } from './non-text-input.ts';
import type { PromptBlocks, UnknownInput } from './prompt-block.ts';
import type { BodyScan } from './scan/body-scan.ts';
import type { ServerTools } from './server-tools.ts';
import type { ServiceOptions } from './service-options.ts';
import type { Surcharges } from './surcharges.ts';

/** A parsed request: the fields that gw needs, the client's bytes and the edits to make in them. */
export interface WireRequest {
  bytes: Buffer;
  members: Member[];
  /** Undefined for a body that no parser of an API has read. */
  scan?: BodyScan;
  /** An object within the body may have a key twice, or a misspelt one. */
  mayMislead?: boolean;
  /** The body is announced as JSON, and is none. */
  isBroken?: boolean;
  model: string;
  stream: boolean;
  options: ServiceOptions;
  /** The request's own limit of output tokens per choice. */
  maxOutputTokens: number | undefined;
  /** False when the API has no field that limits its output. */
  limitable?: false;
  /** The lowest output limit that the API accepts, if that is more than 1. */
  leastLimit?: number | undefined;
  /** Output tokens per choice that may be billed beyond the limit. */
  beyondLimit?: number | undefined;
  /** Reasoning tokens per choice, for requests that limit them separately: some hosts apply that limit alone. */
  reasoningTokens?: number | undefined;
  /** It has Anthropic's `thinking` at another API. */
  foreignThinking?: boolean;
  /** Number of answers requested. */
  choices: number;
  /** Undefined when the listed prices apply. */
  surcharges?: Surcharges | undefined;
  /** Undefined when the request has no server tools. */
  serverTools?: ServerTools | undefined;
  /** The client receives the usage of its stream. */
  wantsUsage: boolean;
  /** From a quick scan, which may find more than there is but never less. */
  nonText: NonTextInput;
  /** The cache writes that the body asks for; undefined when it was not searched for marks. */
  cacheWrites?: CacheWrites | undefined;
  /** The models that a body names which is no JSON. */
  named?: () => NamedModels;
  /** Edits that every provider needs. */
  edits: Edit[];
  /** The blocks of these very bytes, once somebody has asked for them. */
  split?: { bytes: Buffer; blocks: PromptBlocks | undefined };
  /** What these very bytes don't bound, once somebody has asked for it. */
  unseen?: { bytes: Buffer; input: UnknownInput | undefined };
}

/** The input as the model reads it, for counting tokens. */
export interface Prompt {
  texts: string[];
  /** Number of messages, content parts, tools and the like. */
  items: number;
  /** Input that the client sent as token ids. */
  tokens: number;
  nonText: NonTextInput;
  /** Bytes of the images that are in the request itself. */
  inlineBytes: number;
}
