import { badRequest } from '../../errors.ts';
import { parseObject } from '../../wire/answer/events.ts';
import { asText, definedFields, isEmpty, type Json, listAt, objectAt, textAt } from '../json.ts';
import { type LeaveOut, without } from '../left-out.ts';
import { cannotExpress, refuseRest } from './refuse.ts';

/**
 * Translates chat messages to Anthropic's turns. All system messages move to the front, as in Anthropic's own
 * OpenAI-compatible endpoint. Consecutive messages of one role become one turn, as Anthropic requires for the results
 * of parallel tool calls.
 */
export function conversation(messages: unknown, leaveOut: LeaveOut): { system?: Json[]; messages: Json[] } {
  const system: Json[] = [];
  const turns: { role: string; content: Json[] }[] = [];
  const addTurn = (role: string, content: Json[]) => {
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...content);
    else if (content.length > 0) turns.push({ role, content });
  };
  for (const [i, each] of listAt(messages, 'messages').entries()) {
    const at = `messages[${i}]`;
    const { role, content, ...rest } = without(objectAt(each, at), OF_A_MESSAGE, at, leaveOut);
    switch (role) {
      case 'system':
      case 'developer':
        refuseRest(rest, at);
        system.push(...textBlocks(content, `${at}.content`));
        break;
      case 'user':
        refuseRest(rest, at);
        addTurn('user', inputBlocks(content, `${at}.content`));
        break;
      case 'assistant':
        addTurn('assistant', assistantBlocks(content, rest, { at, leaveOut }));
        break;
      case 'tool':
        addTurn('user', [toolResult(content, rest, at)]);
        break;
      default:
        throw cannotExpress(`${at}.role`, `there is no role ${asText(role)}`);
    }
  }
  return { ...(system.length > 0 ? { system } : {}), messages: turns };
}

/** Fields that libraries add: the agent that wrote a message, and the provider's additional fields. */
const OF_A_MESSAGE = ['name', 'provider_specific_fields'];
const OF_A_CALL = ['provider_specific_fields'];

interface Place {
  at: string;
  leaveOut: LeaveOut;
}

function assistantBlocks(content: unknown, message: Json, { at, leaveOut }: Place): Json[] {
  // Anthropic accepts no reasoning without its signature, and drops reasoning of earlier turns anyway.
  const {
    tool_calls,
    refusal,
    thinking_blocks,
    reasoning_content: _content,
    reasoning: _reasoning,
    reasoning_details: _details,
    annotations: _annotations,
    ...rest
  } = message;
  refuseRest(rest, at);
  const thinking = isEmpty(thinking_blocks) ? [] : listAt(thinking_blocks, `${at}.thinking_blocks`);
  const text = isEmpty(content) ? [] : assistantText(content, `${at}.content`);
  const refusalText = isEmpty(refusal) ? [] : textBlocks(refusal, `${at}.refusal`);
  const calls = isEmpty(tool_calls) ? [] : listAt(tool_calls, `${at}.tool_calls`);
  return [
    ...thinking.map((block, i) => objectAt(block, `${at}.thinking_blocks[${i}]`)),
    ...text,
    ...refusalText,
    ...calls.map((call, i) => toolUse(call, { at: `${at}.tool_calls[${i}]`, leaveOut })),
  ];
}

/** Texts and refusals. Empty texts are dropped, because Anthropic rejects them. */
function assistantText(content: unknown, at: string): Json[] {
  if (!Array.isArray(content)) return textBlocks(textAt(content, at), at);
  const texts = content.map((part: unknown, i) => {
    const { type, refusal, ...rest } = objectAt(part, `${at}[${i}]`);
    return type === 'refusal' ? { type: 'text', text: refusal } : { type, ...rest };
  });
  return textBlocks(
    texts.filter((part) => !('text' in part && part.text === '')),
    at,
  );
}

function toolUse(value: unknown, { at, leaveOut }: Place): Json {
  const { id, type, function: call, ...rest } = without(objectAt(value, at), OF_A_CALL, at, leaveOut);
  if (type !== 'function') throw cannotExpress(`${at}.type`, `there are no ${asText(type)} tools`);
  const { index: _index, ...more } = rest;
  refuseRest(more, at);
  const {
    name,
    arguments: args,
    ...others
  } = without(objectAt(call, `${at}.function`), OF_A_CALL, `${at}.function`, leaveOut);
  refuseRest(others, `${at}.function`);
  const input = isEmpty(args) ? {} : parseObject(textAt(args, `${at}.function.arguments`));
  if (input) return { type: 'tool_use', id: textAt(id, `${at}.id`), name, input };
  throw badRequest(
    `"${at}.function.arguments" must be a string with a JSON object`,
    `${at}.function.arguments`,
    'invalid_value',
  );
}

function toolResult(content: unknown, { tool_call_id, ...rest }: Json, at: string): Json {
  refuseRest(rest, at);
  const tool_use_id = textAt(tool_call_id, `${at}.tool_call_id`);
  const result = typeof content === 'string' ? content : inputBlocks(content, `${at}.content`);
  return { type: 'tool_result', tool_use_id, content: result };
}

/** The content of a system message, which may only be text. */
function textBlocks(content: unknown, at: string): Json[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return listAt(content, at).map((part, i) => textBlock(objectAt(part, `${at}[${i}]`), `${at}[${i}]`));
}

/** The content of a user message or tool result: text, images and files. */
function inputBlocks(content: unknown, at: string): Json[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return listAt(content, at).map((part, i) => inputBlock(objectAt(part, `${at}[${i}]`), `${at}[${i}]`));
}

function inputBlock(part: Json, at: string): Json {
  switch (part.type) {
    case 'image_url':
      return imageBlock(part, at);
    case 'file':
      return fileBlock(part, at);
    default:
      return textBlock(part, at);
  }
}

function textBlock(part: Json, at: string): Json {
  const { type, text, cache_control, ...rest } = part;
  if (type !== 'text') throw cannotExpress(`${at}.type`, `there is no content of type ${asText(type)}`);
  refuseRest(rest, at);
  return definedFields({ type, text: textAt(text, `${at}.text`), cache_control });
}

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.-]+)*;base64,/;

function imageBlock({ type: _type, image_url, cache_control, ...rest }: Json, at: string): Json {
  const { url, detail, ...more } = objectAt(image_url, `${at}.image_url`);
  refuseRest(rest, at);
  refuseRest(more, `${at}.image_url`);
  if (detail === 'low') throw cannotExpress(`${at}.image_url.detail`, 'all images are read in full');
  return definedFields({
    type: 'image',
    source: sourceOf(textAt(url, `${at}.image_url.url`), `${at}.image_url.url`),
    cache_control,
  });
}

function sourceOf(url: string, at: string): Json {
  const media = DATA_URL.exec(url);
  if (media) return { type: 'base64', media_type: media[1], data: url.slice(media[0].length) };
  if (/^https?:\/\//.test(url)) return { type: 'url', url };
  throw badRequest(`"${at}" must be an http(s) or a base64 data URL`, at, 'invalid_value');
}

function fileBlock({ type: _type, file, cache_control, ...rest }: Json, at: string): Json {
  const { filename, file_data, file_id, ...more } = objectAt(file, `${at}.file`);
  refuseRest(rest, at);
  refuseRest({ ...more, file_id }, `${at}.file`);
  const data = textAt(file_data, `${at}.file.file_data`);
  const source = sourceOf(
    DATA_URL.test(data) ? data : `data:application/pdf;base64,${data}`,
    `${at}.file.file_data`,
  );
  return definedFields({ type: 'document', source, title: filename, cache_control });
}
