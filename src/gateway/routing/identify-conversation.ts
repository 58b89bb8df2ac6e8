import { readValue } from '../../json/scan.ts';
import { conversationKey } from '../../tiering/conversation-key.ts';
import type { ScoredMessage } from '../../tiering/prompt.ts';
import type { Conversation, RequestContext } from '../context/request-context.ts';
import type { RoutedTarget } from '../state/resolve.ts';
import { type PromptMessages, promptMessages } from './messages.ts';

/** Headers by which clients tell their sessions apart. */
const SESSION_HEADERS = ['x-session-id', 'session_id', 'session-id', 'x-claude-code-session-id'];

/** Whether a request's conversation decides between targets: equals, or such as seal what they give. */
export function isDecided({ wire }: RequestContext, targets: readonly RoutedTarget[]): boolean {
  if (targets.length > 1 && (wire.form === 'responses' || wire.form === 'messages')) return true;
  // They are in the order of their priority.
  return targets.some(
    (target, i) => i > 0 && targets[i - 1]?.candidate.priority === target.candidate.priority,
  );
}

/** The conversation of a request; undefined where it has none that can be read. */
export function identifyConversation(context: RequestContext): Conversation | undefined {
  try {
    const told = toldKey(context);
    const turns = told === undefined ? promptMessages(context) : undefined;
    if (told === undefined && !turns) return undefined;
    const key = told ?? (turns && startKey(context, turns));
    return {
      key: `${context.project.id} ${context.request.model} ${key}`,
      isNew: !!turns && !isAnswered(turns),
    };
  } catch {
    // A text inside that is no JSON is the provider's to judge.
    return undefined;
  }
}

/** What the client says itself. */
function toldKey({ request, exchange }: RequestContext): string | undefined {
  for (const name of SESSION_HEADERS) {
    const sessionId = exchange.request.headers[name];
    if (typeof sessionId === 'string' && sessionId !== '')
      return conversationKey({ sessionId, messages: [] });
  }
  const member = request.members.find(({ key }) => key === 'prompt_cache_key');
  const promptCacheKey = member && readValue(request.bytes, member);
  if (typeof promptCacheKey !== 'string' || promptCacheKey === '') return undefined;
  return conversationKey({ promptCacheKey, messages: [] });
}

function startKey({ request }: RequestContext, turns: PromptMessages): string {
  const tools = request.members.find(({ key }) => key === 'tools');
  return conversationKey({
    messages: startOf(turns),
    tools: tools && request.bytes.toString('utf8', tools.start, tools.end),
  });
}

/** Of turns that no answer comes between, there are few unless somebody means harm. */
const MOST_LOOKED_AT = 100;

/** All that comes before the first question, and that. */
function startOf(turns: PromptMessages): ScoredMessage[] {
  const start: ScoredMessage[] = [];
  for (let i = 0; i < Math.min(turns.length, MOST_LOOKED_AT); i++) {
    const turn = turns.at(i);
    start.push(turn);
    if (turn.role === 'user') break;
  }
  return start;
}

function isAnswered(turns: PromptMessages): boolean {
  for (let i = 0; i < Math.min(turns.length, MOST_LOOKED_AT); i++) {
    const { role } = turns.at(i);
    if (role === 'assistant' || role === 'tool') return true;
  }
  return false;
}
