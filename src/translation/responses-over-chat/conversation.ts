import { asText, definedFields, isEmpty, type Json, listAt, objectAt, objectsIn, textAt } from '../json.ts';
import type { LeaveOut } from '../left-out.ts';
import { reasoningBack, unpackReasoning, unsealCalls, withExtras } from '../own-reasoning-mark.ts';
import type { ItemMemory } from './item-memory.ts';
import { signedIn, textsIn } from './reasoning.ts';
import { cannotExpress, refuseRest } from './refuse.ts';
import { customArguments, flatName } from './tool-names.ts';

export interface ConversationOptions {
  memory: Pick<ItemMemory, 'recall'>;
  /** Keep signed reasoning of earlier turns as `thinking_blocks`. */
  keepsReasoning: boolean;
  /** Whether the provider takes back `reasoning_content`. */
  reasoning?: 'required' | 'kept' | undefined;
  keepsExtras?: boolean | undefined;
  /** The provider's name of the model. */
  model: string;
  leaveOut: LeaveOut;
}

/** Translates instructions and input items to chat messages. Throws GwError 400 for an item that has no equivalent. */
export function chatMessages({ instructions, input }: Json, options: ConversationOptions): Json[] {
  const messages: Json[] = [];
  if (!isEmpty(instructions)) addSystem(messages, plainText(instructions, 'instructions'));
  if (typeof input === 'string') messages.push({ role: 'user', content: input });
  else {
    for (const [i, item] of listAt(input, 'input').entries()) {
      add(messages, objectAt(item, `input[${i}]`), `input[${i}]`, options);
    }
  }
  return withReasoningOfCalls(messages, extrasIn(input), options);
}

/** What only the providers of calls can read, which came before them as reasoning items. */
function extrasIn(input: unknown): Map<unknown, unknown> {
  const seals = objectsIn(input).filter(({ type }) => type === 'reasoning');
  return new Map(seals.flatMap(({ encrypted_content }) => [...unsealCalls(encrypted_content)]));
}

function add(messages: Json[], item: Json, at: string, options: ConversationOptions): void {
  const { type, id, status: _status, internal_chat_message_metadata_passthrough: _metadata, ...rest } = item;
  switch (type) {
    case undefined:
    case 'message':
      addMessage(messages, rest, at);
      return;
    case 'function_call':
    case 'custom_tool_call':
      addCall(messages, { type, ...rest }, at);
      return;
    case 'function_call_output':
    case 'custom_tool_call_output':
      addResult(messages, rest, at);
      return;
    case 'reasoning':
      addReasoning(messages, rest, options);
      return;
    // The request's tool lists already include these tools.
    case 'additional_tools':
      return;
    case 'tool_search_call':
    case 'tool_search_output':
      options.leaveOut(`${at} (${type})`);
      return;
    case 'item_reference':
      add(messages, recallItem(id, at, options), at, options);
      return;
    default:
      throw cannotExpress(`${at}.type`, `there are no items of type ${asText(type)}`);
  }
}

function recallItem(id: unknown, at: string, { memory }: ConversationOptions): Json {
  const item = memory.recall(textAt(id, `${at}.id`));
  if (item) return item;
  throw cannotExpress(
    at,
    `gw no longer has the item ${asText(id)}. Send the item itself, as clients do with "store": false`,
  );
}

function addMessage(messages: Json[], { role, content, phase: _phase, ...rest }: Json, at: string): void {
  refuseRest(rest, at);
  switch (role) {
    case 'user':
      messages.push({ role, content: plainIfText(contentParts(content, `${at}.content`)) });
      return;
    case 'system':
    case 'developer':
      addSystem(messages, plainText(content, `${at}.content`));
      return;
    case 'assistant': {
      const turn = assistantTurn(messages, (last) => last.content === null && !('tool_calls' in last));
      turn.content = plainText(withoutRefusals(content), `${at}.content`);
      return;
    }
    default:
      throw cannotExpress(`${at}.role`, `there is no role ${asText(role)}`);
  }
}

/** Adds a system message. Many models accept only one, as the first message. Only OpenAI has the role `developer`. */
function addSystem(messages: Json[], text: string): void {
  const last = messages.at(-1);
  if (messages.length === 1 && last?.role === 'system') last.content = `${asText(last.content)}\n\n${text}`;
  else messages.push({ role: 'system', content: text });
}

/** The content with refusals converted to text. */
function withoutRefusals(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((part: Json | null) =>
    part?.type === 'refusal' ? { type: 'output_text', text: part.refusal } : part,
  );
}

/** The last message if it is the assistant's and has room, otherwise a new one. */
function assistantTurn(messages: Json[], hasRoom: (last: Json) => boolean): Json {
  const last = messages.at(-1);
  if (last?.role === 'assistant' && hasRoom(last)) return last;
  const turn: Json = { role: 'assistant', content: null };
  messages.push(turn);
  return turn;
}

/** Adds a call. A turn's calls and the text before them form one message. */
function addCall(messages: Json[], call: Json, at: string): void {
  const { type, call_id, name, namespace, arguments: args, input, caller: _caller, ...rest } = call;
  refuseRest(rest, at);
  const turn = assistantTurn(messages, () => true);
  const toolCall = {
    name: flatName(name, namespace),
    arguments: type === 'custom_tool_call' ? customArguments(input) : args,
  };
  const before = Array.isArray(turn.tool_calls) ? turn.tool_calls : [];
  turn.tool_calls = [
    ...before,
    { id: textAt(call_id, `${at}.call_id`), type: 'function', function: toolCall },
  ];
}

/** Adds a tool result. Tool messages can't contain images, so these follow in a user message. */
function addResult(messages: Json[], item: Json, at: string): void {
  const { call_id, output, name: _name, namespace: _namespace, caller: _caller, ...rest } = item;
  refuseRest(rest, at);
  const parts = contentParts(output, `${at}.output`);
  const texts = parts.filter(({ type }) => type === 'text').map(({ text }) => text);
  const others = parts.filter(({ type }) => type !== 'text');
  const content = texts.length === 0 && others.length > 0 ? 'The result follows.' : texts.join('\n\n');
  messages.push({ role: 'tool', tool_call_id: textAt(call_id, `${at}.call_id`), content });
  if (others.length > 0) messages.push({ role: 'user', content: others });
}

/** Reasoning starts a turn. */
function addReasoning(
  messages: Json[],
  item: Json,
  { keepsReasoning, reasoning }: ConversationOptions,
): void {
  const blocks = unpackReasoning(item.encrypted_content);
  const signed = keepsReasoning ? signedIn(blocks) : [];
  if (signed.length > 0) messages.push({ role: 'assistant', content: null, thinking_blocks: signed });
  const texts = keepsReasoning || !reasoning ? [] : textsIn(blocks);
  if (texts.length > 0)
    messages.push({ role: 'assistant', content: null, ...reasoningBack(texts, reasoning) });
}

/** Keeps reasoning only in messages with tool calls, and drops messages without text and calls. */
function withReasoningOfCalls(
  messages: readonly Json[],
  extras: ReadonlyMap<unknown, unknown>,
  options: ConversationOptions,
): Json[] {
  const { reasoning } = options;
  return messages.flatMap((message) => {
    const { reasoning_content, tool_calls, ...rest } = message;
    if (rest.role !== 'assistant') return [message];
    if (tool_calls) {
      const calls = withExtras(objectsIn(tool_calls), extras, options);
      return [{ ...rest, ...reasoningBack([asText(reasoning_content ?? '')], reasoning), tool_calls: calls }];
    }
    return rest.content === null && !('thinking_blocks' in rest) ? [] : [rest];
  });
}

/** Translates the content of a user message or tool result to content parts. */
function contentParts(content: unknown, at: string): Json[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return listAt(content, at).map((part, i) => contentPart(objectAt(part, `${at}[${i}]`), `${at}[${i}]`));
}

/** Converts a single text part to a string, which other makers' models handle best. */
function plainIfText(parts: Json[]): string | Json[] {
  const [only] = parts;
  return parts.length === 1 && only?.type === 'text' ? asText(only.text) : parts;
}

/** Joins text parts. Throws GwError 400 for any other part. */
function plainText(content: unknown, at: string): string {
  if (typeof content === 'string') return content;
  return contentParts(content, at)
    .map((part, i) => {
      if (part.type !== 'text') throw cannotExpress(`${at}[${i}].type`, 'only text is allowed here');
      return part.text;
    })
    .join('\n\n');
}

function contentPart({ type, prompt_cache_breakpoint: _cache, ...part }: Json, at: string): Json {
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text': {
      const { text, annotations: _annotations, logprobs: _logprobs, ...rest } = part;
      refuseRest(rest, at);
      return { type: 'text', text: textAt(text, `${at}.text`) };
    }
    case 'input_image':
      return imagePart(part, at);
    case 'input_file':
      return filePart(part, at);
    case 'input_audio':
      return { type, ...part };
    default:
      throw cannotExpress(`${at}.type`, `there is no content of type ${asText(type)}`);
  }
}

function imagePart({ image_url, detail, file_id, ...rest }: Json, at: string): Json {
  refuseRest({ file_id, ...rest }, at);
  return {
    type: 'image_url',
    image_url: definedFields({
      url: textAt(image_url, `${at}.image_url`),
      detail: detail === 'auto' ? undefined : detail,
    }),
  };
}

function filePart({ file_data, filename, detail, ...rest }: Json, at: string): Json {
  refuseRest({ ...rest, ...(detail === 'auto' ? {} : { detail }) }, at);
  if (isEmpty(file_data)) throw cannotExpress(at, 'send the file as file_data');
  return { type: 'file', file: definedFields({ filename, file_data }) };
}
