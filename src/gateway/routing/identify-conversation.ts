import { readValue } from '../../json/scan.ts';
import { conversationKey } from '../../tiering/conversation-key.ts';
import type { ScoredMessage } from '../../tiering/score.ts';
import type { Conversation, RequestContext } from '../context/request-context.ts';
import type { RoutedTarget } from '../state/resolver.ts';
import { type PromptMessages, promptMessages } from './prompt-messages.ts';

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

/** How many turns are read. Only a malicious request has more before the first answer. */
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
