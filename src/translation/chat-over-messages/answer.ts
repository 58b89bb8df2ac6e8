import { isObject } from '../../json/object.ts';
import { parseObject } from '../../wire/answer/events.ts';
import { answerObject, asText, countIn, type Json, objectsIn } from '../json.ts';
import type { TranslatorOptions } from '../translator.ts';

/** OpenAI's finish reasons by Anthropic's stop reasons. */
const FINISH: Record<string, string> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

export function finishReason(stopReason: unknown): string {
  return FINISH[asText(stopReason)] ?? 'stop';
}

/** Translates Anthropic's message to a chat completion. */
export function chatCompletion(body: Buffer, { model, now }: TranslatorOptions): Json {
  const answer = answerObject(body);
  return {
    id: answer.id,
    object: 'chat.completion',
    created: Math.floor(now() / 1000),
    model: answer.model ?? model,
    choices: [
      {
        index: 0,
        message: chatMessage(objectsIn(answer.content)),
        logprobs: null,
        finish_reason: finishReason(answer.stop_reason),
      },
    ],
    usage: chatUsage(answer.usage),
  };
}

function chatMessage(blocks: Json[]): Json {
  const texts = blocks.filter(({ type }) => type === 'text').map(({ text }) => text);
  const calls = blocks.filter(({ type }) => type === 'tool_use');
  const thinking = blocks.filter(({ type }) => type === 'thinking' || type === 'redacted_thinking');
  return {
    role: 'assistant',
    content: texts.length > 0 ? texts.join('') : null,
    refusal: null,
    ...(calls.length > 0 ? { tool_calls: calls.map(toolCall) } : {}),
    ...(thinking.length > 0 ? reasoning(thinking) : {}),
  };
}

function toolCall({ id, name, input }: Json): Json {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input ?? {}) } };
}

/** OpenAI's API has no field for reasoning. DeepSeek and other gateways use these two. */
function reasoning(blocks: Json[]): Json {
  const text = blocks.map(({ thinking }) => (typeof thinking === 'string' ? thinking : '')).join('');
  return { reasoning_content: text, thinking_blocks: blocks };
}

/** OpenAI's prompt tokens include cache reads and writes, Anthropic's input tokens don't. */
export function chatUsage(value: unknown): Json {
  const usage = isObject(value) ? value : {};
  const cached = countIn(usage.cache_read_input_tokens);
  const cacheWrites = countIn(usage.cache_creation_input_tokens);
  const input = countIn(usage.input_tokens) + cached + cacheWrites;
  const output = countIn(usage.output_tokens);
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: {
      cached_tokens: cached,
      audio_tokens: 0,
      ...(cacheWrites > 0 ? { cache_write_tokens: cacheWrites } : {}),
    },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

/** Translates the body of an error status, which may not be in Anthropic's format. */
export function chatError(body: Buffer): Json {
  const text = body.toString('utf8');
  return { error: chatErrorFields(parseObject(text)?.error ?? text) };
}

export function chatErrorFields(error: unknown): Json {
  const { type, message } = isObject(error) ? error : { type: 'api_error', message: error };
  return { message: asText(message).slice(0, 2_000), type, param: null, code: null };
}
