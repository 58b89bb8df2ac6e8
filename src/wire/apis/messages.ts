import {
  endMessageAtLimit,
  hasMessageContent,
  inspectMessageEvents,
  isMessageOver,
  messageText,
  messageUsage,
} from '../answer/messages.ts';
import { checkList } from '../request/fields.ts';
import { choicesPerPrompt } from '../request/output-limits.ts';
import { createParser, renameModel, writeLimit } from '../request/parse.ts';
import { promptReader } from '../request/prompt.ts';
import { findUnseen, splitPrompt } from '../request/prompt-blocks.ts';
import { reasoningBeyondLimit, reasoningBudget } from '../request/reasoning-budget.ts';
import type { Wire } from '../wire.ts';
import { MESSAGE_BLOCKS } from './messages-blocks.ts';

const LIMITS = ['max_tokens'];
/** The tools that accept `max_uses`. */
const TOOLS_WITH_LIMIT = new Set(['web_search', 'web_fetch']);

/** Anthropic's messages: https://docs.anthropic.com/en/api/messages */
export const messagesWire: Wire = {
  endpoint: 'messages',
  family: 'anthropic',
  path: '/messages',
  ...createParser({
    limits: LIMITS,
    // Hosts that bridge to chats take their fields as well.
    fields: ['messages', 'thinking', 'reasoning', 'n', 'best_of'],
    check: (fields, bytes) => checkList(bytes, fields, 'messages', 'send the conversation in it'),
    // With interleaved thinking the budget may exceed `max_tokens`. Then it counts in addition to it.
    beyondLimit: (fields) => reasoningBeyondLimit(fields, LIMITS) || undefined,
    hasThinking: true,
    reasoningBudget,
    choices: choicesPerPrompt,
    // Documents, and tools that make the provider add input.
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
    // A conversation that the provider stores, and its compaction, for which the model reads it once more.
    stored: ['thread', 'compaction'],
    tools: { limit: 'each', fields: { mcp_servers: 'mcp', plugins: 'plugins' } },
  }),
  renameModel,
  limitCalls: ({ serverTools }, calls) =>
    serverTools?.tools.flatMap((tool) =>
      tool.limitEdit && tool.maxCalls === undefined && TOOLS_WITH_LIMIT.has(tool.name)
        ? [tool.limitEdit(calls)]
        : [],
    ) ?? [],
  limitOutput: (request, tokens) => writeLimit(request, LIMITS, 'max_tokens', tokens),
  usageOf: messageUsage,
  inspect: inspectMessageEvents,
  hasContent: hasMessageContent,
  isOver: isMessageOver,
  endAtLimit: endMessageAtLimit,
  textOf: messageText,
  form: 'messages',
  messagesOf: ({ members }) => members.find(({ key }) => key === 'messages'),
  unseenIn: (request) => findUnseen(request, MESSAGE_BLOCKS),
  blocksOf: (request, earlier) => splitPrompt(request, MESSAGE_BLOCKS, earlier),
  promptOf: promptReader({
    read: new Set(['messages', 'system']),
    json: new Set(['tools', 'output_config', 'output_format']),
    stored: new Set(['mcp_servers', 'container', 'context_management', 'compaction', 'thread']),
  }),
};
