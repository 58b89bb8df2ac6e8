import { append, type Json } from '../json.ts';

/** A request in no API's words. Readers make it of a client's body, writers make a provider's body of it. */
export interface Conversation {
  /** The client's name of the model. */
  model: string;
  turns: Turn[];
  tools: Tool[];
  choice?: ToolChoice | undefined;
  /** At most one tool call in an answer. */
  isSerial?: boolean | undefined;
  isStream: boolean;
  /** Of the answer, with its reasoning. */
  maxTokens?: number | undefined;
  temperature?: number | undefined;
  topP?: number | undefined;
  stops?: string[] | undefined;
  reasoning?: Reasoning | undefined;
  format?: Format | undefined;
  verbosity?: string | undefined;
  /** Identifies the client's user to the provider. */
  user?: string | undefined;
  serviceTier?: string | undefined;
  /** Fields that have no neutral meaning, in the words of the client's API. */
  extra: Json;
}

type Role = 'system' | 'user' | 'assistant';

export interface Turn {
  role: Role;
  parts: Part[];
}

/** A prompt cache's mark, which ends what is cached, in Anthropic's words. */
interface Markable {
  mark?: unknown;
}

export interface TextPart extends Markable {
  type: 'text';
  text: string;
}

/** An image or a document. `at` is where the client's body has it. */
export interface MediaPart extends Markable {
  type: 'image' | 'file';
  at: string;
  /** An address, or a data URL. */
  url: string;
  /** Of an image: how closely it is to be looked at. */
  detail?: unknown;
  /** Of a file. */
  name?: string | undefined;
}

interface AudioPart {
  type: 'audio';
  at: string;
  /** In OpenAI's words. */
  audio: unknown;
}

/** Reasoning of an earlier answer, as its client brings it back: what its provider sealed, and what can be read of it. */
export interface ReasoningPart {
  type: 'reasoning';
  text: string;
  seals: readonly Seal[];
}

export interface CallPart extends Markable {
  type: 'call';
  id: string;
  name: string;
  /** JSON. */
  args: string;
  at: string;
}

export interface ResultPart extends Markable {
  type: 'result';
  id: string;
  parts: ContentPart[];
  isError: boolean;
}

/** What users and tools say. */
export type ContentPart = TextPart | MediaPart | AudioPart;
export type Part = ContentPart | ReasoningPart | CallPart | ResultPart;

/**
 * What only its provider can read: `thinking`, Anthropic's signed blocks; `encrypted`, OpenAI's reasoning items;
 * `details`, OpenRouter's `reasoning_details`; `calls`, fields beside tool calls, by the calls' ids, such as Google's
 * signatures; `opaque`, Copilot's `reasoning_opaque`; `text`, plain reasoning that has to come back.
 */
export interface Seal {
  kind: 'thinking' | 'encrypted' | 'details' | 'calls' | 'opaque' | 'text';
  values: readonly Json[];
}

export interface Tool extends Markable {
  name: string;
  description?: unknown;
  /** JSON Schema of the arguments. */
  parameters?: unknown;
  isStrict?: boolean | undefined;
}

/** `any`: some tool has to be called. */
export type ToolChoice = 'auto' | 'none' | 'any' | { name: string };

export interface Reasoning {
  /** In OpenAI's or Anthropic's words, which are nearly the same. */
  effort?: string | undefined;
  budgetTokens?: number | undefined;
  /** The client asked for reasoning, and leaves its length to the model. */
  isAdaptive?: boolean | undefined;
}

/** The form of the answer. */
export interface Format {
  type: 'json_object' | 'json_schema';
  name?: unknown;
  description?: unknown;
  schema?: unknown;
  isStrict?: unknown;
}

export const isText = (part: Part): part is TextPart => part.type === 'text';
export const isCall = (part: Part): part is CallPart => part.type === 'call';
export const isResult = (part: Part): part is ResultPart => part.type === 'result';
export const isReasoning = (part: Part): part is ReasoningPart => part.type === 'reasoning';

export function textPart(text: string, mark?: unknown): TextPart {
  return mark === undefined || mark === null ? { type: 'text', text } : { type: 'text', text, mark };
}

/** The turns with those of one role one after the other as one, where `joins`. */
export function joinTurns(turns: readonly Turn[], joins: (last: Turn) => boolean): Turn[] {
  const all: Turn[] = [];
  /** The parts of the last turn, if it is one of several. */
  let joined: Part[] | undefined;
  for (const turn of turns) {
    const last = all.at(-1);
    if (last?.role !== turn.role || !joins(last)) {
      all.push(turn);
      joined = undefined;
      continue;
    }
    if (!joined) {
      joined = [...last.parts];
      all[all.length - 1] = { role: turn.role, parts: joined };
    }
    append(joined, turn.parts);
  }
  return all;
}

export const textsOf = (parts: readonly Part[]): string[] => parts.filter(isText).map(({ text }) => text);
