import { definedFields, isEmpty, type Json, listAt, lookUp, objectAt } from '../json.ts';
import type { RequestOptions } from '../translator.ts';
import { type ConversationOptions, chatMessages } from './conversation.ts';
import { cannotExpress, refuseRest } from './refuse.ts';
import { type ToolOptions, toolFields } from './tools.ts';

export type ChatRequestOptions = Pick<RequestOptions, 'outputLimit'> & ConversationOptions & ToolOptions;

/** Read together with others, or hints and labels that have no bearing on the answer. */
const READ_ELSEWHERE = new Set([
  ...['model', 'input', 'instructions', 'service', 'stream', 'stream_options', 'max_output_tokens'],
  ...['tools', 'tool_choice', 'parallel_tool_calls', 'user', 'safety_identifier'],
  ...['prompt_cache_key', 'prompt_cache_retention', 'prompt_cache_options', 'metadata', 'client_metadata'],
  // Nothing is stored that could be fetched later; and there are no tools of the provider's own to count calls of.
  ...['store', 'max_tool_calls'],
]);

/** What the provider would have to keep or to do by itself, or to say of its words. */
const IMPOSSIBLE = new Set([
  ...['previous_response_id', 'conversation', 'prompt', 'context_management', 'moderation'],
  ...['background', 'truncation', 'top_logprobs'],
]);

/** Values that ask for nothing, by field. */
const ASKS_NOTHING: Record<string, (value: unknown) => boolean> = {
  background: (value) => value === false,
  truncation: (value) => value === 'disabled',
  top_logprobs: (value) => value === 0,
  service_tier: (value) => value === 'auto',
};

const TRANSLATED: Record<string, (value: unknown) => Json> = {
  text(value) {
    const { format, verbosity, ...rest } = objectAt(value, 'text');
    refuseRest(rest, 'text');
    return { ...formatOf(format), ...(isEmpty(verbosity) || verbosity === 'medium' ? {} : { verbosity }) };
  },
  reasoning(value) {
    // A summary is what there is of the thoughts; if the provider shows any, they are passed on.
    const { effort, summary: _summary, generate_summary: _old, ...rest } = objectAt(value, 'reasoning');
    refuseRest(rest, 'reasoning');
    return definedFields({ reasoning_effort: effort });
  },
  include(value) {
    const at = listAt(value, 'include').findIndex((each) => /logprobs/.test(String(each)));
    if (at >= 0) throw cannotExpress(`include[${at}]`);
    return {};
  },
};

/**
 * A responses request as a chat completion request. Fields of a provider's own go on as they are; throws GwError 400
 * for those of OpenAI's that a chat completion has no word for.
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
    if (READ_ELSEWHERE.has(key) || isEmpty(value) || lookUp(ASKS_NOTHING, key)?.(value)) continue;
    if (IMPOSSIBLE.has(key)) throw cannotExpress(key);
    const translate = lookUp(TRANSLATED, key);
    if (translate) Object.assign(request, translate(value));
    // Not by assignment, which takes `__proto__` for more than a name.
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
