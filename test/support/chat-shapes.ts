/** OpenAI's chat completion bodies, as plain objects: an answer, the chunks of a stream, an error. */

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  [detail: string]: unknown;
}

/** A usage object with the details that OpenAI sends. */
export function usageOf(promptTokens: number, completionTokens: number, cachedTokens = 0): Usage {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

/** What all bodies of one answer share; the time is fixed so that bytes can be compared. */
function identity(model: string) {
  return { id: 'chatcmpl-test', created: 1_767_225_600, model };
}

export function completionBody(
  model: string,
  content: string,
  usage: Usage | null | undefined,
  choice: object = {},
) {
  const message = { role: 'assistant', content, refusal: null, annotations: [] };
  return {
    ...identity(model),
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop', ...choice }],
    ...(usage === undefined ? {} : { usage }),
  };
}

/** A chunk of a stream; `rest` adds to it or replaces what it has. */
export function chunkBody(model: string, choice: object | undefined, rest: object = {}) {
  const choices = choice ? [{ index: 0, delta: {}, logprobs: null, finish_reason: null, ...choice }] : [];
  return { ...identity(model), object: 'chat.completion.chunk', choices, ...rest };
}

export function errorBody(message: string, type: string, code: string | null, param: string | null = null) {
  return { error: { message, type, param, code } };
}
