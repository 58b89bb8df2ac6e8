import type { Form } from '../compression/turns/turns.ts';
import type { Edit } from '../json/edit.ts';
import type { Member } from '../json/scan.ts';
import type { Preset } from '../providers/presets.ts';
import type { InspectedEvents, LimitEnding } from './answer/inspected-events.ts';
import type { Prompt, WireRequest } from './request/wire-request.ts';

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
