import { type Conversation, isCall } from '../conversation/conversation.ts';
import { hashOf } from './ids.ts';

/**
 * What all APIs take: https://platform.openai.com/docs/api-reference/chat/create, `tools.function.name`, and Google's
 * function declarations, which begin with a letter or an underscore.
 */
const NAME = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;
const MAX_LENGTH = 64;

/** A tool's name that all APIs take. A long one ends in its hash, and so does one with other characters. */
function plainName(name: string): string {
  if (NAME.test(name)) return name;
  const hash = hashOf(name).slice(0, 8);
  const plain = name.replace(/[^a-zA-Z0-9_-]/g, '_').replace(/^[^a-zA-Z_]/, '_$&');
  return `${plain.slice(0, MAX_LENGTH - 9)}_${hash}`;
}

/** The conversation with names that the provider takes, and the client's names by those that were changed. */
export function withNames(conversation: Conversation): {
  conversation: Conversation;
  names: [string, string][];
} {
  const { tools, choice, turns } = conversation;
  const names = tools
    .map(({ name }): [string, string] => [plainName(name), name])
    .filter(([plain, name]) => plain !== name);
  const isCalled = turns.some(({ parts }) => parts.some((part) => isCall(part) && !NAME.test(part.name)));
  if (names.length === 0 && !isCalled) return { conversation, names };
  return {
    names,
    conversation: {
      ...conversation,
      tools: tools.map((tool) => ({ ...tool, name: plainName(tool.name) })),
      choice: typeof choice === 'object' ? { name: plainName(choice.name) } : choice,
      turns: turns.map((turn) => ({
        ...turn,
        parts: turn.parts.map((part) => (isCall(part) ? { ...part, name: plainName(part.name) } : part)),
      })),
    },
  };
}
