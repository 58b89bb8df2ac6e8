import type { Form } from '../compression/turns/turns.ts';
import type { Edit } from '../json/edit.ts';
import type { Earlier } from '../json/recent-texts.ts';
import type { Member } from '../json/scan.ts';
import type { Preset } from '../providers/presets.ts';
import type { InspectedEvents, LimitEnding } from './answer/inspected-events.ts';
import type { EarlierPrompt, PromptBlocks, UnknownInput } from './request/prompt-block.ts';
import type { BodyScan, ScannedBody } from './request/scan/body-scan.ts';
import type { Prompt, WireRequest } from './request/wire-request.ts';

/** Reads and edits the requests of one client API. */
export interface RequestWire {
  /** The API's name in request records. */
  endpoint: string;
  /** The kind of provider that serves the API without translation. */
  family: Preset['wire'];
  /** Path after the provider's base URL. */
  path: string;
  /** The path, with its query, where it names the model. */
  pathOf?(request: WireRequest, model: string): string;
  /** The results of one pass over a body. The common prefix with `earlier` is reused. Throws GwError 400. */
  scan(bytes: Buffer, earlier?: Earlier<ScannedBody>): BodyScan;
  /** Parses a body; `scan` is its scan if it exists already. Throws GwError 400 with `param`. */
  parse(bytes: Buffer, scan?: BodyScan): WireRequest;
  /** The edits that replace the model name. */
  renameModel(request: WireRequest, model: string): Edit[];
  /** The edits that lower the output limit to `tokens` per choice, or set it in `field`. */
  limitOutput(request: WireRequest, tokens: number, field: Preset['outputLimit']): Edit[];
  /** The edits that move the request's own output limit to the field that the provider supports. */
  nameLimit?(request: WireRequest, field: Preset['outputLimit']): Edit[];
  /** The edits that limit reasoning and output together. Some hosts apply the usual limit to the output alone. */
  limitTotal?(request: WireRequest, tokens: number): Edit[];
  /** The edits that limit server tool calls if the request sets no limit. */
  limitCalls?(request: WireRequest, calls: number): Edit[];
  /** Format of the API's conversations; undefined if the optimizer can't read them. */
  form?: Form;
  /** The member that contains the conversation. */
  messagesOf?(request: WireRequest): Member | undefined;
  /** The input as the model reads it. */
  promptOf(request: WireRequest): Prompt;
  /** Input that may have more tokens than the request has bytes. Anything of an unknown shape counts. */
  unseenIn(request: WireRequest): UnknownInput | undefined;
  /** The prompt in blocks; undefined if it may have more tokens than bytes. */
  blocksOf?(request: WireRequest, earlier?: EarlierPrompt): PromptBlocks | undefined;
}

/** Reads the responses of one client API. */
export interface AnswerWire {
  /** The API's name in request records. */
  endpoint: string;
  /** The provider's usage in a complete response; undefined if it reports none. */
  usageOf(answer: Buffer): unknown;
  /** Reads complete events of a stream. */
  inspect(events: Buffer, hideUsage: boolean): InspectedEvents;
  /** Tracks a stream that may have to end at its output limit. */
  endAtLimit?(): LimitEnding;
  /** Whether stream events contain content, or the end of a response without content. */
  hasContent?(events: Buffer): boolean;
  /** Whether the last events of a stream have a finish reason, for providers that omit the closing event. */
  isOver?(events: Buffer): boolean;
  /** The generated text of a complete response or of stream events, for token counting. */
  textOf(answer: Buffer, stream: boolean): string[];
}

/** A client API. The stages of a completion depend only on this interface. */
export interface Wire extends RequestWire, AnswerWire {
  /** Unreported usage is estimated. */
  unreported?: undefined;
}

/** Reads responses of any API to passed-through requests. */
export interface PassThroughWire extends AnswerWire {
  /** How a response without usage is booked; gw can't estimate it. */
  unreported: 'free' | 'unmetered';
}
