import { badRequest } from '../../../errors.ts';
import { parseObject } from '../../../wire/answer/events.ts';
import type { RequestContext } from '../../context.ts';
import {
  type ContentPart,
  type Conversation,
  isReasoning,
  isResult,
  type MediaPart,
  type Part,
  type ReasoningPart,
  type Tool,
  type ToolChoice,
} from '../../conversation/conversation.ts';
import { append, definedFields, isEmpty, type Json, lookUp, objectAt } from '../../json.ts';
import { CHAT_DEFAULTS, type ExtraRules, writtenExtra } from '../extra.ts';

/** Models that take a temperature and top_p: https://platform.claude.com/docs/en/about-claude/models/migration-guide */
const TAKES_BOTH = /claude-(?:3|(?:opus|sonnet)-4(?:-0|-2025\d{4})?$)/;

/** Writes a messages request. Throws GwError 400 for what it can't express. */
export function writeMessagesRequest(conversation: Conversation, context: RequestContext): Json {
  const { temperature, topP, verbosity } = conversation;
  const { cannotExpress, paramOf, leaveOut } = context;
  if (temperature !== undefined && temperature > 1)
    throw cannotExpress(paramOf('temperature'), 'it goes from 0 to 1');
  if (verbosity !== undefined) throw cannotExpress(paramOf('verbosity'));
  const isOverruled = temperature !== undefined && topP !== undefined && !TAKES_BOTH.test(context.model);
  if (isOverruled && topP !== 1) leaveOut('top_p');
  return {
    model: conversation.model,
    max_tokens: conversation.maxTokens ?? context.maxTokens,
    ...turnsOf(conversation, context),
    ...definedFields({
      stream: conversation.isStream || undefined,
      temperature,
      top_p: isOverruled ? undefined : topP,
      stop_sequences: stopsOf(conversation, context),
      tools: conversation.tools.length > 0 ? conversation.tools.map(toolOf) : undefined,
      tool_choice: choiceOf(conversation),
      service_tier: tierOf(conversation, context),
    }),
    ...thinkingAndFormat(conversation, context),
    ...metadataOf(conversation, context),
    ...(context.from === 'messages' ? conversation.extra : writtenExtra(conversation, EXTRA, context)),
  };
}

/** Anthropic refuses stop sequences of white space alone. */
function stopsOf({ stops }: Conversation, { leaveOut, paramOf }: RequestContext): string[] | undefined {
  const kept = stops?.filter((stop) => stop.trim() !== '');
  if (kept?.length !== stops?.length) leaveOut(`${paramOf('stops')} (white space)`);
  return kept?.length === 0 ? undefined : kept;
}

function tierOf(
  { serviceTier }: Conversation,
  { cannotExpress, paramOf }: RequestContext,
): string | undefined {
  if (serviceTier === undefined || serviceTier === 'auto') return undefined;
  if (serviceTier === 'default') return 'standard_only';
  throw cannotExpress(paramOf('serviceTier'), 'use auto or default');
}

const EXTRA: ExtraRules = {
  // As some clients of OpenAI's API send them.
  same: new Set(['top_k', 'thinking']),
  // Of OpenAI's cache; `metadataOf` has the other.
  skipped: new Set(['prompt_cache_key', 'prompt_cache_retention', 'metadata']),
  // Anthropic's own OpenAI-compatible endpoint ignores them too: best-effort determinism, token ids of a tokenizer that
  // its models don't use, and a latency hint.
  leftOut: new Set(['seed', 'logit_bias', 'prediction']),
  isDefault: { ...CHAT_DEFAULTS, store: (value) => value === false },
};

/** Anthropic accepts only a user id. OpenAI's other labels are for its own store. */
function metadataOf({ user, extra }: Conversation, { leaveOut }: RequestContext): Json {
  const labels = isEmpty(extra.metadata) ? {} : objectAt(extra.metadata, 'metadata');
  if (Object.keys(labels).some((name) => name !== 'user_id')) leaveOut('metadata');
  const user_id = user ?? labels.user_id;
  return isEmpty(user_id) ? {} : { metadata: { user_id } };
}

/**
 * System messages move to the front, as in Anthropic's own OpenAI-compatible endpoint. Turns of one role become one, as
 * Anthropic requires for the results of parallel calls.
 */
function turnsOf({ turns }: Conversation, context: RequestContext): Json {
  const system: Json[] = [];
  const messages: { role: string; content: Json[] }[] = [];
  for (const { role, parts } of turns) {
    const blocks = parts.flatMap((part) => blocksOf(part, context));
    const last = messages.at(-1);
    if (role === 'system') append(system, blocks);
    else if (last?.role === role) append(last.content, blocks);
    else if (blocks.length > 0) messages.push({ role, content: blocks });
  }
  return { ...(system.length > 0 ? { system } : {}), messages };
}

function blocksOf(part: Part, context: RequestContext): Json[] {
  switch (part.type) {
    case 'reasoning':
      return signedBlocks(part);
    case 'call': {
      const input = parseObject(part.args) ?? { arguments: part.args };
      return [
        definedFields({ type: 'tool_use', id: part.id, name: part.name, input, cache_control: part.mark }),
      ];
    }
    case 'result': {
      const [only] = part.parts;
      const isPlain = part.parts.length === 1 && only?.type === 'text' && only.mark === undefined;
      const content = isPlain ? only.text : part.parts.flatMap((each) => contentBlocks(each, context));
      return [
        definedFields({
          type: 'tool_result',
          tool_use_id: part.id,
          content,
          is_error: part.isError || undefined,
          cache_control: part.mark,
        }),
      ];
    }
    default:
      return contentBlocks(part, context);
  }
}

/** Anthropic accepts no reasoning without its signature, and drops reasoning of earlier turns anyway. */
const signedBlocks = ({ seals }: ReasoningPart): Json[] =>
  seals.flatMap(({ kind, values }) => (kind === 'thinking' ? values : []));

/** Anthropic rejects empty texts. */
function contentBlocks(part: ContentPart, context: RequestContext): Json[] {
  switch (part.type) {
    case 'text':
      return part.text === ''
        ? []
        : [definedFields({ type: 'text', text: part.text, cache_control: part.mark })];
    case 'image':
      if (part.detail === 'low')
        throw context.cannotExpress(`${part.at}.detail`, 'all images are read in full');
      return [definedFields({ type: 'image', source: sourceOf(part), cache_control: part.mark })];
    case 'file':
      return [
        definedFields({
          type: 'document',
          source: sourceOf(part),
          title: part.name,
          cache_control: part.mark,
        }),
      ];
    case 'audio':
      throw context.cannotExpress(`${part.at}.type`, 'there is no content of type input_audio');
  }
}

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.-]+)*;base64,/;
/** Names of types that clients use, and Anthropic refuses. */
const MEDIA_TYPES: Readonly<Record<string, string>> = { 'image/jpg': 'image/jpeg' };

function sourceOf({ url, at, type }: MediaPart): Json {
  const media = DATA_URL.exec(url);
  if (media) {
    const [{ length }, named = ''] = media;
    return { type: 'base64', media_type: lookUp(MEDIA_TYPES, named) ?? named, data: url.slice(length) };
  }
  if (/^https?:\/\//.test(url)) return { type: 'url', url };
  const param = `${at}.${type === 'image' ? 'url' : 'file_data'}`;
  throw badRequest(`"${param}" must be an http(s) or a base64 data URL`, param, 'invalid_value');
}

function toolOf({ name, description, parameters, isStrict, mark }: Tool): Json {
  return definedFields({
    name,
    description,
    input_schema: parameters,
    strict: isStrict || undefined,
    cache_control: mark,
  });
}

/** Anthropic's choice says too whether there may be several calls. */
function choiceOf({ choice, isSerial }: Conversation): Json | undefined {
  const type = choice && writtenChoice(choice);
  if (!isSerial || choice === 'none') return type;
  return { ...(type ?? { type: 'auto' }), disable_parallel_tool_use: true };
}

const writtenChoice = (choice: ToolChoice): Json =>
  typeof choice === 'object' ? { type: 'tool', ...choice } : { type: choice };

/** Models with a thinking budget in tokens. Later models use adaptive thinking with an effort level. */
const BUDGETED = /claude-(3|(opus|sonnet|haiku)-4(-[0-5])?(-\d{8}|$|@))/;
const BUDGETS: Readonly<Record<string, number>> = { minimal: 1024, low: 2048, medium: 8192, high: 16_384 };
const EFFORTS: Readonly<Record<string, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'max',
};
/** The least budget: https://platform.claude.com/docs/en/build-with-claude/extended-thinking */
const LEAST_BUDGET = 1024;

function thinkingAndFormat(conversation: Conversation, context: RequestContext): Json {
  const format = formatOf(conversation, context);
  const effort = conversation.reasoning?.effort;
  const withFormat = format ? { output_config: { format } } : {};
  if (effort === undefined || effort === 'none') return withFormat;
  if (excludesThinking(conversation)) {
    context.leaveOut(context.paramOf('reasoning'));
    return withFormat;
  }
  const isBudgeted = BUDGETED.test(context.model);
  const level = isBudgeted ? lookUp(BUDGETS, effort) : lookUp(EFFORTS, effort);
  if (level === undefined)
    throw context.cannotExpress(context.paramOf('reasoning'), `there is no effort ${effort}`);
  if (!isBudgeted)
    return { thinking: { type: 'adaptive' }, output_config: definedFields({ effort: level, format }) };
  const budget = Math.min(Number(level), (conversation.maxTokens ?? context.maxTokens) - 1);
  if (budget < LEAST_BUDGET) {
    context.leaveOut(context.paramOf('reasoning'));
    return withFormat;
  }
  return { thinking: { type: 'enabled', budget_tokens: budget }, ...withFormat };
}

/**
 * Whether a request has what Anthropic refuses beside thinking: a temperature, a forced tool, or a turn with calls whose
 * reasoning is lost (https://platform.claude.com/docs/en/build-with-claude/extended-thinking).
 */
function excludesThinking({ temperature, topP, choice, turns, extra }: Conversation): boolean {
  if (temperature !== undefined && temperature !== 1) return true;
  if ((topP !== undefined && topP < 0.95) || extra.top_k !== undefined) return true;
  if (choice === 'any' || typeof choice === 'object') return true;
  const at = turns.findLastIndex(({ role }) => role === 'assistant');
  const isInLoop = turns.slice(at + 1).some(({ parts }) => parts.some(isResult));
  const isSigned = turns[at]?.parts.some(
    (part) => isReasoning(part) && part.seals.some(({ kind }) => kind === 'thinking'),
  );
  return isInLoop && !isSigned;
}

function formatOf({ format }: Conversation, { cannotExpress, paramOf }: RequestContext): Json | undefined {
  if (!format) return undefined;
  if (format.type !== 'json_schema') throw cannotExpress(paramOf('format'), 'use a json_schema');
  return { type: format.type, schema: format.schema };
}
