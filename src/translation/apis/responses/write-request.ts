import type { RequestContext } from '../../context.ts';
import {
  type ContentPart,
  type Conversation,
  type Part,
  type ReasoningPart,
  type ResultPart,
  type Tool,
  type ToolChoice,
  type Turn,
  textsOf,
} from '../../conversation/conversation.ts';
import { append, definedFields, type Json } from '../../json.ts';
import { effortOf } from '../chat/write-request.ts';
import { CHAT_DEFAULTS, type ExtraRules, writtenExtra } from '../extra.ts';

/** The least that the API takes: https://developers.openai.com/api/reference/resources/responses/methods/create */
const LEAST_LIMIT = 16;

/**
 * Writes a responses request that the provider does not store. Its reasoning comes sealed, so that it can come back.
 * Throws GwError 400 for what it can't express.
 */
export function writeResponsesRequest(conversation: Conversation, context: RequestContext): Json {
  const { maxTokens, turns, stops, serviceTier } = conversation;
  const { cannotExpress, paramOf } = context;
  if (stops) throw cannotExpress(paramOf('stops'));
  const count = turns.findIndex(({ role }) => role !== 'system');
  const first = turns.slice(0, count < 0 ? turns.length : count);
  return {
    model: conversation.model,
    ...definedFields({
      instructions:
        first.length > 0 ? first.map(({ parts }) => textsOf(parts).join('\n\n')).join('\n\n') : undefined,
    }),
    input: turns.slice(first.length).flatMap((turn) => itemsOf(turn)),
    store: false,
    include: ['reasoning.encrypted_content'],
    ...definedFields({
      max_output_tokens: maxTokens === undefined ? undefined : Math.max(maxTokens, LEAST_LIMIT),
      stream: conversation.isStream || undefined,
      temperature: conversation.temperature,
      top_p: conversation.topP,
      safety_identifier: conversation.user,
      service_tier: serviceTier === 'auto' ? undefined : serviceTier,
      reasoning: reasoningOf(conversation, context),
      text: textOptions(conversation),
    }),
    ...toolFields(conversation),
    ...(context.from === 'responses' ? conversation.extra : writtenExtra(conversation, EXTRA, context)),
  };
}

/** A client that shows thinking gets what the API tells of it. */
function reasoningOf({ reasoning }: Conversation, context: RequestContext): Json | undefined {
  const effort = effortOf(reasoning, context);
  const isShown = reasoning?.isAdaptive === true || reasoning?.budgetTokens !== undefined;
  if (effort === undefined && !isShown) return undefined;
  return definedFields({ effort, summary: isShown ? 'auto' : undefined });
}

function textOptions({ format, verbosity }: Conversation): Json | undefined {
  if (!format && verbosity === undefined) return undefined;
  if (!format || format.type === 'json_object') return definedFields({ format, verbosity });
  const { type, name = 'answer', description, schema, isStrict = true } = format;
  return definedFields({
    format: definedFields({ type, name, description, schema, strict: isStrict }),
    verbosity,
  });
}

const EXTRA: ExtraRules = {
  same: new Set(['metadata', 'prompt_cache_key', 'prompt_cache_retention']),
  leftOut: new Set(['seed', 'logit_bias', 'prediction', 'safeguards', 'diagnostics', 'store']),
  isDefault: CHAT_DEFAULTS,
};

/** An item for each call, result and piece of reasoning, and one for the rest of a turn between them. */
function itemsOf({ role, parts }: Turn): Json[] {
  const items: Json[] = [];
  const content: Json[] = [];
  const flush = () => {
    if (content.length > 0)
      items.push({
        type: 'message',
        role: role === 'system' ? 'developer' : role,
        content: content.splice(0),
      });
  };
  for (const part of parts) {
    const own = itemOf(part);
    if (own) {
      flush();
      append(items, own);
    } else append(content, contentOf(part as ContentPart, role));
  }
  flush();
  return items;
}

function itemOf(part: Part): Json[] | undefined {
  switch (part.type) {
    case 'reasoning':
      return sealedItems(part);
    case 'call':
      return [{ type: 'function_call', call_id: part.id, name: part.name, arguments: part.args }];
    case 'result':
      return [{ type: 'function_call_output', call_id: part.id, output: outputOf(part) }];
    default:
      return undefined;
  }
}

const sealedItems = ({ seals }: ReasoningPart): Json[] =>
  seals.flatMap(({ kind, values }) => (kind === 'encrypted' ? values : []));

function outputOf({ parts, isError }: ResultPart): unknown {
  const texts = textsOf(parts);
  const prefix = isError ? 'Error: ' : '';
  if (texts.length === parts.length) return prefix + texts.join('\n\n');
  return parts.flatMap((part) => contentOf(part, 'user'));
}

function contentOf(part: ContentPart, role: Turn['role']): Json[] {
  switch (part.type) {
    case 'text':
      if (part.text === '') return [];
      return [{ type: role === 'assistant' ? 'output_text' : 'input_text', text: part.text }];
    case 'image':
      return [{ type: 'input_image', image_url: part.url, detail: part.detail ?? 'auto' }];
    case 'file':
      return [{ type: 'input_file', filename: part.name ?? 'document.pdf', file_data: part.url }];
    case 'audio':
      return [{ type: 'input_audio', input_audio: part.audio }];
  }
}

function toolFields({ tools, choice, isSerial }: Conversation): Json {
  return {
    ...(tools.length > 0 && { tools: tools.map(toolOf) }),
    ...definedFields({
      tool_choice: choice && choiceOf(choice),
      parallel_tool_calls: isSerial ? false : undefined,
    }),
  };
}

/** Without `strict: false` the API would take a schema for one in which all properties are required. */
const toolOf = ({ name, description, parameters, isStrict }: Tool): Json => ({
  type: 'function',
  name,
  ...definedFields({ description }),
  parameters,
  strict: isStrict === true,
});

function choiceOf(choice: ToolChoice): unknown {
  if (typeof choice === 'object') return { type: 'function', ...choice };
  return choice === 'any' ? 'required' : choice;
}
