import { readValue } from '../../json/scan.ts';
import { conversationKey } from '../../tiering/conversation-key.ts';
import type { ScoredMessage } from '../../tiering/prompt-text.ts';
import type { Conversation, Job } from '../context/request-context.ts';
import type { RoutedTarget } from '../state/resolve.ts';
import { type Turns, turnsOf } from './messages.ts';

/** Headers by which clients tell their sessions apart. */
const SESSION_HEADERS = ['x-session-id', 'session_id', 'session-id', 'x-claude-code-session-id'];

/** Whether a request's conversation decides between targets: equals, or such as seal what they give. */
export function isDecided({ wire }: Job, targets: readonly RoutedTarget[]): boolean {
  if (targets.length > 1 && (wire.form === 'responses' || wire.form === 'messages')) return true;
  // They are in the order of their priority.
  return targets.some(
    (target, i) => i > 0 && targets[i - 1]?.candidate.priority === target.candidate.priority,
  );
}

/** The conversation of a request; undefined where it has none that can be read. */
export function conversationOf(job: Job): Conversation | undefined {
  try {
    const told = toldKey(job);
    const turns = told === undefined ? turnsOf(job) : undefined;
    if (told === undefined && !turns) return undefined;
    const key = told ?? (turns && startKey(job, turns));
    return { key: `${job.project.id} ${job.asked.model} ${key}`, isNew: !!turns && !isAnswered(turns) };
  } catch {
    // A text inside that is no JSON is the provider's to judge.
    return undefined;
  }
}

/** What the client says itself. */
function toldKey({ asked, exchange }: Job): string | undefined {
  for (const name of SESSION_HEADERS) {
    const sessionId = exchange.request.headers[name];
    if (typeof sessionId === 'string' && sessionId !== '')
      return conversationKey({ sessionId, messages: [] });
  }
  const member = asked.members.find(({ key }) => key === 'prompt_cache_key');
  const promptCacheKey = member && readValue(asked.bytes, member);
  if (typeof promptCacheKey !== 'string' || promptCacheKey === '') return undefined;
  return conversationKey({ promptCacheKey, messages: [] });
}

function startKey({ asked }: Job, turns: Turns): string {
  const tools = asked.members.find(({ key }) => key === 'tools');
  return conversationKey({
    messages: startOf(turns),
    tools: tools && asked.bytes.toString('utf8', tools.start, tools.end),
  });
}

/** Of turns that no answer comes between, there are few unless somebody means harm. */
const MOST_LOOKED_AT = 100;

/** All that comes before the first question, and that. */
function startOf(turns: Turns): ScoredMessage[] {
  const start: ScoredMessage[] = [];
  for (let i = 0; i < Math.min(turns.length, MOST_LOOKED_AT); i++) {
    const turn = turns.at(i);
    start.push(turn);
    if (turn.role === 'user') break;
  }
  return start;
}

function isAnswered(turns: Turns): boolean {
  for (let i = 0; i < Math.min(turns.length, MOST_LOOKED_AT); i++) {
    const { role } = turns.at(i);
    if (role === 'assistant' || role === 'tool') return true;
  }
  return false;
}
