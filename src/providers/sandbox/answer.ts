import { newId, type Random } from '../../ids.ts';
import type { Choice } from './reply.ts';
import type { ChatRequest } from './request.ts';
import { wordsOf } from './text.ts';
import { countPrompt, countText } from './tokens.ts';

/** A request and its choices, in the format of https://platform.openai.com/docs/api-reference/chat. */
export interface Answer {
  request: ChatRequest;
  choices: Choice[];
  /** UTC milliseconds. */
  timeMs: number;
  random: Random;
}

/** The response body without streaming. */
export function completion(answer: Answer) {
  return {
    ...identity(answer, 'chat.completion'),
    choices: answer.choices.map((choice) => ({
      index: choice.index,
      message: {
        role: 'assistant',
        ...firstDelta(choice, choice.text, answer.random),
        refusal: null,
        annotations: [],
      },
      logprobs: null,
      finish_reason: choice.finishReason,
    })),
    usage: usageOf(answer),
  };
}

/** The chunks of a streamed answer. The choices alternate, one word each. */
export function* chunks(answer: Answer) {
  const { request, choices, random } = answer;
  const includeUsage = request.stream_options?.include_usage === true;
  const shared = identity(answer, 'chat.completion.chunk');
  const chunk = ({ index }: Choice, delta: object, finish_reason: string | null = null) => ({
    ...shared,
    choices: [{ index, delta, logprobs: null, finish_reason }],
    ...(includeUsage ? { usage: null } : {}),
  });

  for (const choice of choices) {
    const delta = firstDelta(choice, '', random, { index: 0 });
    yield chunk(choice, { role: 'assistant', ...delta, refusal: null });
  }
  const texts = choices.map((choice) => ({ choice, words: wordsOf(choice.text) }));
  for (let turn = 0; texts.some(({ words }) => turn < words.length); turn++) {
    for (const { choice, words } of texts) {
      const word = words[turn];
      if (word !== undefined) yield chunk(choice, laterDelta(choice, word));
    }
  }
  for (const choice of choices) yield chunk(choice, {}, choice.finishReason);
  if (includeUsage) yield { ...shared, choices: [], usage: usageOf(answer) };
}

function identity({ request, timeMs, random }: Answer, object: string) {
  return {
    id: `chatcmpl-${random(12).toString('hex')}`,
    object,
    created: Math.floor(timeMs / 1000),
    model: request.model,
    service_tier: 'default',
    system_fingerprint: 'fp_sandbox',
  };
}

/** The first fields of a choice. `position` is added to its tool call: only chunks have an index there. */
function firstDelta({ calls }: Choice, text: string, random: Random, position: { index?: number } = {}) {
  if (calls === undefined) return { content: text };
  const id = newId('call', random);
  return {
    content: null,
    tool_calls: [{ ...position, id, type: 'function', function: { name: calls, arguments: text } }],
  };
}

/** The fields of a later chunk's delta. */
function laterDelta({ calls }: Choice, text: string) {
  if (calls === undefined) return { content: text };
  return { tool_calls: [{ index: 0, function: { arguments: text } }] };
}

/** Usage, counted as in `tokens.ts`. */
export function usageOf({ request, choices }: Answer) {
  const promptTokens = countPrompt(request);
  const completionTokens = choices.reduce((sum, choice) => sum + countText(choice.text), 0);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}
