import { isObject } from '../../json/object.ts';
import { countIn, type Json } from '../json.ts';
import type { NamedTool } from './tool-names.ts';

export interface ResponseOptions {
  /** The client's request. The response repeats some of its fields. */
  request: Json;
  /** The model name in the client's request. */
  model: string;
  tools: ReadonlyMap<string, NamedTool>;
  newId: (prefix: string) => string;
  /** UTC milliseconds. */
  now: () => number;
}

/** A response without output. */
export function emptyResponse(id: string, created: unknown, model: unknown, options: ResponseOptions): Json {
  const { request } = options;
  return {
    id,
    object: 'response',
    created_at: typeof created === 'number' ? created : Math.floor(options.now() / 1000),
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    model: typeof model === 'string' ? model : options.model,
    output: [],
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null, ...(isObject(request.reasoning) ? request.reasoning : {}) },
    temperature: request.temperature ?? 1,
    text: request.text ?? { format: { type: 'text' } },
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools ?? [],
    top_logprobs: 0,
    top_p: request.top_p ?? 1,
    truncation: 'disabled',
    usage: null,
    user: request.user ?? null,
    metadata: request.metadata ?? {},
  };
}

/** The status of a response, from a chat completion's finish reason. */
export function endingOf(finishReason: unknown): Pick<Json, 'status' | 'incomplete_details'> {
  switch (finishReason) {
    case 'length':
      return { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } };
    case 'content_filter':
      return { status: 'incomplete', incomplete_details: { reason: 'content_filter' } };
    default:
      return { status: 'completed', incomplete_details: null };
  }
}

export function responseUsage(usage: unknown): Json | null {
  if (!isObject(usage)) return null;
  const prompt = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const completion = isObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {};
  const input = countIn(usage.prompt_tokens);
  const output = countIn(usage.completion_tokens);
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: countIn(prompt.cached_tokens ?? usage.prompt_cache_hit_tokens),
      cache_write_tokens: countIn(prompt.cache_write_tokens),
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: countIn(completion.reasoning_tokens) },
    total_tokens: input + output,
  };
}
