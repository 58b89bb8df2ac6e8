import { definedFields, isEmpty, type Json, lookUp, objectAt } from '../json.ts';
import type { RequestOptions } from '../translator.ts';
import { conversation } from './conversation.ts';
import { reasoning } from './reasoning.ts';
import { cannotExpress } from './refuse.ts';
import { toolChoice, tools } from './tools.ts';

/** Read together with others, or hints to OpenAI's own caches, which have no bearing on the answer. */
const READ_ELSEWHERE = new Set([
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

/** Fields that mean the same to Anthropic, some of which OpenAI's clients send as extras. */
const AS_THEY_ARE = new Set(['top_p', 'top_k', 'thinking']);

/** Values that ask for nothing, by field: they are what Anthropic does anyway. */
const ASKS_NOTHING: Record<string, (value: unknown) => boolean> = {
  n: (value) => value === 1,
  store: (value) => value === false,
  logprobs: (value) => value === false,
  top_logprobs: (value) => value === 0,
  frequency_penalty: (value) => value === 0,
  presence_penalty: (value) => value === 0,
  verbosity: (value) => value === 'medium',
  modalities: (value) => Array.isArray(value) && value.every((each) => each === 'text'),
};

const TRANSLATED: Record<string, (value: unknown) => Json> = {
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
    const left = Object.keys(rest)[0];
    if (left !== undefined) throw cannotExpress(`stream_options.${left}`);
    return {};
  },
};

/** A chat completion request as Anthropic's messages request. Throws GwError 400 for what it has no word for. */
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
    ...reasoning(chat, model),
  };
  for (const [key, value] of Object.entries(chat)) {
    if (READ_ELSEWHERE.has(key) || isEmpty(value)) continue;
    const translate = lookUp(TRANSLATED, key);
    if (AS_THEY_ARE.has(key)) request[key] = value;
    else if (translate) Object.assign(request, translate(value));
    else if (!lookUp(ASKS_NOTHING, key)?.(value)) throw cannotExpress(key);
  }
  return request;
}
