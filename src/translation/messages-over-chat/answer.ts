import { isObject } from '../../json/object.ts';
import { parseObject } from '../../wire/answer/events.ts';
import { reasoningOf, textIn } from '../chat-message.ts';
import { answerObject, asText, countIn, type Json, objectsIn } from '../json.ts';
import { OWN_REASONING_MARK } from '../own-reasoning-mark.ts';
import type { TranslatorOptions } from '../translator.ts';

/** Anthropic's stop reasons by OpenAI's finish reasons. */
const STOP: Record<string, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
};

export function stopReason(finishReason: unknown): string {
  return STOP[asText(finishReason)] ?? 'end_turn';
}

/** Translates a chat completion to Anthropic's message. */
export function messageOf(body: Buffer, { model }: TranslatorOptions): Json {
  const answer = answerObject(body);
  const [choice = {}] = objectsIn(answer.choices);
  return {
    id: answer.id,
    type: 'message',
    role: 'assistant',
    model: answer.model ?? model,
    content: contentOf(isObject(choice.message) ? choice.message : {}),
    stop_reason: stopReason(choice.finish_reason),
    stop_sequence: null,
    usage: messageUsage(answer.usage),
  };
}

function contentOf(message: Json): Json[] {
  const { content, refusal, tool_calls } = message;
  const thinking = reasoningOf(message);
  const text = textIn(content) || refusal;
  return [
    ...(thinking === '' ? [] : [{ type: 'thinking', thinking, signature: OWN_REASONING_MARK }]),
    ...(typeof text === 'string' && text !== '' ? [{ type: 'text', text }] : []),
    ...objectsIn(tool_calls).map(toolUse),
  ];
}

function toolUse({ id, function: call }: Json): Json {
  const { name, arguments: args } = isObject(call) ? call : {};
  return { type: 'tool_use', id, name, input: inputOf(args) };
}

/** The arguments as an object. Invalid JSON is passed to the tool as text. */
function inputOf(args: unknown): Json {
  if (typeof args !== 'string' || args.trim() === '') return {};
  return parseObject(args) ?? { arguments: args };
}

/** OpenAI's prompt tokens include cache reads and writes, Anthropic's input tokens don't. */
export function messageUsage(value: unknown): Json {
  const usage = isObject(value) ? value : {};
  const details = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const cached = countIn(details.cached_tokens ?? usage.prompt_cache_hit_tokens);
  const cacheWrites = countIn(details.cache_write_tokens);
  return {
    input_tokens: Math.max(0, countIn(usage.prompt_tokens) - cached - cacheWrites),
    cache_creation_input_tokens: cacheWrites,
    cache_read_input_tokens: cached,
    output_tokens: countIn(usage.completion_tokens),
  };
}

/** Anthropic's error types by HTTP status. */
const ERROR_TYPES: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
};

/** Translates an error to Anthropic's format. */
export function messageError(error: unknown, status: number): Json {
  const message = isObject(error) ? error.message : error;
  const type = ERROR_TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
  return { type: 'error', error: { type, message: asText(message).slice(0, 2_000) } };
}

/** Translates the body of an error status, which may not be in OpenAI's format. */
export function errorAnswer(body: Buffer, status: number): Json {
  const text = body.toString('utf8');
  return messageError(parseObject(text)?.error ?? text, status);
}
