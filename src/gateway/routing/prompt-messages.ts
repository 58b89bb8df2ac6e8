import { isObject } from '../../json/object.ts';
import { type Member, readValue, scanArray } from '../../json/scan.ts';
import type { ScoredMessage } from '../../tiering/score.ts';
import type { RequestContext } from '../context/request-context.ts';

/** A request's conversation in one form for all APIs. Roles: `user`, `tool` (a result), `system`, and the model's. */
export interface PromptMessages {
  readonly length: number;
  /** Parses the message on each call: of a long conversation, routing reads only a few turns at both ends. */
  at(index: number): ScoredMessage;
}

/** Members with instructions outside the conversation. */
const INSTRUCTIONS = ['system', 'instructions'];

/** The turns of a request; undefined when it has no readable conversation. */
export function promptMessages({
  wire,
  request: { bytes, members },
}: RequestContext): PromptMessages | undefined {
  if (!wire.form) return undefined;
  const find = (keys: readonly string[]) => members.find(({ key }) => keys.includes(key));
  const conversation = find(['messages', 'input']);
  if (!conversation) return undefined;
  const instructions = find(INSTRUCTIONS);
  const items = itemsOf(bytes, conversation);
  const first = instructions ? 1 : 0;
  return {
    length: items.length + first,
    at(index) {
      if (instructions && index === 0) return { role: 'system', content: readValue(bytes, instructions) };
      const item = items[index - first];
      return asMessage(item && readValue(bytes, item));
    },
  };
}

const OPEN_BRACKET = 0x5b;

/** The byte ranges of the conversation's items. The responses API also accepts a string instead of a list. */
function itemsOf(bytes: Buffer, conversation: Member): { start: number; end: number }[] {
  if (bytes[conversation.start] !== OPEN_BRACKET) return [conversation];
  return scanArray(bytes, conversation.start);
}

function asMessage(item: unknown): ScoredMessage {
  if (typeof item === 'string') return { role: 'user', content: item };
  if (!isObject(item)) return { role: '' };
  const { role, content, type } = item;
  return { role: roleOf(type, role, content), content };
}

function roleOf(type: unknown, role: unknown, content: unknown): string {
  if (role === 'function' || (typeof type === 'string' && type.endsWith('_output'))) return 'tool';
  if (typeof role !== 'string') return 'assistant';
  return role === 'user' && Array.isArray(content) && content.some(isToolResult) ? 'tool' : role;
}

/** Anthropic's API puts tool results into user turns. */
function isToolResult(part: unknown): boolean {
  return isObject(part) && part.type === 'tool_result';
}
