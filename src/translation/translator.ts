import type { Json } from './json.ts';
import type { LeaveOut } from './left-out.ts';
import type { ItemMemory } from './responses-over-chat/item-memory.ts';

/** Translates one provider response into the client's API. Stateful, so each response needs its own translator. */
export interface Translator {
  /** Translates a complete response or error. Throws GwError 502 if the response isn't JSON. */
  answer(body: Buffer, status: number): Buffer;
  /** Translates complete stream events; the result may be empty. */
  events(events: Buffer): Buffer;
  /** The remaining events when the provider ends a stream normally. */
  end(): Buffer;
}

export interface TranslatorOptions {
  /** The model, if the provider's response doesn't name it. */
  model: string;
  /** The client requested the usage of its stream. */
  wantsUsage: boolean;
  /** UTC milliseconds. */
  now: () => number;
}

/** Options of all answer translations. */
export interface TranslationOptions extends TranslatorOptions {
  /** The client's request. Some responses repeat its fields. */
  request: Json;
  newId: (prefix: string) => string;
  memory: ItemMemory;
}

export interface RequestOptions {
  /** The provider's model name. The translated request keeps the client's name. */
  model: string;
  /** Output limit for APIs that require one. */
  maxTokens: number;
  /** The chat completion field for the output limit. */
  outputLimit: 'max_tokens' | 'max_completion_tokens';
  /** Whether the provider takes back `reasoning_content`. */
  reasoning?: 'required' | 'kept' | undefined;
  /** The provider takes back `extra_content` of tool calls. */
  keepsExtras?: boolean | undefined;
  leaveOut: LeaveOut;
}

/** Options of all request translations. */
interface TranslationRequestOptions extends RequestOptions {
  memory: Pick<ItemMemory, 'recall'>;
  isCodex: boolean;
}

export type TranslateRequest = (body: Json, options: TranslationRequestOptions) => Json;
