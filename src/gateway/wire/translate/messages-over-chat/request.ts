import { cannotExpress, isEmpty, type Json, listAt, objectAt, stated } from '../json.ts';
import type { RequestOptions } from '../translator.ts';
import { refuseRest } from './content.ts';
import { chatMessages } from './conversation.ts';

/** Read together with others. */
const READ_ELSEWHERE = new Set([
  'model',
  'messages',
  'system',
  'service',
  'max_tokens',
  'stream',
  'tool_choice',
  'thinking',
  'output_config',
]);
const AS_THEY_ARE = new Set(['temperature', 'top_p']);

const TRANSLATED: Record<string, (value: unknown) => Json> = {
  stop_sequences: (value) => ({ stop: value }),
  tools: (value) => ({ tools: tools(value) }),
  metadata(value) {
    const { user_id, ...rest } = objectAt(value, 'metadata');
    refuseRest(rest, 'metadata');
    return stated({ user: user_id });
  },
  service_tier: (value) => (value === 'standard_only' ? { service_tier: 'default' } : {}),
  context_management(value) {
    // Earlier thoughts are not sent in any case; anything else is for Anthropic to do.
    const edits = listAt(objectAt(value, 'context_management').edits ?? [], 'context_management.edits');
    const other = edits.findIndex((edit) => !/^clear_thinking_/.test(String(objectAt(edit, 'edits').type)));
    if (other >= 0) throw cannotExpress(`context_management.edits[${other}]`, 'OpenAI');
    return {};
  },
};

/** Anthropic's messages request as a chat completion request. Throws GwError 400 for what it has no word for. */
export function chatRequest(messages: Json, { outputLimit }: RequestOptions): Json {
  const request: Json = {
    model: messages.model,
    messages: chatMessages(messages.system, messages.messages),
    ...stated({ [outputLimit]: messages.max_tokens, stream: messages.stream }),
    ...(messages.stream === true ? { stream_options: { include_usage: true } } : {}),
    ...toolChoice(messages.tool_choice),
    ...outputOf(messages),
  };
  for (const [key, value] of Object.entries(messages)) {
    if (READ_ELSEWHERE.has(key) || isEmpty(value)) continue;
    if (AS_THEY_ARE.has(key)) request[key] = value;
    else if (TRANSLATED[key]) Object.assign(request, TRANSLATED[key](value));
    else throw cannotExpress(key, 'OpenAI');
  }
  return request;
}

function tools(value: unknown): Json[] {
  return listAt(value, 'tools').map((tool, i) => {
    const at = `tools[${i}]`;
    const { type, name, description, input_schema, strict, ...rest } = objectAt(tool, at);
    if (type !== undefined && type !== null && type !== 'custom') {
      throw cannotExpress(`${at}.type`, 'OpenAI', `${String(type)} runs at Anthropic`);
    }
    const { cache_control: _cache, eager_input_streaming: _eager, ...more } = rest;
    refuseRest(more, at);
    return { type: 'function', function: stated({ name, description, parameters: input_schema, strict }) };
  });
}

function toolChoice(value: unknown): Json {
  if (isEmpty(value)) return {};
  const { type, name, disable_parallel_tool_use: alone } = objectAt(value, 'tool_choice');
  const parallel = alone === true ? { parallel_tool_calls: false } : {};
  switch (type) {
    case 'auto':
    case 'none':
      return { tool_choice: type, ...parallel };
    case 'any':
      return { tool_choice: 'required', ...parallel };
    case 'tool':
      return { tool_choice: { type: 'function', function: { name } }, ...parallel };
    default:
      throw cannotExpress('tool_choice.type', 'OpenAI');
  }
}

/** Models without reasoning take no effort; for them there is nothing to switch on. */
const NO_REASONING = /(^|\/)(gpt-3|gpt-4|chatgpt-)/;

function outputOf({ model, thinking, output_config }: Json): Json {
  const { effort, format, ...rest } = isEmpty(output_config) ? {} : objectAt(output_config, 'output_config');
  refuseRest(rest, 'output_config');
  const asked = effortOf(effort, thinking);
  const reasons = asked !== undefined && !NO_REASONING.test(String(model));
  return { ...(reasons ? { reasoning_effort: asked } : {}), ...formatOf(format) };
}

function effortOf(effort: unknown, thinking: unknown): string | undefined {
  if (!isEmpty(effort)) return effort === 'max' ? 'xhigh' : String(effort);
  if (isEmpty(thinking)) return undefined;
  const { type, budget_tokens } = objectAt(thinking, 'thinking');
  // A model that is to judge by itself how much to think is left to its default.
  if (type !== 'enabled') return undefined;
  const budget = Number(budget_tokens);
  return budget <= 2048 ? 'low' : budget <= 8192 ? 'medium' : 'high';
}

function formatOf(value: unknown): Json {
  if (isEmpty(value)) return {};
  const { type, schema } = objectAt(value, 'output_config.format');
  if (type !== 'json_schema') throw cannotExpress('output_config.format', 'OpenAI');
  return { response_format: { type, json_schema: { name: 'answer', strict: true, schema } } };
}
