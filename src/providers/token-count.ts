import { OPEN_BRACE } from '../json/bytes.ts';
import { applyEdits, removeElements } from '../json/edit.ts';
import { isObject } from '../json/object.ts';
import { JsonSyntaxError, scanObject } from '../json/scan.ts';
import { PRESETS } from './presets.ts';
import type { Provider } from './registry.ts';

/** An endpoint that counts a request's input tokens without generating. */
export interface CountEndpoint {
  /** Path after the provider's base URL. */
  pathOf(model: string): string;
  /** Fields that affect the count. */
  counted: ReadonlySet<string>;
  /** Request fields that the endpoint rejects. They add no input. */
  refused: ReadonlySet<string>;
  /** A request with a single text as its input. */
  ofText(model: string, text: string): object;
  /** The endpoint's body, where the counted fields are within a member of it. There is at least one. */
  wrap?(model: string, body: Buffer): Buffer;
}

/** https://platform.claude.com/docs/en/api/messages/count_tokens */
const MESSAGES: CountEndpoint = {
  pathOf: () => '/messages/count_tokens',
  // biome-ignore format: related fields share a line
  counted: new Set([
    'model', 'messages', 'system', 'tools', 'tool_choice', 'thinking', 'output_config', 'output_format',
    'cache_control', 'context_management',
  ]),
  // biome-ignore format: related fields share a line
  refused: new Set([
    'max_tokens', 'stream', 'metadata', 'temperature', 'top_p', 'top_k', 'stop_sequences', 'service_tier',
    'inference_geo', 'speed',
  ]),
  ofText: (model, text) => ({ model, messages: [{ role: 'user', content: text }] }),
};

/** https://platform.openai.com/docs/api-reference/responses/input-tokens */
const RESPONSES: CountEndpoint = {
  pathOf: () => '/responses/input_tokens',
  // biome-ignore format: related fields share a line
  counted: new Set([
    'model', 'input', 'instructions', 'tools', 'tool_choice', 'text', 'reasoning', 'parallel_tool_calls',
    'previous_response_id', 'personality',
  ]),
  // biome-ignore format: related fields share a line
  refused: new Set([
    'max_output_tokens', 'stream', 'stream_options', 'store', 'include', 'metadata', 'client_metadata', 'user',
    'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention', 'service_tier', 'temperature', 'top_p',
    'top_logprobs', 'background', 'max_tool_calls',
  ]),
  ofText: (model, text) => ({ model, input: text }),
};

/** https://ai.google.dev/api/tokens */
const GEMINI: CountEndpoint = {
  pathOf: (model) => `/models/${encodeURIComponent(model)}:countTokens`,
  counted: new Set(['contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig']),
  refused: new Set(['model', 'stream', 'safetySettings', 'serviceTier', 'labels']),
  ofText: (_model, text) => ({ contents: [{ role: 'user', parts: [{ text }] }] }),
  wrap(model, body) {
    const head = `{"generateContentRequest":{"model":${JSON.stringify(`models/${model}`)},`;
    return Buffer.concat([Buffer.from(head), body.subarray(body.indexOf(OPEN_BRACE) + 1), Buffer.from('}')]);
  },
};

/** By the path of the counted requests. */
const ENDPOINTS: Readonly<Record<string, CountEndpoint>> = {
  '/messages': MESSAGES,
  '/responses': RESPONSES,
  '/generateContent': GEMINI,
};

/** The count endpoint for requests of a path; undefined if the provider is known to have none. */
export function countEndpoint(
  { name, local, cloud }: Pick<Provider, 'name' | 'local' | 'cloud'>,
  path: string,
): CountEndpoint | undefined {
  const isWith = cloud?.countsInput ?? (!Object.hasOwn(PRESETS, name) || PRESETS[name]?.countsInput === true);
  return local || !isWith ? undefined : ENDPOINTS[path];
}

/** Whether an endpoint counts all the input of a request with these fields. */
export function countsFields({ counted, refused }: CountEndpoint, fields: readonly string[]): boolean {
  return fields.every((field) => counted.has(field) || refused.has(field));
}

/** A request's body with only the counted fields; undefined for invalid JSON. */
export function countBody(
  body: Buffer,
  { counted, wrap }: CountEndpoint = MESSAGES,
  model = '',
): Buffer | undefined {
  try {
    const members = scanObject(body).map(({ key, keyStart, end }) => ({ key, start: keyStart, end }));
    const left = applyEdits(
      body,
      removeElements(members, ({ key }) => !counted.has(key)),
    );
    return wrap?.(model, left) ?? left;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

/**
 * The count in an endpoint's response; undefined if there is none. If the request asks for context editing, the count
 * before editing: the provider may edit differently when it serves the request.
 */
export function countIn(answer: Record<string, unknown> | undefined): number | undefined {
  const edited = answer?.context_management;
  const before = isObject(edited) ? edited.original_input_tokens : undefined;
  const counts = [answer?.input_tokens, answer?.totalTokens, answer?.inputTokens, before];
  const valid = counts.filter((count): count is number => Number.isSafeInteger(count) && Number(count) > 0);
  return valid.length > 0 ? Math.max(...valid) : undefined;
}
