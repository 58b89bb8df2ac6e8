import { z } from 'zod';
import type { Answer } from './answer.ts';
import { usageOf } from './answer.ts';
import { type ChatRequest, parseBody, readChatRequest } from './request.ts';
import { wordsOf } from './text.ts';

const prompts = z.looseObject({
  prompt: z.union([
    z.string(),
    z.array(z.string()).min(1),
    z.array(z.int()).min(1),
    z.array(z.array(z.int())).min(1),
  ]),
});

/** Parses a legacy completion request into one chat request per prompt. */
export function parseCompletionRequest(body: Buffer): ChatRequest[] {
  const { prompt, ...rest } = parseBody(prompts, body);
  const list = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt : [prompt];
  return list.map((each) => {
    const content = Array.isArray(each) ? each.join(' ') : each;
    return readChatRequest({ ...rest, messages: [{ role: 'user', content }] });
  });
}

/** The answers to all prompts, in the format of https://platform.openai.com/docs/api-reference/completions. */
export function textCompletion(answers: readonly Answer[]) {
  const choices = choicesOf(answers).map(({ text, index, finishReason }) =>
    choice(text, index, finishReason),
  );
  return { ...identity(answers), choices, usage: total(answers) };
}

/** The chunks of a stream, one choice after the other. */
export function* textChunks(answers: readonly Answer[]) {
  const shared = identity(answers);
  for (const { text, index, finishReason } of choicesOf(answers)) {
    for (const word of wordsOf(text)) yield { ...shared, choices: [choice(word, index, null)] };
    yield { ...shared, choices: [choice('', index, finishReason)] };
  }
  if (answers[0]?.request.stream_options?.include_usage)
    yield { ...shared, choices: [], usage: total(answers) };
}

function choicesOf(answers: readonly Answer[]) {
  return answers.flatMap(({ choices }) => choices).map((each, index) => ({ ...each, index }));
}

function choice(text: string, index: number, finish_reason: string | null) {
  return { text, index, logprobs: null, finish_reason };
}

function identity([first]: readonly Answer[]) {
  const { request, timeMs = 0, random } = first ?? {};
  return {
    id: `cmpl-${random?.(12).toString('hex')}`,
    object: 'text_completion',
    created: Math.floor(timeMs / 1000),
    model: request?.model ?? '',
  };
}

function total(answers: readonly Answer[]) {
  const sum = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  for (const answer of answers) {
    const usage = usageOf(answer);
    sum.prompt_tokens += usage.prompt_tokens;
    sum.completion_tokens += usage.completion_tokens;
    sum.total_tokens += usage.total_tokens;
  }
  return sum;
}
