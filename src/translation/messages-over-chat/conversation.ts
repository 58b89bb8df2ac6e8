import { asText, isEmpty, type Json, listAt, objectAt, textAt } from '../json.ts';
import { isOwnReasoning, reasoningBack, unsealCalls, withExtras } from '../own-reasoning-mark.ts';
import type { RequestOptions } from '../translator.ts';
import { cannotExpress, refuseRest } from './refuse.ts';

type ConversationOptions = Pick<RequestOptions, 'leaveOut' | 'model' | 'reasoning' | 'keepsExtras'>;

/** Translates the system prompt and Anthropic's turns to chat messages. */
export function chatMessages(system: unknown, turns: unknown, options: ConversationOptions): Json[] {
  const prompt = isEmpty(system) ? '' : plainText(system, 'system');
  return [
    ...(prompt === '' ? [] : [{ role: 'system', content: prompt }]),
    ...listAt(turns, 'messages').flatMap((turn, i) =>
      messagesOf(objectAt(turn, `messages[${i}]`), `messages[${i}]`, options),
    ),
  ];
}

function messagesOf({ role, content, ...rest }: Json, at: string, options: ConversationOptions): Json[] {
  refuseRest(rest, at);
  switch (role) {
    case 'user':
      return typeof content === 'string' ? [{ role, content }] : userMessages(content, `${at}.content`);
    case 'assistant':
      return typeof content === 'string'
        ? [{ role, content }]
        : assistantMessages(content, `${at}.content`, options);
    // Claude Code inserts reminders between turns.
    case 'system':
      return [{ role, content: plainText(content, `${at}.content`) }];
    default:
      throw cannotExpress(`${at}.role`, `there is no role ${asText(role)}`);
  }
}

/** Tool results become messages directly after the calls, followed by the user's other content. */
function userMessages(content: unknown, at: string): Json[] {
  const results: Json[] = [];
  const parts: Json[] = [];
  for (const [i, each] of listAt(content, at).entries()) {
    const block = blockAt(each, `${at}[${i}]`);
    if (block.type === 'tool_result') {
      const { message, images } = toolMessage(block, `${at}[${i}]`);
      results.push(message);
      parts.push(...images);
    } else parts.push(contentPart(block, `${at}[${i}]`));
  }
  return [...results, ...(parts.length > 0 ? [{ role: 'user', content: parts }] : [])];
}

/** Translates a tool result. Tool messages can't contain images, so these are returned for a user message. */
function toolMessage(
  { type: _type, tool_use_id, content, is_error, ...rest }: Json,
  at: string,
): { message: Json; images: Json[] } {
  refuseRest(rest, at);
  const parts = partsOf(content, `${at}.content`);
  const texts = parts.filter(({ type }) => type === 'text').map(({ text }) => asText(text));
  const images = parts.filter(({ type }) => type !== 'text');
  const text = texts.length === 0 && images.length > 0 ? 'The result follows.' : texts.join('\n\n');
  const message = {
    role: 'tool',
    tool_call_id: textAt(tool_use_id, `${at}.tool_use_id`),
    content: is_error === true ? `Error: ${text}` : text,
  };
  return { message, images };
}

function partsOf(content: unknown, at: string): Json[] {
  if (isEmpty(content)) return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return listAt(content, at).map((each, i) => {
    const block = blockAt(each, `${at}[${i}]`);
    return block.type === 'tool_reference'
      ? { type: 'text', text: `The tool ${textAt(block.tool_name, `${at}[${i}].tool_name`)} is available.` }
      : contentPart(block, `${at}[${i}]`);
  });
}

/** Whether a block or tool type, or a tool name, belongs to Anthropic's own search among deferred tools. */
export function isToolSearch(type: unknown): boolean {
  return typeof type === 'string' && /^tool_search_tool_\w{1,32}$/.test(type);
}

/** Translates an assistant turn. An empty one is dropped: providers reject messages without text and calls. */
function assistantMessages(content: unknown, at: string, options: ConversationOptions): Json[] {
  const { leaveOut, reasoning } = options;
  const thoughts: string[] = [];
  const extras = new Map<unknown, unknown>();
  const texts: string[] = [];
  const calls: Json[] = [];
  for (const [i, each] of listAt(content, at).entries()) {
    const { type, ...block } = blockAt(each, `${at}[${i}]`);
    switch (type) {
      case 'text':
        refuseRest({ ...block, text: undefined }, `${at}[${i}]`);
        texts.push(textAt(block.text, `${at}[${i}].text`));
        break;
      case 'tool_use':
        calls.push(toolCall(block, `${at}[${i}]`));
        break;
      // Only Anthropic can read what it signed; what gw has translated goes back where it came from.
      case 'thinking':
        if (isOwnReasoning(block.signature)) thoughts.push(asText(block.thinking));
        break;
      case 'redacted_thinking':
        for (const [id, extra] of unsealCalls(block.data)) extras.set(id, extra);
        break;
      default:
        if (!isToolSearch(type === 'server_tool_use' ? block.name : type))
          throw cannotExpress(`${at}[${i}].type`, `there is no content of type ${asText(type)}`);
        leaveOut(`${at}[${i}] (${type})`);
    }
  }
  if (texts.length === 0 && calls.length === 0) return [];
  const text = texts.length > 0 ? texts.join('\n\n') : null;
  if (calls.length === 0) return [{ role: 'assistant', content: text }];
  return [
    {
      role: 'assistant',
      content: text,
      ...reasoningBack(thoughts, reasoning),
      tool_calls: withExtras(calls, extras, options),
    },
  ];
}

function toolCall({ id, name, input, ...rest }: Json, at: string): Json {
  const { caller: _caller, ...more } = rest;
  refuseRest(more, at);
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input ?? {}) } };
}

/** A block's fields without `cache_control`: providers with OpenAI's API decide on their own what to cache. */
function blockAt(value: unknown, at: string): Json {
  const { cache_control: _cache, ...block } = objectAt(value, at);
  return block;
}

/** Joins text blocks. Throws GwError 400 for any other block. */
function plainText(content: unknown, at: string): string {
  if (typeof content === 'string') return content;
  const texts = listAt(content, at).map((each, i) => {
    const { type, text, ...rest } = blockAt(each, `${at}[${i}]`);
    if (type !== 'text') throw cannotExpress(`${at}[${i}].type`, 'only text is allowed here');
    refuseRest(rest, `${at}[${i}]`);
    return textAt(text, `${at}[${i}].text`);
  });
  return texts.join('\n\n');
}

/** Translates a user block to a content part. */
function contentPart({ type, ...block }: Json, at: string): Json {
  switch (type) {
    case 'text':
      refuseRest({ ...block, text: undefined }, at);
      return { type, text: textAt(block.text, `${at}.text`) };
    case 'image':
      refuseRest({ ...block, source: undefined }, at);
      return { type: 'image_url', image_url: { url: urlOf(block.source, `${at}.source`) } };
    case 'document':
      return documentPart(block, at);
    default:
      throw cannotExpress(`${at}.type`, `there is no content of type ${asText(type)}`);
  }
}

function urlOf(value: unknown, at: string): string {
  const source = objectAt(value, at);
  if (source.type === 'url') return textAt(source.url, `${at}.url`);
  if (source.type === 'base64')
    return `data:${source.media_type};base64,${textAt(source.data, `${at}.data`)}`;
  throw cannotExpress(`${at}.type`, 'use url or base64');
}

function documentPart({ source: value, title, citations, ...rest }: Json, at: string): Json {
  refuseRest(rest, at);
  const wantsCitations = !isEmpty(citations) && objectAt(citations, `${at}.citations`).enabled !== false;
  if (wantsCitations) throw cannotExpress(`${at}.citations`);
  const source = objectAt(value, `${at}.source`);
  if (source.type === 'text') return { type: 'text', text: textAt(source.data, `${at}.source.data`) };
  if (source.type !== 'base64') throw cannotExpress(`${at}.source.type`, 'use text or base64');
  const filename = typeof title === 'string' ? title : 'document.pdf';
  return { type: 'file', file: { filename, file_data: urlOf(source, `${at}.source`) } };
}
