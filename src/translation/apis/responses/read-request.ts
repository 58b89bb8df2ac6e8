import type { RequestContext } from '../../context.ts';
import {
  type ContentPart,
  type Conversation,
  type Format,
  isCall,
  isReasoning,
  isText,
  type Part,
  type Turn,
  textPart,
} from '../../conversation/conversation.ts';
import { append, asText, isEmpty, type Json, listAt, objectAt, textAt } from '../../json.ts';
import { eachObject, numberIn, optionalObject, optionalText, rest } from '../fields.ts';
import { toolFields } from './read-tools.ts';
import { customArguments, flatName } from './tool-names.ts';

/** Fields read here, and hints and labels that don't affect the response. */
// biome-ignore format: related fields share a line
const READ = new Set([
  'model', 'input', 'instructions', 'service', 'stream', 'stream_options', 'max_output_tokens',
  'tools', 'tool_choice', 'parallel_tool_calls', 'user', 'safety_identifier', 'temperature', 'top_p',
  'text', 'reasoning', 'include', 'service_tier',
  'prompt_cache_key', 'prompt_cache_retention', 'prompt_cache_options', 'metadata', 'client_metadata',
  // No effect: gw stores no responses, and the provider has no server-side tools.
  'store', 'max_tool_calls',
]);

/** Fields that need state, functions or provider details which other APIs lack; those with their default value don't. */
const IS_DEFAULT: Readonly<Record<string, (value: unknown) => boolean>> = {
  previous_response_id: () => false,
  conversation: () => false,
  prompt: () => false,
  context_management: () => false,
  moderation: () => false,
  background: (value) => value === false,
  truncation: (value) => value === 'disabled',
  top_logprobs: (value) => value === 0,
};

/**
 * Reads a responses request: https://developers.openai.com/api/reference/resources/responses/methods/create. Fields that
 * it doesn't know are extensions of a provider.
 */
export function readResponsesRequest(body: Json, context: RequestContext): Conversation {
  const { cannotExpress, refuseRest } = context;
  const extra = rest(body, READ);
  for (const [key, isDefault] of Object.entries(IS_DEFAULT)) {
    if (key in extra && !isDefault(extra[key])) throw cannotExpress(key);
    delete extra[key];
  }
  const { format, verbosity, ...ofText } = optionalObject(body.text, 'text');
  refuseRest(ofText, 'text');
  // Reasoning is returned as the summary, whether or not the client requested one.
  const {
    effort,
    summary: _summary,
    generate_summary: _old,
    context: _context,
    ...ofReasoning
  } = optionalObject(body.reasoning, 'reasoning');
  refuseRest(ofReasoning, 'reasoning');
  if (!isEmpty(body.include)) checkInclude(body.include, context);
  const wanted = optionalText(effort);
  return {
    model: asText(body.model),
    turns: turnsIn(body, context),
    ...toolFields(body, context),
    isStream: body.stream === true,
    maxTokens: numberIn(body.max_output_tokens, 'max_output_tokens'),
    temperature: numberIn(body.temperature, 'temperature'),
    topP: numberIn(body.top_p, 'top_p'),
    reasoning: wanted === undefined ? undefined : { effort: wanted },
    format: formatOf(format, context),
    verbosity: verbosity === 'medium' ? undefined : optionalText(verbosity),
    user: optionalText(body.user ?? body.safety_identifier),
    serviceTier: optionalText(body.service_tier),
    extra,
  };
}

function checkInclude(include: unknown, { cannotExpress }: RequestContext): void {
  const at = listAt(include, 'include').findIndex((each) => /logprobs/.test(asText(each)));
  if (at >= 0) throw cannotExpress(`include[${at}]`);
}

function turnsIn({ instructions, input }: Json, context: RequestContext): Turn[] {
  const turns: Turn[] = [];
  if (!isEmpty(instructions))
    turns.push({ role: 'system', parts: textParts(instructions, 'instructions', context) });
  if (typeof input === 'string') turns.push({ role: 'user', parts: [textPart(input)] });
  else eachObject(input, 'input', (item, at) => addItem(turns, item, at, context));
  return turns;
}

function addItem(turns: Turn[], item: Json, at: string, context: RequestContext): void {
  const { refuseRest, leaveOut } = context;
  const {
    type,
    id,
    status: _status,
    internal_chat_message_metadata_passthrough: _metadata,
    ...fields
  } = item;
  switch (type) {
    case undefined:
    case 'message':
      addMessage(turns, fields, at, context);
      return;
    case 'function_call':
    case 'custom_tool_call': {
      const { call_id, name, namespace, arguments: args, input, ...more } = fields;
      // OpenAI's library adds what it has parsed.
      const { caller: _caller, parsed_arguments: _parsed, ...others } = more;
      refuseRest(others, at);
      const callId = textAt(call_id, `${at}.call_id`);
      const text = type === 'custom_tool_call' ? customArguments(input) : isEmpty(args) ? '{}' : asText(args);
      addAssistant(turns, [{ type: 'call', id: callId, name: flatName(name, namespace), args: text, at }]);
      return;
    }
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const { call_id, output, name: _name, namespace: _namespace, caller: _caller, ...others } = fields;
      refuseRest(others, at);
      const parts = contentParts(output, `${at}.output`, context);
      const result = { type: 'result', id: textAt(call_id, `${at}.call_id`), parts, isError: false } as const;
      turns.push({ role: 'user', parts: [result] });
      return;
    }
    case 'reasoning': {
      const seal = context.unseal(fields.encrypted_content);
      if (seal) addAssistant(turns, [{ type: 'reasoning', text: '', seals: [seal] }]);
      return;
    }
    // The request's tool lists already include these tools.
    case 'additional_tools':
      return;
    case 'tool_search_call':
    case 'tool_search_output':
      leaveOut(`${at} (${type})`);
      return;
    case 'item_reference':
      addItem(turns, recallItem(id, at, context), at, context);
      return;
    default:
      throw context.cannotExpress(`${at}.type`, `there are no items of type ${asText(type)}`);
  }
}

function recallItem(id: unknown, at: string, { recall, cannotExpress }: RequestContext): Json {
  const item = recall(textAt(id, `${at}.id`));
  if (item) return item;
  throw cannotExpress(
    at,
    `gw no longer has the item ${asText(id)}. Send the item itself, as clients do with "store": false`,
  );
}

function addMessage(
  turns: Turn[],
  { role, content, phase: _phase, ...fields }: Json,
  at: string,
  context: RequestContext,
): void {
  context.refuseRest(fields, at);
  switch (role) {
    case 'user':
      turns.push({ role, parts: contentParts(content, `${at}.content`, context) });
      return;
    case 'system':
    case 'developer':
      turns.push({ role: 'system', parts: textParts(content, `${at}.content`, context) });
      return;
    case 'assistant':
      addAssistant(turns, textParts(withoutRefusals(content), `${at}.content`, context));
      return;
    default:
      throw context.cannotExpress(`${at}.role`, `there is no role ${asText(role)}`);
  }
}

/** Reasoning begins a turn, a text follows it, and calls follow both, with what belongs to them. */
function addAssistant(turns: Turn[], parts: Part[]): void {
  const last = turns.at(-1);
  const [first] = parts;
  if (!first) return;
  const joins = isCall(first) || (isReasoning(first) && first.seals.every(({ kind }) => kind === 'calls'));
  const isFull = ({ parts: before }: Turn) => !joins && before.some((part) => isText(part) || isCall(part));
  if (last?.role === 'assistant' && !isFull(last)) append(last.parts, parts);
  else turns.push({ role: 'assistant', parts });
}

/** The content with refusals converted to text. */
function withoutRefusals(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((part: Json | null) =>
    part?.type === 'refusal' ? { type: 'output_text', text: part.refusal } : part,
  );
}

function contentParts(content: unknown, at: string, context: RequestContext): ContentPart[] {
  if (typeof content === 'string') return [textPart(content)];
  return eachObject(content, at, (part, path) => contentPart(part, path, context));
}

/** Text parts alone. Throws GwError 400 for any other part. */
function textParts(content: unknown, at: string, context: RequestContext) {
  return contentParts(content, at, context).map((part, i) => {
    if (part.type !== 'text') throw context.cannotExpress(`${at}[${i}].type`, 'only text is allowed here');
    return part;
  });
}

function contentPart(
  { type, prompt_cache_breakpoint: _cache, ...part }: Json,
  at: string,
  context: RequestContext,
): ContentPart {
  const { refuseRest, cannotExpress } = context;
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text': {
      const { text, annotations: _annotations, logprobs: _logprobs, parsed: _parsed, ...others } = part;
      refuseRest(others, at);
      return textPart(textAt(text, `${at}.text`));
    }
    case 'input_image': {
      const { image_url, detail, ...others } = part;
      refuseRest(others, at);
      const url = textAt(image_url, `${at}.image_url`);
      return { type: 'image', at, url, detail: detail === 'auto' ? undefined : detail };
    }
    case 'input_file': {
      const { file_data, filename, detail, ...others } = part;
      refuseRest({ ...others, ...(detail === 'auto' ? {} : { detail }) }, at);
      if (isEmpty(file_data)) throw cannotExpress(at, 'send the file as file_data');
      const name = typeof filename === 'string' ? filename : undefined;
      return { type: 'file', at, url: textAt(file_data, `${at}.file_data`), name };
    }
    case 'input_audio':
      return { type: 'audio', at, audio: part.input_audio };
    default:
      throw cannotExpress(`${at}.type`, `there is no content of type ${asText(type)}`);
  }
}

function formatOf(value: unknown, { cannotExpress, refuseRest }: RequestContext): Format | undefined {
  if (isEmpty(value)) return undefined;
  const { type, name, schema, strict, description, ...others } = objectAt(value, 'text.format');
  refuseRest(others, 'text.format');
  if (type === 'text') return undefined;
  if (type === 'json_object') return { type };
  if (type === 'json_schema') return { type, name, description, schema, isStrict: strict };
  throw cannotExpress('text.format.type');
}
