import { asText, definedFields, isEmpty, type Json, listAt, lookUp, objectAt } from '../json.ts';
import type { LeaveOut } from '../left-out.ts';
import type { RequestOptions } from '../translator.ts';
import { conversation } from './conversation.ts';
import { cannotExpress, refuseRest } from './refuse.ts';

/** Fields translated elsewhere, and hints for OpenAI's cache that don't affect the response. */
const SKIPPED_FIELDS = new Set([
  'model',
  'messages',
  'stream',
  'service',
  'max_tokens',
  'max_completion_tokens',
  'tool_choice',
  'parallel_tool_calls',
  'reasoning_effort',
  'response_format',
  'prompt_cache_key',
  'prompt_cache_retention',
  'user',
  'safety_identifier',
  'metadata',
]);

/**
 * Fields that Anthropic's own OpenAI-compatible endpoint ignores too: best-effort determinism, token ids of a tokenizer
 * that its models don't use, and a latency hint.
 */
const LEFT_OUT = new Set(['seed', 'logit_bias', 'prediction']);

/** Fields with the same meaning in Anthropic's API. Some are extensions that OpenAI clients send. */
const SAME_FIELDS = new Set(['top_p', 'top_k', 'thinking']);

/** By field: whether a value equals the default of Anthropic's API. */
const IS_DEFAULT: Record<string, (value: unknown) => boolean> = {
  n: (value) => value === 1,
  store: (value) => value === false,
  logprobs: (value) => value === false,
  top_logprobs: (value) => value === 0,
  frequency_penalty: (value) => value === 0,
  presence_penalty: (value) => value === 0,
  verbosity: (value) => value === 'medium',
  modalities: (value) => Array.isArray(value) && value.every((each) => each === 'text'),
};

const TRANSLATIONS: Record<string, (value: unknown) => Json> = {
  temperature(value) {
    if (typeof value === 'number' && value > 1) throw cannotExpress('temperature', 'it goes from 0 to 1');
    return { temperature: value };
  },
  stop: (value) => ({ stop_sequences: Array.isArray(value) ? value : [value] }),
  tools: (value) => ({ tools: tools(value) }),
  service_tier(value) {
    if (value === 'auto') return {};
    if (value === 'default') return { service_tier: 'standard_only' };
    throw cannotExpress('service_tier', 'use auto or default');
  },
  stream_options(value) {
    const {
      include_usage: _usage,
      include_obfuscation: _obfuscation,
      ...rest
    } = objectAt(value, 'stream_options');
    const [key] = Object.keys(rest);
    if (key !== undefined) throw cannotExpress(`stream_options.${key}`);
    return {};
  },
};

/** Translates a chat completion request. Throws GwError 400 for a field without an equivalent in Anthropic's API. */
export function messagesRequest(chat: Json, { model, maxTokens, leaveOut }: RequestOptions): Json {
  const limits = [chat.max_tokens, chat.max_completion_tokens].filter((limit) => typeof limit === 'number');
  const request: Json = {
    model: chat.model,
    max_tokens: limits.length > 0 ? Math.max(...limits) : maxTokens,
    ...conversation(chat.messages, leaveOut),
    ...definedFields({
      stream: chat.stream,
      tool_choice: toolChoice(chat.tool_choice, chat.parallel_tool_calls),
    }),
    ...thinkingAndFormat(chat, model),
    ...metadataOf(chat, leaveOut),
  };
  for (const [key, value] of Object.entries(chat)) {
    if (SKIPPED_FIELDS.has(key) || isEmpty(value)) continue;
    const translate = lookUp(TRANSLATIONS, key);
    if (SAME_FIELDS.has(key)) request[key] = value;
    else if (LEFT_OUT.has(key)) leaveOut(key);
    else if (translate) Object.assign(request, translate(value));
    else if (!lookUp(IS_DEFAULT, key)?.(value)) throw cannotExpress(key);
  }
  return request;
}

/** Anthropic accepts only a user id. OpenAI's other labels are for its own store. */
function metadataOf({ user, safety_identifier, metadata }: Json, leaveOut: LeaveOut): Json {
  const labels = isEmpty(metadata) ? {} : objectAt(metadata, 'metadata');
  if (Object.keys(labels).some((name) => name !== 'user_id')) leaveOut('metadata');
  const user_id = safety_identifier ?? user ?? labels.user_id;
  return isEmpty(user_id) ? {} : { metadata: { user_id } };
}

/** Models with a thinking budget in tokens. Later models use adaptive thinking with an effort level. */
const BUDGETED = /claude-(3|(opus|sonnet|haiku)-4(-[0-5])?(-\d{8}|$|@))/;

const BUDGETS: Record<string, number> = { minimal: 1024, low: 2048, medium: 8192, high: 16_384 };
const EFFORTS: Record<string, string> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'max',
};

/** Translates `reasoning_effort` and `response_format`, which share `output_config` in Anthropic's API. */
function thinkingAndFormat(chat: Json, model: string): Json {
  const format = formatOf(chat.response_format);
  const { reasoning_effort } = chat;
  if (isEmpty(reasoning_effort) || reasoning_effort === 'none')
    return format ? { output_config: { format } } : {};
  const level = asText(reasoning_effort);
  if (BUDGETED.test(model)) {
    const budget = BUDGETS[level];
    if (budget === undefined) throw cannotExpress('reasoning_effort', `there is no effort ${level}`);
    const thinking = { type: 'enabled', budget_tokens: budget };
    return format ? { thinking, output_config: { format } } : { thinking };
  }
  const effort = EFFORTS[level];
  if (effort === undefined) throw cannotExpress('reasoning_effort', `there is no effort ${level}`);
  return { thinking: { type: 'adaptive' }, output_config: definedFields({ effort, format }) };
}

function formatOf(value: unknown): Json | undefined {
  if (isEmpty(value)) return undefined;
  const { type, json_schema } = objectAt(value, 'response_format');
  if (type === 'text') return undefined;
  if (type !== 'json_schema') {
    throw cannotExpress('response_format', 'use a json_schema');
  }
  return { type, schema: objectAt(json_schema, 'response_format.json_schema').schema };
}

const NO_PARAMETERS = { type: 'object', properties: {} };

function tools(value: unknown): Json[] {
  return listAt(value, 'tools').map((tool, i) => {
    const at = `tools[${i}]`;
    const { type, function: definition, cache_control, ...rest } = objectAt(tool, at);
    if (type !== 'function') throw cannotExpress(`${at}.type`, `there are no ${asText(type)} tools`);
    refuseRest(rest, at);
    const { name, description, parameters, strict, ...more } = objectAt(definition, `${at}.function`);
    refuseRest(more, `${at}.function`);
    return definedFields({
      name,
      description,
      input_schema: parameters ?? NO_PARAMETERS,
      strict: strict === true ? true : undefined,
      cache_control,
    });
  });
}

/** Translates `tool_choice` and `parallel_tool_calls`, which are one field in Anthropic's API. */
function toolChoice(value: unknown, parallel: unknown): Json | undefined {
  const choice = value === undefined || value === null ? undefined : choiceOf(value);
  if (parallel !== false || choice?.type === 'none') return choice;
  return { ...(choice ?? { type: 'auto' }), disable_parallel_tool_use: true };
}

function choiceOf(choice: unknown): Json {
  if (choice === 'auto' || choice === 'none') return { type: choice };
  if (choice === 'required') return { type: 'any' };
  const { type, function: tool } = objectAt(choice, 'tool_choice');
  if (type !== 'function') throw cannotExpress('tool_choice');
  return { type: 'tool', name: objectAt(tool, 'tool_choice.function').name };
}
