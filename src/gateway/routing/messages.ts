import { isObject } from '../../json/object.ts';
import { type Member, readValue, scanArray } from '../../json/scan.ts';
import type { ScoredMessage } from '../../tiering/prompt.ts';
import type { RequestContext } from '../context/request-context.ts';

/** A request's conversation in one form for all wires; roles are `user`, `tool` (a result), `system` and the model's. */
export interface PromptMessages {
  readonly length: number;
  /** Read when it is asked for: of a long conversation routing looks at a few turns at both ends. */
  at(index: number): ScoredMessage;
}

/** Where each API has the instructions that are no turn. */
const INSTRUCTIONS = ['system', 'instructions'];

/** The turns of a request; undefined where it has no conversation that can be read. */
export function promptMessages({
  wire,
  request: { bytes, members },
}: RequestContext): PromptMessages | undefined {
  if (!wire.form) return undefined;
  const find = (keys: readonly string[]) => members.find(({ key }) => keys.includes(key));
  const conversation = find(['messages', 'input']);
  if (!conversation) return undefined;
  const instructions = find(INSTRUCTIONS);
  const items = placesOf(bytes, conversation);
  const first = instructions ? 1 : 0;
  return {
    length: items.length + first,
    at(index) {
      if (instructions && index === 0) return { role: 'system', content: readValue(bytes, instructions) };
      const place = items[index - first];
      return asMessage(place && readValue(bytes, place));
    },
  };
}

const OPEN_BRACKET = 0x5b;

/** The responses API takes a text in place of a list. */
function placesOf(bytes: Buffer, conversation: Member): { start: number; end: number }[] {
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

/** Anthropic's API has the results of tools in turns of the user. */
function isToolResult(part: unknown): boolean {
  return isObject(part) && part.type === 'tool_result';
}
