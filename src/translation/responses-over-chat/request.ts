import { asText, definedFields, isEmpty, type Json, listAt, lookUp, objectAt } from '../json.ts';
import type { RequestOptions } from '../translator.ts';
import { type ConversationOptions, chatMessages } from './conversation.ts';
import { cannotExpress, refuseRest } from './refuse.ts';
import { type ToolOptions, toolFields } from './tools.ts';

export type ChatRequestOptions = Pick<RequestOptions, 'outputLimit'> & ConversationOptions & ToolOptions;

/** Fields that are translated elsewhere, and hints and labels that don't affect the answer. */
// biome-ignore format: related fields share a line
const SKIPPED_FIELDS = new Set([
  'model', 'input', 'instructions', 'service', 'stream', 'stream_options', 'max_output_tokens',
  'tools', 'tool_choice', 'parallel_tool_calls', 'user', 'safety_identifier',
  'prompt_cache_key', 'prompt_cache_retention', 'prompt_cache_options', 'metadata', 'client_metadata',
  // Without effect: gw stores no responses, and the provider has no server tools.
  'store', 'max_tool_calls',
]);

/** Fields that need state, functions or details of the provider which chat completions don't have. */
// biome-ignore format: related fields share a line
const UNSUPPORTED = new Set([
  'previous_response_id', 'conversation', 'prompt', 'context_management', 'moderation',
  'background', 'truncation', 'top_logprobs',
]);

/** Tests by field for values that equal the default. */
const IS_DEFAULT: Record<string, (value: unknown) => boolean> = {
  background: (value) => value === false,
  truncation: (value) => value === 'disabled',
  top_logprobs: (value) => value === 0,
  service_tier: (value) => value === 'auto',
};

const TRANSLATIONS: Record<string, (value: unknown) => Json> = {
  text(value) {
    const { format, verbosity, ...rest } = objectAt(value, 'text');
    refuseRest(rest, 'text');
    return { ...formatOf(format), ...(isEmpty(verbosity) || verbosity === 'medium' ? {} : { verbosity }) };
  },
  reasoning(value) {
    // Reasoning that the provider returns is passed on as the summary, requested or not.
    const { effort, summary: _summary, generate_summary: _old, ...rest } = objectAt(value, 'reasoning');
    refuseRest(rest, 'reasoning');
    return definedFields({ reasoning_effort: effort });
  },
  include(value) {
    const at = listAt(value, 'include').findIndex((each) => /logprobs/.test(asText(each)));
    if (at >= 0) throw cannotExpress(`include[${at}]`);
    return {};
  },
};

/**
 * Translates a responses request. Throws GwError 400 for OpenAI's fields that a chat completion can't express. Other
 * fields are a provider's extensions and pass unchanged.
 */
export function chatRequest(responses: Json, options: ChatRequestOptions): Json {
  const { stream, max_output_tokens, user, safety_identifier } = responses;
  const request: Json = {
    model: responses.model,
    messages: chatMessages(responses, options),
    ...definedFields({ [options.outputLimit]: max_output_tokens, user: user ?? safety_identifier, stream }),
    ...(stream === true ? { stream_options: { include_usage: true } } : {}),
    ...toolFields(responses, options),
  };
  for (const [key, value] of Object.entries(responses)) {
    if (SKIPPED_FIELDS.has(key) || isEmpty(value) || lookUp(IS_DEFAULT, key)?.(value)) continue;
    if (UNSUPPORTED.has(key)) throw cannotExpress(key);
    const translate = lookUp(TRANSLATIONS, key);
    if (translate) Object.assign(request, translate(value));
    // An assignment to `__proto__` would set the prototype.
    else Object.defineProperty(request, key, { value, enumerable: true });
  }
  return request;
}

function formatOf(value: unknown): Json {
  if (isEmpty(value)) return {};
  const { type, name, schema, strict, description, ...rest } = objectAt(value, 'text.format');
  refuseRest(rest, 'text.format');
  switch (type) {
    case 'text':
      return {};
    case 'json_object':
      return { response_format: { type } };
    case 'json_schema':
      return { response_format: { type, json_schema: definedFields({ name, description, schema, strict }) } };
    default:
      throw cannotExpress('text.format.type');
  }
}
