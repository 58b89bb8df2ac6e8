import type { Json } from './json.ts';
import type { ItemMemory } from './responses-over-chat/item-memory.ts';

/** Turns a provider's answers into those that the client's wire has. One for each answer: streams have state. */
export interface Translator {
  /** A whole answer, errors included. Throws GwError 502 for what is none. */
  answer(body: Buffer, status: number): Buffer;
  /** The client's events for complete events of the provider; there may be none. */
  events(events: Buffer): Buffer;
  /** What is still missing when the provider has ended a stream in order. */
  end(): Buffer;
}

/** What an answer is translated with. */
export interface TranslatorOptions {
  /** The model that serves, for a provider that does not say so itself. */
  model: string;
  /** The client asked for the usage of its stream. */
  wantsUsage: boolean;
  /** UTC milliseconds. */
  now: () => number;
}

/** What any wire's answers are translated with. */
export interface TranslationOptions extends TranslatorOptions {
  /** The client's request, of which some answers repeat much. */
  request: Json;
  /** A new id with its prefix. */
  newId: (prefix: string) => string;
  memory: ItemMemory;
}

/** What a request is translated with. */
export interface RequestOptions {
  /** The model as its provider calls it; the translated request still has the client's name for it. */
  model: string;
  /** For a wire on which the output has to be limited. */
  maxTokens: number;
  /** The field that limits the output of a chat completion. */
  outputLimit: 'max_tokens' | 'max_completion_tokens';
}

/** What any wire's request is translated with. */
export interface TranslationRequestOptions extends RequestOptions {
  memory: ItemMemory;
  isCodex: boolean;
}

export type TranslateRequest = (body: Json, options: TranslationRequestOptions) => Json;
