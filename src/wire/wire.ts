import type { Form } from '../compression/turns/turns.ts';
import type { Edit } from '../json/edit.ts';
import type { Member } from '../json/scan.ts';
import type { Preset } from '../providers/presets.ts';
import type { TokenUsage } from '../usage.ts';
import type { Unseen } from './request/non-text-input.ts';
import type { ServerTools } from './request/server-tools.ts';
import type { ServiceOptions } from './request/service-options.ts';
import type { Terms } from './request/surcharges.ts';

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
  thoughts?: number | undefined;
  /** How many answers are asked for. */
  choices: number;
  /** Left out where the listed prices hold. */
  terms?: Terms | undefined;
  /** Left out where the provider runs no tools of its own. */
  serverTools?: ServerTools | undefined;
  /** A stream's usage is the client's to see. */
  wantsUsage: boolean;
  /** What it points at, looked for quickly: never less than there is. */
  unseen: Unseen;
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
  unseen: Unseen;
}

/** What a stream's complete events held. */
export interface InspectedEvents {
  /** The events to pass on: the input by reference where nothing is hidden. */
  pass: Buffer;
  /** The closing event, which waits until the request is on record. */
  closing?: Buffer;
  /** The usage that the provider reported, as it came. A later event's adds to an earlier one's. */
  usage?: unknown;
  /** Whether that is all: not where it only opens the stream, nor, if the stream is cut, where it tells how far it was. */
  usageIs?: 'opening' | 'so far' | undefined;
  /** The provider reported an error within the stream. */
  error?: string;
}

/** Ends a stream at its output limit the way the provider should have. */
export interface LimitEnding {
  /** Takes in the events that went out, in order. */
  take(events: Buffer): void;
  /** The events that end the stream; `usage` is left out where the client did not ask for it. */
  end(usage: TokenUsage | undefined): Buffer;
}

/** All that differs between the APIs that clients speak. One adapter each; the pipeline knows only this. */
export interface Wire {
  /** As in request records. */
  endpoint: string;
  /** Which providers speak it. */
  family: Preset['wire'];
  /** Path behind the provider's base URL. */
  path: string;
  /** What an answer without usage counts as; left out: its tokens are estimated. */
  unreported?: 'free' | 'unmetered';
  /** Reads a body. Throws GwError 400 with `param`. */
  parse(bytes: Buffer): WireRequest;
  /** The edit that puts another model name into the request. */
  renameModel(request: WireRequest, model: string): Edit;
  /** The edits that limit the output to `tokens` per choice. */
  limitOutput(request: WireRequest, tokens: number, field: Preset['outputLimit']): Edit[];
  /** The edits that put the request's own limit into the field that the provider heeds. */
  nameLimit?(request: WireRequest, field: Preset['outputLimit']): Edit[];
  /** The edits that limit the calls of the provider's own tools, where the request does not. */
  limitCalls?(request: WireRequest, calls: number): Edit[];
  /** The provider's usage in a whole answer; undefined if there is none. */
  usageOf(answer: Buffer): unknown;
  /** Reads complete events of a stream. */
  inspect(events: Buffer, hideUsage: boolean): InspectedEvents;
  /** Follows a stream whose provider may not keep to the output limit. */
  endAtLimit?(): LimitEnding;
  /** Whether complete events of a stream hold content, or the end of an answer without any. */
  hasContent?(events: Buffer): boolean;
  /** Whether the last events of a stream say why it is over, for a provider that leaves out the closing event. */
  isOver?(events: Buffer): boolean;
  /** The text that was generated, of a whole answer or of stream events, for counting tokens. */
  textOf(answer: Buffer, stream: boolean): string[];
  /** The form of its conversations, for a wire whose prompts the optimizer can read. */
  form?: Form;
  /** The member that is the conversation. */
  messagesOf?(request: WireRequest): Member | undefined;
  promptOf(request: WireRequest): Prompt;
}
