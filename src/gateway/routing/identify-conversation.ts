import { OPEN_BRACKET, type Range } from '../../json/bytes.ts';
import { isObject } from '../../json/object.ts';
import { type Member, readValue, scanArray } from '../../json/scan.ts';
import { conversationKey } from '../../tiering/conversation-key.ts';
import type { ScoredMessage } from '../../tiering/score.ts';
import type { Conversation, RequestContext } from '../context/request-context.ts';
import type { RoutedTarget } from '../state/resolver.ts';

/** Whether routing depends on the conversation: targets of equal priority, or an API that returns encrypted reasoning. */
export function needsConversation({ wire }: RequestContext, targets: readonly RoutedTarget[]): boolean {
  if (targets.length > 1 && (wire.form === 'responses' || wire.form === 'messages')) return true;
  // The targets are sorted by priority.
  return targets.some(
    (target, i) => i > 0 && targets[i - 1]?.candidate.priority === target.candidate.priority,
  );
}

/** The conversation of a request; undefined when it can't be read. */
export function identifyConversation(context: RequestContext): Conversation | undefined {
  try {
    const clientKey = clientKeyOf(context);
    const turns = clientKey === undefined ? promptMessages(context) : undefined;
    if (clientKey === undefined && !turns) return undefined;
    const key = clientKey ?? (turns && startKey(context, turns));
    return {
      key: `${context.project.id} ${context.request.model} ${key}`,
      isNew: !!turns && !hasAnswer(turns),
    };
  } catch {
    // Invalid JSON inside the request is left for the provider to refuse.
    return undefined;
  }
}

/** The key by a session id or a cache key of the client. */
function clientKeyOf({ request, session: { sessionId } }: RequestContext): string | undefined {
  if (sessionId !== '') return conversationKey({ sessionId, messages: [] });
  const member = request.members.find(({ key }) => key === 'prompt_cache_key');
  const promptCacheKey = member && readValue(request.bytes, member);
  if (typeof promptCacheKey !== 'string' || promptCacheKey === '') return undefined;
  return conversationKey({ promptCacheKey, messages: [] });
}

/** The key by the beginning of the conversation, which all its turns share. */
function startKey({ request }: RequestContext, turns: PromptMessages): string {
  const tools = request.members.find(({ key }) => key === 'tools');
  return conversationKey({
    messages: startOf(turns),
    tools: tools && request.bytes.toString('utf8', tools.start, tools.end),
  });
}

/** Turns to read. Only a malicious request has more before the first answer. */
const MAX_TURNS_READ = 100;

/** The turns up to and including the first question. */
function startOf(turns: PromptMessages): ScoredMessage[] {
  const start: ScoredMessage[] = [];
  for (let i = 0; i < Math.min(turns.length, MAX_TURNS_READ); i++) {
    const turn = turns.at(i);
    start.push(turn);
    if (turn.role === 'user') break;
  }
  return start;
}

function hasAnswer(turns: PromptMessages): boolean {
  for (let i = 0; i < Math.min(turns.length, MAX_TURNS_READ); i++) {
    const { role } = turns.at(i);
    if (role === 'assistant' || role === 'tool') return true;
  }
  return false;
}

/** A request's conversation in one form for all APIs. Roles: `user`, `tool` (a result), `system`, and the model's. */
export interface PromptMessages {
  readonly length: number;
  /** Parses the message on each call: of a long conversation, routing reads only a few turns at both ends. */
  at(index: number): ScoredMessage;
}

/** Members with instructions outside the conversation. */
const INSTRUCTIONS = ['system', 'instructions', 'systemInstruction'];

/** The turns of a request; undefined when it has no readable conversation. */
export function promptMessages({
  wire,
  request: { bytes, members },
}: RequestContext): PromptMessages | undefined {
  if (!wire.form) return undefined;
  const find = (keys: readonly string[]) => members.find(({ key }) => keys.includes(key));
  const conversation = find(['messages', 'input', 'contents']);
  if (!conversation) return undefined;
  const instructions = find(INSTRUCTIONS);
  const items = itemsOf(bytes, conversation);
  const first = instructions ? 1 : 0;
  return {
    length: items.length + first,
    at(index) {
      if (instructions && index === 0) {
        const content = readValue(bytes, instructions);
        return { role: 'system', content: isObject(content) ? content.parts : content };
      }
      const item = items[index - first];
      return asMessage(item && readValue(bytes, item));
    },
  };
}

/** The byte ranges of the conversation's items. The responses API also accepts a string instead of a list. */
function itemsOf(bytes: Buffer, conversation: Member): Range[] {
  if (bytes[conversation.start] !== OPEN_BRACKET) return [conversation];
  return scanArray(bytes, conversation.start);
}

function asMessage(item: unknown): ScoredMessage {
  if (typeof item === 'string') return { role: 'user', content: item };
  if (!isObject(item)) return { role: '' };
  const { role = item.parts ? 'user' : undefined, content = item.parts, type } = item;
  return { role: roleOf(type, role, content), content };
}

function roleOf(type: unknown, role: unknown, content: unknown): string {
  if (role === 'function' || (typeof type === 'string' && type.endsWith('_output'))) return 'tool';
  if (role === 'model' || typeof role !== 'string') return 'assistant';
  return role === 'user' && Array.isArray(content) && content.some(isToolResult) ? 'tool' : role;
}

/** Anthropic's and Gemini's APIs put tool results into user turns. */
function isToolResult(part: unknown): boolean {
  return isObject(part) && (part.type === 'tool_result' || part.functionResponse !== undefined);
}
