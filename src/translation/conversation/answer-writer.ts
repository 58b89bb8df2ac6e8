import type { ProviderError } from '../errors.ts';
import type { Json } from '../json.ts';
import type { Answer, AnswerEvent } from './answer.ts';
import type { Seal } from './conversation.ts';

export interface AnswerOptions {
  /** The model, if the provider's answer doesn't name it. */
  model: string;
  /** The client requested the usage of its stream. */
  wantsUsage: boolean;
  /** UTC milliseconds. */
  now: () => number;
  /** The client's request. Some answers repeat its fields. */
  request: Json;
  newId: (prefix: string) => string;
  /** A text that clients send back, in which the provider finds its seal again. */
  pack: (seal: Seal) => string;
  /** Keeps an item for clients that send its id instead. */
  remember: (item: Json) => void;
}

/** Writes an answer in a client's API. Stateful, for one answer. */
export interface AnswerWriter {
  /** The stream's bytes for some steps, which may be none. */
  stream(events: readonly AnswerEvent[]): string;
  /** Events without a meaning, which show that the connection lives. */
  sign(): string;
  whole(answer: Answer): Json;
  /** The body of an error response. */
  error(error: ProviderError, status: number): Json;
}

/** A comment, which clients of OpenAI's APIs skip. */
export const SIGN = ': the provider is working\n\n';

/** A named event of a stream. */
export type NamedEvent = { type: string; [field: string]: unknown };

/** The text of events named by their type, as in Anthropic's messages and OpenAI's responses. */
export function namedText(events: readonly NamedEvent[]): string {
  let text = '';
  for (const event of events) text += `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
  return text;
}
