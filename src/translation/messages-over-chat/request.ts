import { createHash } from 'node:crypto';
import { asText, definedFields, isEmpty, type Json, listAt, lookUp, objectAt, textAt } from '../json.ts';
import { type LeaveOut, without } from '../left-out.ts';
import type { RequestOptions } from '../translator.ts';
import { chatMessages, isToolSearch } from './conversation.ts';
import { cannotExpress, refuseRest } from './refuse.ts';

/** Fields translated elsewhere, and the cache marker, which OpenAI's API doesn't need. */
const SKIPPED_FIELDS = new Set([
  'model',
  'messages',
  'system',
  'service',
  'max_tokens',
  'stream',
  'tool_choice',
  'thinking',
  'output_config',
  'tools',
  'cache_control',
]);
/** Fields for Anthropic's own use: the rules of Claude Code's auto mode, and diagnostics of cache misses. */
const LEFT_OUT = new Set(['safeguards', 'diagnostics']);
/** Fields with the same meaning in OpenAI's API. */
const SAME_FIELDS = new Set(['temperature', 'top_p']);

const TRANSLATIONS: Record<string, (value: unknown) => Json> = {
  stop_sequences: (value) => ({ stop: value }),
  metadata(value) {
    const { user_id, ...rest } = objectAt(value, 'metadata');
    refuseRest(rest, 'metadata');
    return isEmpty(user_id) ? {} : { user: shortId(textAt(user_id, 'metadata.user_id')) };
  },
  service_tier: (value) => (value === 'standard_only' ? { service_tier: 'default' } : {}),
  context_management(value) {
    // Earlier reasoning is never sent, so clearing it needs no translation. Only Anthropic supports other edits.
    const edits = listAt(objectAt(value, 'context_management').edits ?? [], 'context_management.edits');
    const other = edits.findIndex((edit) => !/^clear_thinking_/.test(asText(objectAt(edit, 'edits').type)));
    if (other >= 0) throw cannotExpress(`context_management.edits[${other}]`);
    return {};
  },
};

/** Translates a messages request. Throws GwError 400 for a field without an equivalent in chat completions. */
export function chatRequest(messages: Json, options: RequestOptions): Json {
  const { model, outputLimit, leaveOut } = options;
  const request: Json = {
    model: messages.model,
    messages: chatMessages(messages.system, messages.messages, options),
    ...definedFields({ [outputLimit]: messages.max_tokens, stream: messages.stream }),
    ...(messages.stream === true ? { stream_options: { include_usage: true } } : {}),
    ...toolFields(messages, leaveOut),
    ...outputOf(messages, model),
  };
  for (const [key, value] of Object.entries(messages)) {
    if (SKIPPED_FIELDS.has(key) || isEmpty(value)) continue;
    const translate = lookUp(TRANSLATIONS, key);
    if (SAME_FIELDS.has(key)) request[key] = value;
    else if (LEFT_OUT.has(key)) leaveOut(key);
    else if (translate) Object.assign(request, translate(value));
    else throw cannotExpress(key);
  }
  return request;
}

/** OpenAI accepts 64 characters. A longer id, such as Claude Code's, is replaced by its hash. */
function shortId(id: string): string {
  return id.length <= 64 ? id : createHash('sha256').update(id).digest('hex');
}

/** Translates `tools` and `tool_choice`. All tools are sent, including deferred ones, so tool search is omitted. */
function toolFields(messages: Json, leaveOut: LeaveOut): Json {
  const list = isEmpty(messages.tools) ? [] : listAt(messages.tools, 'tools');
  const tools = list.flatMap((value, i) => {
    const at = `tools[${i}]`;
    const tool = objectAt(value, at);
    if (!isToolSearch(tool.type)) return [chatTool(tool, at, leaveOut)];
    leaveOut(`${at} (${tool.type})`);
    return [];
  });
  if (tools.length === 0 && list.length > 0) return {};
  return { ...(list.length > 0 ? { tools } : {}), ...toolChoice(messages.tool_choice) };
}

function chatTool(tool: Json, at: string, leaveOut: LeaveOut): Json {
  const { type, name, description, input_schema, strict, ...rest } = without(
    tool,
    ['defer_loading'],
    at,
    leaveOut,
  );
  if (type !== undefined && type !== null && type !== 'custom') {
    throw cannotExpress(`${at}.type`, `only Anthropic runs ${asText(type)}`);
  }
  const { cache_control: _cache, eager_input_streaming: _eager, ...more } = rest;
  refuseRest(more, at);
  return {
    type: 'function',
    function: definedFields({ name, description, parameters: input_schema, strict }),
  };
}

function toolChoice(value: unknown): Json {
  if (isEmpty(value)) return {};
  const { type, name, disable_parallel_tool_use: isSerial } = objectAt(value, 'tool_choice');
  const parallel = isSerial === true ? { parallel_tool_calls: false } : {};
  switch (type) {
    case 'auto':
    case 'none':
      return { tool_choice: type, ...parallel };
    case 'any':
      return { tool_choice: 'required', ...parallel };
    case 'tool':
      return { tool_choice: { type: 'function', function: { name } }, ...parallel };
    default:
      throw cannotExpress('tool_choice.type');
  }
}

/** Models that support an effort level. Others get none, because some of them reject it. */
const SUPPORTS_EFFORT = /(^|\/)(gpt-([5-9]|oss)|o[1-9](-|$)|codex|grok-|gemini-(2\.5|[3-9]))/;
const SUPPORTS_XHIGH = /(^|\/)(gpt-5\.[2-9]|gpt-[6-9]|gpt-5\.1-codex-max)/;

function outputOf({ thinking, output_config }: Json, model: string): Json {
  const { effort, format, ...rest } = isEmpty(output_config) ? {} : objectAt(output_config, 'output_config');
  refuseRest(rest, 'output_config');
  const requested = SUPPORTS_EFFORT.test(model) ? effortOf(effort, thinking) : undefined;
  const isTooHigh = (requested === 'max' || requested === 'xhigh') && !SUPPORTS_XHIGH.test(model);
  const reasoning_effort = isTooHigh ? 'high' : requested === 'max' ? 'xhigh' : requested;
  return { ...definedFields({ reasoning_effort }), ...formatOf(format) };
}

function effortOf(effort: unknown, thinking: unknown): string | undefined {
  if (!isEmpty(effort)) return asText(effort);
  if (isEmpty(thinking)) return undefined;
  const { type, budget_tokens } = objectAt(thinking, 'thinking');
  // With adaptive thinking the model keeps its default effort.
  if (type !== 'enabled') return undefined;
  const budget = Number(budget_tokens);
  return budget <= 2048 ? 'low' : budget <= 8192 ? 'medium' : 'high';
}

function formatOf(value: unknown): Json {
  if (isEmpty(value)) return {};
  const { type, schema } = objectAt(value, 'output_config.format');
  if (type !== 'json_schema') throw cannotExpress('output_config.format');
  return { response_format: { type, json_schema: { name: 'answer', strict: true, schema } } };
}
