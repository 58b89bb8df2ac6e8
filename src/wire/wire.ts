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
  /** What one pass over a body finds out; what it shares with `earlier` is taken over. Throws GwError 400. */
  scan(bytes: Buffer, earlier?: Earlier<ScannedBody>): BodyScan;
  /** Reads a body, of which `scan` is known. Throws GwError 400 with `param`. */
  parse(bytes: Buffer, scan?: BodyScan): WireRequest;
  /** The edit that replaces the model name. */
  renameModel(request: WireRequest, model: string): Edit;
  /** The edits that lower the output limit to `tokens` per choice, or set it in `field`. */
  limitOutput(request: WireRequest, tokens: number, field: Preset['outputLimit']): Edit[];
  /** The edits that move the request's own output limit to the field that the provider supports. */
  nameLimit?(request: WireRequest, field: Preset['outputLimit']): Edit[];
  /** The edits that limit reasoning and answer together, besides a limit that may be the answer's alone. */
  limitTotal?(request: WireRequest, tokens: number): Edit[];
  /** The edits that limit the calls of server tools where the request sets no limit. */
  limitCalls?(request: WireRequest, calls: number): Edit[];
  /** Format of the API's conversations; undefined when the optimizer can't read them. */
  form?: Form;
  /** The member that holds the conversation. */
  messagesOf?(request: WireRequest): Member | undefined;
  /** The input as the model reads it. */
  promptOf(request: WireRequest): Prompt;
  /** Input that the bytes of the request don't bound. What is not of a known shape may be such. */
  unseenIn(request: WireRequest): UnknownInput | undefined;
  /** The prompt in blocks; undefined if it holds anything whose size the bytes don't bound. */
  blocksOf?(request: WireRequest, earlier?: EarlierPrompt): PromptBlocks | undefined;
}

/** Reads the answers of one client API. */
export interface AnswerWire {
  /** The API's name in request records. */
  endpoint: string;
  /** The provider's usage in a complete answer; undefined if it reports none. */
  usageOf(answer: Buffer): unknown;
  /** Reads complete events of a stream. */
  inspect(events: Buffer, hideUsage: boolean): InspectedEvents;
  /** Follows a stream that may have to be ended at its output limit. */
  endAtLimit?(): LimitEnding;
  /** Whether stream events contain content, or the end of an answer without content. */
  hasContent?(events: Buffer): boolean;
  /** Whether the last events of a stream give a finish reason, for providers that omit the closing event. */
  isOver?(events: Buffer): boolean;
  /** The generated text of a complete answer or of stream events, for counting tokens. */
  textOf(answer: Buffer, stream: boolean): string[];
}

/** A client API. The stages of a completion depend on this interface alone. */
export interface Wire extends RequestWire, AnswerWire {
  /** Usage that an answer doesn't report is estimated. */
  unreported?: undefined;
}

/** Reads answers of any API to requests that gw passes through. */
export interface PassThroughWire extends AnswerWire {
  /** How an answer without usage is booked: gw can't estimate it. */
  unreported: 'free' | 'unmetered';
}
