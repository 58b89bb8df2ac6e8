import { definedFields, isEmpty, type Json, lookUp, objectAt } from '../json.ts';
import type { RequestOptions } from '../translator.ts';
import { conversation } from './conversation.ts';
import { thinkingAndFormat } from './reasoning.ts';
import { cannotExpress } from './refuse.ts';
import { toolChoice, tools } from './tools.ts';

/** Fields that are translated elsewhere, and hints for OpenAI's cache that don't affect the answer. */
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
]);

/** Fields with the same meaning in Anthropic's API. Some are extensions that clients of OpenAI's API send. */
const SAME_FIELDS = new Set(['top_p', 'top_k', 'thinking']);

/** Tests by field for values that Anthropic's API has as its default. */
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
    if (Number(value) > 1) throw cannotExpress('temperature', 'it goes from 0 to 1 there');
    return { temperature: value };
  },
  stop: (value) => ({ stop_sequences: Array.isArray(value) ? value : [value] }),
  tools: (value) => ({ tools: tools(value) }),
  user: (value) => ({ metadata: { user_id: value } }),
  safety_identifier: (value) => ({ metadata: { user_id: value } }),
  service_tier(value) {
    if (value === 'auto') return {};
    if (value === 'default') return { service_tier: 'standard_only' };
    throw cannotExpress('service_tier', 'there are auto and default');
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

/** Translates a chat completion request. Throws GwError 400 for a field that Anthropic's API can't express. */
export function messagesRequest(chat: Json, { model, maxTokens }: RequestOptions): Json {
  const limits = [chat.max_tokens, chat.max_completion_tokens].filter((limit) => typeof limit === 'number');
  const request: Json = {
    model: chat.model,
    max_tokens: limits.length > 0 ? Math.max(...limits) : maxTokens,
    ...conversation(chat.messages),
    ...definedFields({
      stream: chat.stream,
      tool_choice: toolChoice(chat.tool_choice, chat.parallel_tool_calls),
    }),
    ...thinkingAndFormat(chat, model),
  };
  for (const [key, value] of Object.entries(chat)) {
    if (SKIPPED_FIELDS.has(key) || isEmpty(value)) continue;
    const translate = lookUp(TRANSLATIONS, key);
    if (SAME_FIELDS.has(key)) request[key] = value;
    else if (translate) Object.assign(request, translate(value));
    else if (!lookUp(IS_DEFAULT, key)?.(value)) throw cannotExpress(key);
  }
  return request;
}
