import { isObject } from '../../json/object.ts';
import { statesOutput } from '../../pricing/usage-payload.ts';
import { describeError, eventsIn, namedEvents, parseObject, valuesIn } from '../answer/events.ts';
import type { InspectedEvents, LimitEnding } from '../answer/inspected-events.ts';
import { addUsage, usageMember } from '../answer/usage.ts';
import { checkList } from '../request/fields.ts';
import { choicesPerPrompt, reasoningBeyondLimit, reasoningBudget } from '../request/output-limits.ts';
import { createParser, renameModel, writeLimit } from '../request/parse.ts';
import { collectStrings, promptReader } from '../request/prompt.ts';
import { findUnseen, splitPrompt } from '../request/prompt-blocks.ts';
import type { Wire } from '../wire.ts';
import { MESSAGE_BLOCKS } from './messages-blocks.ts';

const LIMITS = ['max_tokens'];
/** Tools that accept `max_uses`. */
const TOOLS_WITH_LIMIT = new Set(['web_search', 'web_fetch']);

/** Anthropic's messages: https://docs.anthropic.com/en/api/messages */
export const messagesWire: Wire = {
  endpoint: 'messages',
  family: 'anthropic',
  path: '/messages',
  ...createParser({
    limits: LIMITS,
    // Hosts that bridge to chat completions accept their fields too.
    fields: ['messages', 'thinking', 'reasoning', 'n', 'best_of'],
    check: (fields, bytes) => checkList(bytes, fields, 'messages', 'send the conversation in it'),
    // With interleaved thinking the budget may exceed `max_tokens` and counts in addition to it.
    beyondLimit: (fields) => reasoningBeyondLimit(fields, LIMITS) || undefined,
    hasThinking: true,
    reasoningBudget,
    choices: choicesPerPrompt,
    // Documents, and tools that let the provider add input.
    nonText: {
      images: ['image'],
      // biome-ignore format: they fit a few lines
      context: [
        'document', 'web_search_*', 'web_fetch_*', 'code_execution_*', 'mcp_servers', 'container', 'compact_*',
        'advisor_*',
      ],
    },
    // A conversation stored by the provider, and its compaction, for which the model reads it once more.
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

/** Matches the few events that need inspection. Content deltas never match. */
const MARKS = /"message|"error"|_tool_result"/;

/** Finds usage, errors and the closing event. A buffer without any of these is forwarded unparsed. */
export function inspectMessageEvents(events: Buffer): InspectedEvents {
  const result: InspectedEvents = { pass: events };
  if (!MARKS.test(events.toString('latin1'))) return result;
  for (const { start, data } of eventsIn(events)) {
    const value = parseObject(data);
    const usage = isObject(value?.message) ? value.message.usage : value?.usage;
    if (isObject(usage)) {
      withContainer(usage, isObject(value?.delta) ? value.delta.container : undefined);
      result.usage = addUsage(result.usage, usage, result.usageIs === 'opening');
      // The first event's output count is provisional. A later event without an output count doesn't replace it.
      result.usageIs = value?.type === 'message_start' || !statesOutput(usage) ? 'opening' : undefined;
    }
    if (isToolResult(value?.content_block)) result.toolResults = (result.toolResults ?? 0) + 1;
    if (value?.type === 'error') result.error = describeError(value.error);
    if (value?.type !== 'message_stop' || result.closing) continue;
    result.pass = events.subarray(0, start);
    result.closing = events.subarray(start);
  }
  return result;
}

const isToolResult = (block: unknown): boolean =>
  isObject(block) && typeof block.type === 'string' && block.type.endsWith('_tool_result');

const CONTAINER = Buffer.from('"container"');

/** The usage of a complete message, with the container that its tools ran in. */
function messageUsage(answer: Buffer): unknown {
  const usage = usageMember(answer);
  if (isObject(usage) && answer.includes(CONTAINER))
    withContainer(usage, parseObject(answer.toString('utf8'))?.container);
  return usage;
}

function withContainer(usage: Record<string, unknown>, container: unknown): void {
  if (isObject(container) && typeof container.id === 'string') usage.containers = [container.id];
}

/** Whether there is a content delta or a stop reason. */
function hasMessageContent(events: Buffer): boolean {
  for (const { type, delta } of valuesIn(events)) {
    if (type === 'content_block_delta' || hasStopReason(type, delta)) return true;
  }
  return false;
}

function isMessageOver(events: Buffer): boolean {
  for (const { type, delta } of valuesIn(events)) if (hasStopReason(type, delta)) return true;
  return false;
}

function hasStopReason(type: unknown, delta: unknown): boolean {
  return type === 'message_delta' && isObject(delta) && typeof delta.stop_reason === 'string';
}

/** The generated text: text, thinking and tool inputs. */
function messageText(answer: Buffer, stream: boolean): string[] {
  const texts: string[] = [];
  if (!stream) {
    collectStrings(parseObject(answer.toString('utf8'))?.content, texts);
    return texts;
  }
  for (const { type, delta, content_block } of valuesIn(answer)) {
    if (type === 'content_block_delta') collectStrings(delta, texts);
    // The tool's name. Some hosts send the whole block here.
    if (type === 'content_block_start') collectStrings(content_block, texts);
  }
  return [texts.join('')];
}

/** Ends a message at the output limit: closes open blocks, then the message. */
function endMessageAtLimit(): LimitEnding {
  const open = new Set<unknown>();
  return {
    take(events) {
      for (const { type, index } of valuesIn(events)) {
        if (type === 'content_block_start') open.add(index);
        if (type === 'content_block_stop') open.delete(index);
      }
    },
    end(usage) {
      const blocks = [...open].map((index) => ({ type: 'content_block_stop', index }));
      const delta = { stop_reason: 'max_tokens', stop_sequence: null };
      const message = { type: 'message_delta', delta, usage: { output_tokens: usage?.outputTokens ?? 0 } };
      return namedEvents([...blocks, message, { type: 'message_stop' }]);
    },
  };
}
