import type { RequestContext } from '../../context.ts';
import {
  type ContentPart,
  type Conversation,
  isCall,
  isReasoning,
  isResult,
  type MediaPart,
  type Part,
  type Reasoning,
  type ResultPart,
  type Tool,
  type ToolChoice,
  type Turn,
  textsOf,
} from '../../conversation/conversation.ts';
import { definedFields, isEmpty, type Json } from '../../json.ts';
import { hashOf } from '../../repair/ids.ts';
import { type ExtraRules, writtenExtra } from '../extra.ts';
import { carriedBack, withCarried } from './carried.ts';

/** Writes a chat completion request. Throws GwError 400 for what it can't express. */
export function writeChatRequest(conversation: Conversation, context: RequestContext): Json {
  const { maxTokens, isStream, serviceTier, verbosity } = conversation;
  const { outputLimit } = context;
  return {
    model: conversation.model,
    messages: messagesOf(conversation.turns, context),
    ...definedFields({
      [outputLimit]: maxTokens,
      stream: isStream || undefined,
      stream_options: isStream ? { include_usage: true } : undefined,
      temperature: conversation.temperature,
      top_p: conversation.topP,
      stop: stopsOf(conversation, context),
      verbosity,
      user: conversation.user === undefined ? undefined : shortId(conversation.user),
      service_tier: serviceTier === 'auto' ? undefined : serviceTier,
      reasoning_effort: effortOf(conversation.reasoning, context),
      response_format: formatOf(conversation),
    }),
    ...toolFields(conversation, context),
    // Fields of OpenAI's APIs may be a provider's extensions, and pass. Anthropic's have no meaning here.
    ...(context.from === 'messages' ? writtenExtra(conversation, EXTRA, context) : conversation.extra),
  };
}

/** https://platform.openai.com/docs/api-reference/chat/create, `stop` */
const MAX_STOPS = 4;

function stopsOf(
  { stops }: Conversation,
  { dialect, leaveOut, paramOf }: RequestContext,
): string[] | undefined {
  const { maxStops = MAX_STOPS } = dialect;
  if (stops && stops.length > maxStops) leaveOut(`${paramOf('stops')} (beyond ${maxStops})`);
  return stops?.slice(0, maxStops);
}

/** OpenAI accepts 64 characters. A longer id, such as Claude Code's, is replaced by its hash. */
const shortId = (id: string): string => (id.length <= 64 ? id : hashOf(id));

/** Fields for Anthropic's own use: the rules of Claude Code's auto mode, and diagnostics of cache misses. */
const EXTRA: ExtraRules = { leftOut: new Set(['safeguards', 'diagnostics']) };

const messagesOf = (turns: readonly Turn[], context: RequestContext): Json[] =>
  withOneSystemFirst(turns.flatMap((turn) => messagesOfTurn(turn, context)));

function messagesOfTurn({ role, parts }: Turn, context: RequestContext): Json[] {
  if (role === 'user') return userMessages(parts, context);
  if (role === 'assistant') return assistantMessages(parts, context);
  return parts.length === 0 ? [] : [{ role, content: textsOf(parts).join('\n\n') }];
}

/** Many models accept only one system message, as the first. */
function withOneSystemFirst(messages: readonly Json[]): Json[] {
  const count = messages.findIndex(({ role }) => role !== 'system');
  const first = messages.slice(0, count < 0 ? messages.length : count);
  if (first.length < 2) return [...messages];
  const content = first.map(({ content: text }) => text).join('\n\n');
  return [{ role: 'system', content }, ...messages.slice(first.length)];
}

/** Tool results become messages directly after the calls, followed by the user's other content. */
function userMessages(parts: readonly Part[], context: RequestContext): Json[] {
  if (!parts.some(isResult))
    return parts.length === 0 ? [] : [{ role: 'user', content: contentOf(parts as ContentPart[], context) }];
  const results = parts.filter(isResult).map((part) => toolMessage(part));
  const images = results.flatMap(({ others }) => others);
  const content = [...images, ...(parts.filter((part) => !isResult(part)) as ContentPart[])];
  const messages = results.map(({ message }) => message);
  return content.length === 0
    ? messages
    : [...messages, { role: 'user', content: contentOf(content, context) }];
}

/** A tool result. Tool messages can't contain images, so these are returned for a user message. */
function toolMessage({ id, parts, isError }: ResultPart): { message: Json; others: ContentPart[] } {
  const others = parts.filter(({ type }) => type !== 'text');
  const texts = textsOf(parts);
  const text = texts.length === 0 && others.length > 0 ? 'The result follows.' : texts.join('\n\n');
  return { message: { role: 'tool', tool_call_id: id, content: isError ? `Error: ${text}` : text }, others };
}

/** A single text becomes a string, which other makers' models handle best. */
function contentOf(parts: readonly ContentPart[], context: RequestContext): string | Json[] {
  const [only] = parts;
  const content = parts.map((part) => contentPart(part, context));
  return parts.length === 1 && only?.type === 'text' && !('cache_control' in (content[0] ?? {}))
    ? only.text
    : content;
}

function contentPart(part: ContentPart, { dialect }: RequestContext): Json {
  const mark = part.type !== 'audio' && dialect.cacheMarks ? definedFields({ cache_control: part.mark }) : {};
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text, ...mark };
    case 'image':
      return { type: 'image_url', image_url: definedFields({ url: part.url, detail: part.detail }), ...mark };
    case 'file':
      return { ...filePart(part), ...mark };
    case 'audio':
      return { type: 'input_audio', input_audio: part.audio };
  }
}

function filePart({ url, name }: MediaPart): Json {
  return { type: 'file', file: { filename: name ?? 'document.pdf', file_data: url } };
}

/** An assistant's turn. An empty one is dropped: providers reject messages without text and calls. */
function assistantMessages(parts: readonly Part[], context: RequestContext): Json[] {
  const texts = textsOf(parts).filter((text) => text !== '');
  const calls = parts.filter(isCall);
  if (texts.length === 0 && calls.length === 0) return [];
  const reasoning = parts.filter(isReasoning);
  return [
    {
      role: 'assistant',
      content: texts.length > 0 ? texts.join('\n\n') : null,
      ...carriedBack(reasoning, calls.length > 0, context.dialect),
      ...(calls.length > 0 && {
        tool_calls: withCarried(
          calls.map(({ id, name, args }) => ({ id, type: 'function', function: { name, arguments: args } })),
          reasoning,
          context,
        ),
      }),
    },
  ];
}

function toolFields({ tools, choice, isSerial }: Conversation, context: RequestContext): Json {
  return {
    ...(tools.length > 0 && { tools: tools.map((tool) => toolOf(tool, context)) }),
    ...definedFields({
      tool_choice: choice && (context.dialect.onlyAutoTools ? undefined : choiceOf(choice)),
      // True is the default, and some providers lack the field.
      parallel_tool_calls: isSerial ? false : undefined,
    }),
  };
}

function toolOf({ name, description, parameters, isStrict, mark }: Tool, { dialect }: RequestContext): Json {
  return {
    type: 'function',
    function: definedFields({
      name,
      description,
      parameters,
      strict: isStrict && dialect.strictTools !== false ? true : undefined,
    }),
    ...(dialect.cacheMarks && !isEmpty(mark) ? { cache_control: mark } : {}),
  };
}

function choiceOf(choice: ToolChoice): unknown {
  if (typeof choice === 'object') return { type: 'function', function: choice };
  return choice === 'any' ? 'required' : choice;
}

/** Models that support an effort level. Others get none, because some of them reject it. */
const SUPPORTS_EFFORT = /(^|\/)(gpt-([5-9]|oss)|o[1-9](-|$)|codex|grok-|gemini-(2\.5|[3-9]))/;
const SUPPORTS_XHIGH = /(^|\/)(gpt-5\.[2-9]|gpt-[6-9]|gpt-5\.1-codex-max)/;

/** The effort as OpenAI calls it. A client of OpenAI's APIs names it for the model itself. */
export function effortOf(
  reasoning: Reasoning | undefined,
  { from, model }: RequestContext,
): string | undefined {
  if (from === 'chat/completions' || from === 'responses') return reasoning?.effort;
  const requested = SUPPORTS_EFFORT.test(model) && reasoning ? wantedEffort(reasoning) : undefined;
  const isTooHigh = (requested === 'max' || requested === 'xhigh') && !SUPPORTS_XHIGH.test(model);
  return isTooHigh ? 'high' : requested === 'max' ? 'xhigh' : requested;
}

/** With adaptive thinking the model keeps its default effort. */
function wantedEffort({ effort, budgetTokens: budget }: Reasoning): string | undefined {
  if (effort !== undefined || budget === undefined) return effort;
  return budget <= 2048 ? 'low' : budget <= 8192 ? 'medium' : 'high';
}

function formatOf({ format }: Conversation): Json | undefined {
  if (!format) return undefined;
  const { type, name = 'answer', description, schema, isStrict = true } = format;
  if (type === 'json_object') return { type };
  return { type, json_schema: definedFields({ name, description, strict: isStrict, schema }) };
}
