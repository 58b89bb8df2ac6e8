import { badRequest } from '../../../errors.ts';
import { objectsIn } from '../../../json/object.ts';
import { parseObject } from '../../../wire/answer/events.ts';
import { isOwnBlock } from '../../carry/envelope.ts';
import type { RequestContext } from '../../context.ts';
import {
  type ContentPart,
  type Conversation,
  type Format,
  type Part,
  type Seal,
  type TextPart,
  type Tool,
  type ToolChoice,
  type Turn,
  textPart,
} from '../../conversation/conversation.ts';
import { asText, isEmpty, type Json, objectAt, textAt } from '../../json.ts';
import { without } from '../../left-out.ts';
import { eachObject, eachOptional, numberIn, optionalObject, optionalText, rest } from '../fields.ts';

/** Fields read here, and those of gw. The others are `extra`. */
// biome-ignore format: related fields share a line
const READ = new Set([
  'model', 'messages', 'stream', 'stream_options', 'service', 'max_tokens', 'max_completion_tokens', 'tools',
  'tool_choice', 'parallel_tool_calls', 'reasoning_effort', 'response_format', 'temperature', 'top_p', 'stop',
  'verbosity', 'user', 'safety_identifier', 'service_tier',
]);

/** Reads a chat completion request: https://platform.openai.com/docs/api-reference/chat/create */
export function readChatRequest(body: Json, context: RequestContext): Conversation {
  checkStreamOptions(body.stream_options, context);
  const limits = [body.max_tokens, body.max_completion_tokens].filter((limit) => typeof limit === 'number');
  const effort = optionalText(body.reasoning_effort);
  return {
    model: asText(body.model),
    turns: eachObject(body.messages, 'messages', (message, at) => turnOf(message, at, context)),
    tools: eachOptional(body.tools, 'tools', (tool, at) => toolAt(tool, at, context)),
    choice: choiceOf(body.tool_choice, context),
    isSerial: body.parallel_tool_calls === false,
    isStream: body.stream === true,
    maxTokens: limits.length > 0 ? Math.max(...limits) : undefined,
    temperature: numberIn(body.temperature, 'temperature'),
    topP: numberIn(body.top_p, 'top_p'),
    stops: stopsOf(body.stop),
    reasoning: effort === undefined ? undefined : { effort },
    format: formatOf(body.response_format, context),
    verbosity: body.verbosity === 'medium' ? undefined : optionalText(body.verbosity),
    user: optionalText(body.safety_identifier ?? body.user),
    serviceTier: optionalText(body.service_tier),
    extra: rest(body, READ),
  };
}

function checkStreamOptions(value: unknown, { cannotExpress }: RequestContext): void {
  const options = optionalObject(value, 'stream_options');
  const { include_usage: _usage, include_obfuscation: _obfuscation, ...others } = options;
  const [key] = Object.keys(others);
  if (key !== undefined) throw cannotExpress(`stream_options.${key}`);
}

const stopsOf = (stop: unknown): string[] | undefined =>
  isEmpty(stop) ? undefined : (Array.isArray(stop) ? stop : [stop]).map(asText);

/** Fields that libraries add: the agent that wrote a message, and the provider's additional fields. */
const OF_A_MESSAGE = ['name', 'provider_specific_fields'];
const OF_A_CALL = ['provider_specific_fields'];

/** Some clients mark a whole message for the cache. */
function turnOf({ cache_control: mark, ...message }: Json, at: string, context: RequestContext): Turn {
  const turn = unmarkedTurn(message, at, context);
  const last = turn.parts.at(-1);
  if (isEmpty(mark) || !last || last.type === 'audio' || last.type === 'reasoning') return turn;
  return { ...turn, parts: [...turn.parts.slice(0, -1), { ...last, mark: last.mark ?? mark }] } as Turn;
}

function unmarkedTurn(message: Json, at: string, context: RequestContext): Turn {
  const { role, content, ...fields } = without(message, OF_A_MESSAGE, at, context.leaveOut);
  const { refuseRest } = context;
  switch (role) {
    case 'system':
    case 'developer':
      refuseRest(fields, at);
      return { role: 'system', parts: textParts(content, `${at}.content`, context) };
    case 'user':
      refuseRest(fields, at);
      return { role, parts: contentParts(content, `${at}.content`, context) };
    case 'assistant':
      return { role, parts: assistantParts(content, fields, at, context) };
    case 'tool': {
      const { tool_call_id, ...others } = fields;
      refuseRest(others, at);
      const id = textAt(tool_call_id, `${at}.tool_call_id`);
      const parts = contentParts(content, `${at}.content`, context);
      return { role: 'user', parts: [{ type: 'result', id, parts, isError: false }] };
    }
    default:
      throw context.cannotExpress(`${at}.role`, `there is no role ${asText(role)}`);
  }
}

function assistantParts(content: unknown, message: Json, at: string, context: RequestContext): Part[] {
  const {
    tool_calls,
    refusal,
    thinking_blocks,
    reasoning_content,
    reasoning,
    reasoning_text,
    reasoning_details,
    reasoning_opaque,
    annotations: _annotations,
    ...others
  } = message;
  context.refuseRest(others, at);
  const thinking = eachOptional(thinking_blocks, `${at}.thinking_blocks`, (block) => block);
  const seals = [
    ...sealsIn(thinking, context),
    ...fieldSeals({ reasoning_content, reasoning_details, reasoning_opaque }, objectsIn(tool_calls)),
  ];
  const text = asReasoning(reasoning_content) || asReasoning(reasoning) || asReasoning(reasoning_text);
  return [
    ...(text === '' && seals.length === 0 ? [] : [{ type: 'reasoning', text, seals } as const]),
    ...(isEmpty(content) ? [] : assistantText(content, `${at}.content`, context)),
    ...(isEmpty(refusal) ? [] : textParts(refusal, `${at}.refusal`, context)),
    ...eachOptional(tool_calls, `${at}.tool_calls`, (call, path) => callAt(call, path, context)),
  ];
}

const asReasoning = (text: unknown): string => (typeof text === 'string' ? text : '');

/** Anthropic's own blocks, and those in which gw put what its provider has to get back. */
function sealsIn(blocks: readonly Json[], { unseal }: RequestContext): Seal[] {
  const own = blocks.flatMap(({ data, signature }) => unseal(data) ?? unseal(signature) ?? []);
  const signed = blocks.filter((block) => !isOwnBlock(block));
  return signed.length > 0 ? [{ kind: 'thinking', values: signed }, ...own] : own;
}

/** Fields of the provider's own that the client kept. */
function fieldSeals(
  { reasoning_content, reasoning_details, reasoning_opaque }: Json,
  calls: readonly Json[],
): Seal[] {
  const seals: Seal[] = [];
  if (typeof reasoning_content === 'string') seals.push({ kind: 'text', values: [] });
  const details = objectsIn(reasoning_details);
  if (details.length > 0) seals.push({ kind: 'details', values: details });
  if (typeof reasoning_opaque === 'string') seals.push({ kind: 'opaque', values: [{ reasoning_opaque }] });
  const extras = calls.filter(({ extra_content }) => !isEmpty(extra_content));
  if (extras.length > 0)
    seals.push({ kind: 'calls', values: extras.map(({ id, extra_content }) => ({ id, extra_content })) });
  return seals;
}

/** Texts and refusals, without empty ones. */
function assistantText(content: unknown, at: string, context: RequestContext): TextPart[] {
  if (!Array.isArray(content)) return textParts(textAt(content, at), at, context);
  const texts = eachObject(content, at, ({ type, refusal, ...others }) =>
    type === 'refusal' ? { type: 'text', text: refusal } : { type, ...others },
  );
  return textParts(texts, at, context).filter(({ text }) => text !== '');
}

function callAt(value: Json, at: string, context: RequestContext): Part {
  const { leaveOut, refuseRest } = context;
  const { id, type, function: call, ...others } = without(value, OF_A_CALL, at, leaveOut);
  if (type !== 'function') throw context.cannotExpress(`${at}.type`, `there are no ${asText(type)} tools`);
  const { index: _index, extra_content: _extra, cache_control: mark, ...more } = others;
  refuseRest(more, at);
  const path = `${at}.function`;
  const { name, arguments: args, ...ofCall } = without(objectAt(call, path), OF_A_CALL, path, leaveOut);
  refuseRest(ofCall, path);
  const text = isEmpty(args) ? '{}' : textAt(args, `${path}.arguments`);
  if (!parseObject(text)) {
    const message = `"${path}.arguments" must be a string with a JSON object`;
    throw badRequest(message, `${path}.arguments`, 'invalid_value');
  }
  return {
    type: 'call',
    id: textAt(id, `${at}.id`),
    name: textAt(name, `${path}.name`),
    args: text,
    at,
    mark,
  };
}

/** The content of a system or assistant message, which may only be text. */
function textParts(content: unknown, at: string, context: RequestContext): TextPart[] {
  if (typeof content === 'string') return content === '' ? [] : [textPart(content)];
  return eachObject(content, at, (part, path) => textAtPart(part, path, context));
}

/** The content of a user message or tool result: text, images, files and sound. */
function contentParts(content: unknown, at: string, context: RequestContext): ContentPart[] {
  if (typeof content === 'string') return [textPart(content)];
  return eachObject(content, at, (part, path) => contentPart(part, path, context));
}

function contentPart(part: Json, at: string, context: RequestContext): ContentPart {
  const { refuseRest } = context;
  const { type, cache_control: mark, ...fields } = part;
  switch (type) {
    case 'image_url': {
      const { image_url, ...others } = fields;
      const { url, detail, ...more } = objectAt(image_url, `${at}.image_url`);
      refuseRest(others, at);
      refuseRest(more, `${at}.image_url`);
      return { type: 'image', at: `${at}.image_url`, url: textAt(url, `${at}.image_url.url`), detail, mark };
    }
    case 'file': {
      const { file, ...others } = fields;
      const { filename, file_data, file_id, ...more } = objectAt(file, `${at}.file`);
      refuseRest(others, at);
      refuseRest({ ...more, file_id }, `${at}.file`);
      const data = textAt(file_data, `${at}.file.file_data`);
      const url = data.startsWith('data:') ? data : `data:application/pdf;base64,${data}`;
      return {
        type: 'file',
        at: `${at}.file`,
        url,
        name: typeof filename === 'string' ? filename : undefined,
        mark,
      };
    }
    case 'input_audio':
      return { type: 'audio', at, audio: fields.input_audio };
    default:
      return textAtPart(part, at, context);
  }
}

function textAtPart(
  { type, text, cache_control, ...others }: Json,
  at: string,
  context: RequestContext,
): TextPart {
  if (type !== 'text')
    throw context.cannotExpress(`${at}.type`, `there is no content of type ${asText(type)}`);
  context.refuseRest(others, at);
  return textPart(textAt(text, `${at}.text`), cache_control);
}

function toolAt(tool: Json, at: string, { cannotExpress, refuseRest }: RequestContext): Tool {
  const { type, function: definition, cache_control: mark, ...others } = tool;
  if (type !== 'function') throw cannotExpress(`${at}.type`, `there are no ${asText(type)} tools`);
  refuseRest(others, at);
  const { name, description, parameters, strict, ...more } = objectAt(definition, `${at}.function`);
  refuseRest(more, `${at}.function`);
  return { name: asText(name), description, parameters, isStrict: strict === true, mark };
}

function choiceOf(value: unknown, { cannotExpress }: RequestContext): ToolChoice | undefined {
  if (isEmpty(value)) return undefined;
  if (value === 'auto' || value === 'none') return value;
  if (value === 'required') return 'any';
  const { type, function: tool } = objectAt(value, 'tool_choice');
  if (type !== 'function') throw cannotExpress('tool_choice');
  return { name: asText(objectAt(tool, 'tool_choice.function').name) };
}

function formatOf(value: unknown, { cannotExpress }: RequestContext): Format | undefined {
  if (isEmpty(value)) return undefined;
  const { type, json_schema } = objectAt(value, 'response_format');
  if (type === 'text') return undefined;
  if (type === 'json_object') return { type };
  if (type !== 'json_schema') throw cannotExpress('response_format', 'use a json_schema');
  const { name, description, schema, strict } = objectAt(json_schema, 'response_format.json_schema');
  return { type, name, description, schema, isStrict: strict };
}
