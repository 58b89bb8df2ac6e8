import { isObject } from '../../json/object.ts';
import { parseObject } from '../../wire/answer/events.ts';
import { reasoningOf, textIn } from '../chat-message.ts';
import { answerObject, countIn, type Json, objectsIn } from '../json.ts';
import { OWN_REASONING_MARK } from '../own-reasoning-mark.ts';
import type { TranslatorOptions } from '../translator.ts';

/** Why a chat completion stopped, in Anthropic's words. */
const STOP: Record<string, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
};

export function stopReason(finishReason: unknown): string {
  return STOP[String(finishReason)] ?? 'end_turn';
}

/** A chat completion as Anthropic's message. */
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
  const said = textIn(content) || refusal;
  return [
    ...(thinking === '' ? [] : [{ type: 'thinking', thinking, signature: OWN_REASONING_MARK }]),
    ...(typeof said === 'string' && said !== '' ? [{ type: 'text', text: said }] : []),
    ...objectsIn(tool_calls).map(toolUse),
  ];
}

function toolUse({ id, function: called }: Json): Json {
  const { name, arguments: args } = isObject(called) ? called : {};
  return { type: 'tool_use', id, name, input: inputOf(args) };
}

/** A model can write arguments that are no JSON; the tool gets to see them as they are. */
function inputOf(args: unknown): Json {
  if (typeof args !== 'string' || args.trim() === '') return {};
  return parseObject(args) ?? { arguments: args };
}

/** OpenAI counts what was read from and written to the cache within the prompt, Anthropic beside it. */
export function messageUsage(usage: unknown): Json {
  const given = isObject(usage) ? usage : {};
  const details = isObject(given.prompt_tokens_details) ? given.prompt_tokens_details : {};
  const cached = countIn(details.cached_tokens ?? given.prompt_cache_hit_tokens);
  const written = countIn(details.cache_write_tokens);
  return {
    input_tokens: Math.max(0, countIn(given.prompt_tokens) - cached - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: countIn(given.completion_tokens),
  };
}

/** What Anthropic calls the errors of each status. */
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

/** OpenAI's error, or whatever else came with an error status, in Anthropic's shape. */
export function messageError(error: unknown, status: number): Json {
  const message = isObject(error) ? error.message : error;
  const type = ERROR_TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
  return { type: 'error', error: { type, message: String(message).slice(0, 2_000) } };
}

export function errorAnswer(body: Buffer, status: number): Json {
  const text = body.toString('utf8');
  return messageError(parseObject(text)?.error ?? text, status);
}
