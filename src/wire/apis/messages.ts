import { isObject } from '../../json/object.ts';
import {
  endMessageAtLimit,
  hasMessageContent,
  inspectMessageEvents,
  isMessageOver,
  messageText,
} from '../answer/messages.ts';
import { usageMember } from '../answer/usage-member.ts';
import { checkList, type Fields } from '../request/fields.ts';
import { createParser, renameModel, writeLimit } from '../request/parse.ts';
import { promptReader } from '../request/prompt.ts';
import type { Wire } from '../wire.ts';

const LIMITS = ['max_tokens'];
/** More than any model thinks. */
const MAX_THINKING = 100_000_000;
/** Tools that take a limit of their own. */
const LIMITED = new Set(['web_search', 'web_fetch']);

/** Between calls of tools the model may think more than the limit says: then the budget for that is a limit of its own. */
function thinkingBeyond(fields: Fields): number | undefined {
  const budget = reasoningBudget(fields);
  const limit = fields.read('max_tokens');
  return typeof limit === 'number' && budget > limit ? budget : undefined;
}

function reasoningBudget(fields: Fields): number {
  const thinking = fields.read('thinking');
  const budget = isObject(thinking) ? thinking.budget_tokens : undefined;
  return typeof budget === 'number' && budget > 0 ? Math.min(Math.ceil(budget), MAX_THINKING) : 0;
}

/** Anthropic's messages: https://docs.anthropic.com/en/api/messages */
export const messagesWire: Wire = {
  endpoint: 'messages',
  family: 'anthropic',
  path: '/messages',
  parse: createParser({
    limits: LIMITS,
    reads: ['messages', 'thinking'],
    check: (fields, bytes) => checkList(bytes, fields, 'messages', 'the conversation to answer'),
    beyondLimit: thinkingBeyond,
    reasoningBudget,
    // Documents, and tools with which the provider reads in more by itself.
    nonText: {
      images: ['image'],
      context: [
        'document',
        'web_search_*',
        'web_fetch_*',
        'code_execution_*',
        'mcp_servers',
        'container',
        'compact_*',
        'advisor_*',
      ],
    },
    // What the provider keeps of the conversation, and that it is to read once more to shorten it.
    stored: ['thread', 'compaction'],
    tools: { limit: 'each', fields: { mcp_servers: 'mcp', plugins: 'plugins' } },
  }),
  renameModel,
  limitCalls: ({ serverTools }, calls) =>
    serverTools?.tools.flatMap((tool) =>
      tool.limitAt && tool.mostCalls === undefined && LIMITED.has(tool.name) ? [tool.limitAt(calls)] : [],
    ) ?? [],
  limitOutput: (request, tokens) => writeLimit(request, LIMITS, 'max_tokens', tokens),
  usageOf: usageMember,
  inspect: inspectMessageEvents,
  hasContent: hasMessageContent,
  isOver: isMessageOver,
  endAtLimit: endMessageAtLimit,
  textOf: messageText,
  form: 'messages',
  messagesOf: ({ members }) => members.find(({ key }) => key === 'messages'),
  promptOf: promptReader({
    read: new Set(['messages', 'system']),
    json: new Set(['tools', 'output_config', 'output_format']),
    stored: new Set(['mcp_servers', 'container', 'context_management', 'compaction', 'thread']),
  }),
};
