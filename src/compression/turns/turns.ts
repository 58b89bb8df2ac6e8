import { createHash } from 'node:crypto';
import type { Edit } from '../../json/edit.ts';
import { isObject } from '../../json/object.ts';
import { type Message, roleOf, textsOf } from '../prompt/message.ts';

/** The API that a conversation is written for: chat completions, Anthropic's messages, responses, Gemini's. */
export type Form = 'chat' | 'messages' | 'responses' | 'gemini';

const READERS: Record<Form, (item: unknown) => Turn[]> = {
  chat: chatTurns,
  messages: messagesTurns,
  responses: responsesTurns,
  gemini: geminiTurns,
};

/** The turns of one item of a conversation; none if it is unknown. */
export const readItem = (item: unknown, form: Form): Turn[] => READERS[form](item);

/** An id for a conversation, below 2^48: a hash of everything before its first answer. */
export function conversationOf(turns: readonly Turn[]): number {
  const hash = createHash('sha256');
  for (const { message } of turns) {
    if (roleOf(message) === 'assistant') break;
    for (const text of textsOf(message)) hash.update(text).update('\0');
  }
  return hash.digest().readUIntBE(0, 6);
}

/** Path from an item of the conversation to a value: indexes and keys. */
export type Place = readonly (number | string)[];

/** A turn in the form that transforms read, and the path of each of its texts in its item. */
export interface Turn {
  message: Message;
  places: Place[];
  /** What it was compressed to, and the edits of its item that make it so. */
  rewritten?: { output: Message; edits: readonly Edit[] };
}

/** Makes a turn from content that is a string or a list of parts; `isText` selects the parts by type. */
function turnOf(
  content: unknown,
  place: Place,
  { isText, about }: { isText: (type: unknown) => boolean; about: Record<string, unknown> },
): Turn {
  if (typeof content === 'string') return { message: { ...about, content }, places: [place] };
  const parts: { type: 'text'; text: string }[] = [];
  const places: Place[] = [];
  for (const [index, part] of (Array.isArray(content) ? content : []).entries()) {
    const { type, text } = objectOf(part);
    if (!isText(type) || typeof text !== 'string') continue;
    parts.push({ type: 'text', text });
    places.push([...place, index, 'text']);
  }
  return { message: { ...about, content: parts }, places };
}

/** The value as an object; empty if it is none. */
const objectOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});

/** A tool call in the chat completions format. */
function callOf(id: unknown, name: unknown, args: unknown): Record<string, unknown> {
  return { id, function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}) } };
}

/** Reads a chat completions message: https://platform.openai.com/docs/api-reference/chat/create */
function chatTurns(item: unknown): Turn[] {
  const { role, content, tool_calls, tool_call_id } = objectOf(item);
  const about = { role, ...(tool_calls === undefined ? {} : { tool_calls }), tool_call_id };
  return [turnOf(content, ['content'], { isText: (type) => type === 'text', about })];
}

const isText = (type: unknown) => type === 'text';

/**
 * Reads a message of Anthropic's API: https://docs.anthropic.com/en/api/messages. Tool results are parts of user
 * messages; each becomes a turn of its own.
 */
function messagesTurns(item: unknown): Turn[] {
  const { role, content } = objectOf(item);
  const place = ['content'];
  if (role === 'assistant') return [turnOf(content, place, { isText, about: { role, ...callsIn(content) } })];
  if (!Array.isArray(content)) return [turnOf(content, place, { isText, about: { role } })];
  const turns: Turn[] = [];
  let own: Turn | undefined;
  for (const [at, part] of content.entries()) {
    const { type, tool_use_id, content: result, text } = objectOf(part);
    if (type === 'tool_result') {
      const about = { role: 'tool', tool_call_id: tool_use_id };
      turns.push(turnOf(result, [...place, at, 'content'], { isText, about }));
      own = undefined;
    } else if (type === 'text' && typeof text === 'string') {
      if (!own) {
        own = { message: { role, content: [] }, places: [] };
        turns.push(own);
      }
      (own.message.content as unknown[]).push({ type, text });
      own.places.push([...place, at, 'text']);
    }
  }
  return turns;
}

/** The tool calls of an assistant message: an empty list beside reasoning alone. Text beside either stays. */
function callsIn(content: unknown): { tool_calls?: unknown[] } {
  if (!Array.isArray(content)) return {};
  const others = content.map(objectOf).filter(({ type }) => type !== 'text');
  if (others.length === 0) return {};
  const calls = others.filter(({ type }) => type === 'tool_use' || type === 'server_tool_use');
  return { tool_calls: calls.map(({ id, name, input }) => callOf(id, name, input)) };
}

const TEXTS: readonly unknown[] = ['input_text', 'output_text', 'text'];
const isResponseText = (type: unknown) => TEXTS.includes(type);

/** Reads an input item of a response: https://platform.openai.com/docs/api-reference/responses/create */
function responsesTurns(item: unknown): Turn[] {
  const { type = 'message', role, content, output, ...call } = objectOf(item);
  switch (type) {
    case 'message': {
      // Calls follow as later items, so an assistant message may stand beside calls: it stays as it is.
      const about = role === 'assistant' ? { role, tool_calls: [] } : { role };
      return [turnOf(content, ['content'], { isText: isResponseText, about })];
    }
    case 'function_call':
    case 'custom_tool_call': {
      const tool_calls = [callOf(call.call_id, call.name, call.arguments ?? call.input)];
      return [{ message: { role: 'assistant', content: null, tool_calls }, places: [] }];
    }
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const about = { role: 'tool', tool_call_id: call.call_id };
      return [turnOf(output, ['output'], { isText: isResponseText, about })];
    }
    case 'local_shell_call_output':
    case 'shell_call_output':
      return [shellTurn(output, ['output'], call.call_id ?? call.id)];
    default:
      return [];
  }
}

/** Reads shell output: a text, or stdout and stderr of each command. */
function shellTurn(output: unknown, place: Place, callId: unknown): Turn {
  const about = { role: 'tool', tool_call_id: callId };
  if (!Array.isArray(output)) return turnOf(output, place, { isText: isResponseText, about });
  const content: { type: 'text'; text: string }[] = [];
  const places: Place[] = [];
  for (const [at, printed] of output.entries()) {
    for (const stream of ['stdout', 'stderr']) {
      const text = objectOf(printed)[stream];
      if (typeof text !== 'string') continue;
      content.push({ type: 'text', text });
      places.push([...place, at, stream]);
    }
  }
  return { message: { ...about, content }, places };
}

/**
 * Reads a content of Gemini's API: https://ai.google.dev/api/caching#Content. A function response is a turn of its own, with
 * the texts of its result. Models before Gemini 3 name calls alone, without an id.
 */
function geminiTurns(item: unknown): Turn[] {
  const { role, parts } = objectOf(item);
  const list = Array.isArray(parts) ? parts.map(objectOf) : [];
  const said: Turn = { message: { role: 'user', content: [] }, places: [] };
  const turns: Turn[] = [];
  for (const [at, part] of list.entries()) {
    const { functionResponse, text } = part;
    const { id, name, response } = objectOf(functionResponse);
    if (name !== undefined)
      turns.push(resultTurn(response, ['parts', at, 'functionResponse', 'response'], id ?? name));
    else if (typeof text === 'string' && Object.keys(part).length === 1) {
      (said.message.content as unknown[]).push({ type: 'text', text });
      said.places.push(['parts', at, 'text']);
    }
  }
  if (role === 'model')
    return [{ ...said, message: { ...said.message, role: 'assistant', ...geminiCalls(list) } }];
  return said.places.length > 0 ? [...turns, said] : turns;
}

/** The calls of an answer; an empty list beside thoughts and signatures alone. Text beside any of these stays. */
function geminiCalls(parts: readonly Record<string, unknown>[]): { tool_calls?: unknown[] } {
  if (parts.every((part) => typeof part.text === 'string' && Object.keys(part).length === 1)) return {};
  const calls = parts
    .map(({ functionCall }) => objectOf(functionCall))
    .filter(({ name }) => name !== undefined);
  return { tool_calls: calls.map(({ id, name, args }) => callOf(id ?? name, name, args)) };
}

/** Programs put a result into a member of their choice: `output`, `result`, `content`. */
function resultTurn(response: unknown, place: Place, callId: unknown): Turn {
  const texts = Object.entries(objectOf(response)).filter(([, value]) => typeof value === 'string');
  const content = texts.map(([, text]) => ({ type: 'text', text }));
  const about = { role: 'tool', tool_call_id: callId };
  return { message: { ...about, content }, places: texts.map(([key]) => [...place, key]) };
}
