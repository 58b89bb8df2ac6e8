import type { Json } from './json.ts';
import type { LeaveOut } from './left-out.ts';
import type { ItemMemory } from './responses-over-chat/item-memory.ts';

/** Translates one answer of a provider into the client's API. Each answer needs its own, as streams have state. */
export interface Translator {
  /** Translates a complete answer or error. Throws GwError 502 if the answer isn't JSON. */
  answer(body: Buffer, status: number): Buffer;
  /** Translates complete events of a stream; the result may be empty. */
  events(events: Buffer): Buffer;
  /** The events that are still missing when the provider ends a stream normally. */
  end(): Buffer;
}

export interface TranslatorOptions {
  /** The model, for a provider whose answers don't name it. */
  model: string;
  /** The client requested the usage of its stream. */
  wantsUsage: boolean;
  /** UTC milliseconds. */
  now: () => number;
}

/** Options of all answer translations. */
export interface TranslationOptions extends TranslatorOptions {
  /** The client's request, which some answers repeat in part. */
  request: Json;
  /** Creates an id with a prefix. */
  newId: (prefix: string) => string;
  memory: ItemMemory;
}

export interface RequestOptions {
  /** The provider's name of the model. The translated request keeps the client's name. */
  model: string;
  /** Output limit for an API that requires one. */
  maxTokens: number;
  /** The field with the output limit of a chat completion. */
  outputLimit: 'max_tokens' | 'max_completion_tokens';
  /** Whether the provider takes back `reasoning_content`. */
  reasoning?: 'required' | 'kept' | undefined;
  leaveOut: LeaveOut;
}

/** Options of all request translations. */
interface TranslationRequestOptions extends RequestOptions {
  memory: ItemMemory;
  isCodex: boolean;
}

export type TranslateRequest = (body: Json, options: TranslationRequestOptions) => Json;
