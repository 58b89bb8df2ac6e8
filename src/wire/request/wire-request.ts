import type { Edit } from '../../json/edit.ts';
import type { Earlier } from '../../json/recent-texts.ts';
import type { Member } from '../../json/scan.ts';
import type { CacheWrites } from '../../pricing/price-profile.ts';
import type { NamedModels } from './named-models.ts';
import type { NonTextInput } from './non-text-input.ts';
import type { PromptBlocks, UnknownInput } from './prompt-block.ts';
import type { BodyScan, ScannedBody } from './scan/body-scan.ts';
import type { ServerTools } from './server-tools.ts';
import type { ServiceOptions } from './service-options.ts';
import type { Surcharges } from './surcharges.ts';

/** A parsed request: the fields that gw needs, the client's bytes, and edits to make in them. */
export interface WireRequest {
  bytes: Buffer;
  members: Member[];
  /** Undefined if no API's parser has read the body. */
  scan?: BodyScan;
  /** A nested object may have a duplicate or ambiguous key. */
  mayMislead?: boolean;
  /** The body is announced as JSON but isn't. */
  isBroken?: boolean;
  model: string;
  stream: boolean;
  options: ServiceOptions;
  /** The request's own limit of output tokens per choice. */
  maxOutputTokens: number | undefined;
  /** False if the API has no field that limits its output. */
  limitable?: false;
  /** The lowest output limit that the API accepts, if above 1. */
  leastLimit?: number | undefined;
  /** Output tokens per choice that may be billed beyond the limit. */
  beyondLimit?: number | undefined;
  /** Reasoning tokens per choice, if the request limits them separately. Some hosts apply only that limit. */
  reasoningTokens?: number | undefined;
  /** The request has Anthropic's field `thinking`, but uses another API. */
  foreignThinking?: boolean;
  /** Number of requested choices. */
  choices: number;
  /** Undefined if the list price applies. */
  surcharges?: Surcharges | undefined;
  /** Undefined if the request has no server tools. */
  serverTools?: ServerTools | undefined;
  /** The client receives the usage of its stream. */
  wantsUsage: boolean;
  /** From a quick scan. May overestimate, never underestimates. */
  nonText: NonTextInput;
  /** The requested cache writes; undefined if the body was not searched for cache markers. */
  cacheWrites?: CacheWrites | undefined;
  /** Reads the models named by a body that isn't JSON. */
  named?: () => NamedModels;
  /** Edits that every provider needs. */
  edits: Edit[];
  /** An earlier body with a common prefix, for the same bytes. */
  like?: { bytes: Buffer; earlier: Earlier<ScannedBody> } | undefined;
  /** Cached result of `blocksOf` for the same bytes. */
  split?: { bytes: Buffer; blocks: PromptBlocks | undefined; growth?: number; rewritten?: number };
  /** Cached result of `unseenIn` for the same bytes. */
  unseen?: { bytes: Buffer; input: UnknownInput | undefined };
}

/** The input as the model reads it, for token counting. */
export interface Prompt {
  texts: string[];
  /** Number of messages, content parts, tools and similar items. */
  items: number;
  /** Input sent as token ids. */
  tokens: number;
  nonText: NonTextInput;
  /** Bytes of images contained in the request. */
  inlineBytes: number;
}
