import { newId, type Random } from '../../ids.ts';
import type { Choice } from './reply.ts';
import type { ChatRequest } from './request.ts';
import { wordsOf } from './text.ts';
import { countPrompt, countText } from './tokens.ts';

/** The shapes of https://platform.openai.com/docs/api-reference/chat for a request and its choices. */
export interface Answer {
  request: ChatRequest;
  choices: Choice[];
  /** UTC milliseconds. */
  timeMs: number;
  random: Random;
}

/** The whole answer of a request that does not stream. */
export function completion(answer: Answer) {
  return {
    ...identity(answer, 'chat.completion'),
    choices: answer.choices.map((choice) => ({
      index: choice.index,
      message: {
        role: 'assistant',
        ...said(choice, choice.text, answer.random),
        refusal: null,
        annotations: [],
      },
      logprobs: null,
      finish_reason: choice.finishReason,
    })),
    usage: usageOf(answer),
  };
}

/** The chunks of a streamed answer; the choices take turns, a word each. */
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
    yield chunk(choice, { role: 'assistant', ...said(choice, '', random, { index: 0 }), refusal: null });
  }
  const speakers = choices.map((choice) => ({ choice, words: wordsOf(choice.text) }));
  for (let turn = 0; speakers.some(({ words }) => turn < words.length); turn++) {
    for (const { choice, words } of speakers) {
      const word = words[turn];
      if (word !== undefined) yield chunk(choice, continued(choice, word));
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

/** The fields that begin a choice; `place` goes into its call, which only a chunk numbers. */
function said({ calls }: Choice, text: string, random: Random, place: { index?: number } = {}) {
  if (calls === undefined) return { content: text };
  const id = newId('call', random);
  return {
    content: null,
    tool_calls: [{ ...place, id, type: 'function', function: { name: calls, arguments: text } }],
  };
}

/** The fields of a later chunk. */
function continued({ calls }: Choice, text: string) {
  if (calls === undefined) return { content: text };
  return { tool_calls: [{ index: 0, function: { arguments: text } }] };
}

/** Usage by the rule of `tokens.ts`. */
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
