import { isObject } from '../../json/object.ts';
import { statesOutput } from '../../pricing/usage-payload.ts';
import { collectStrings } from '../request/prompt.ts';
import { addUsage } from './add-usage.ts';
import { describeError, eventsIn, namedEvents, parseObject, valuesIn } from './events.ts';
import type { InspectedEvents, LimitEnding } from './inspected-events.ts';
import { usageMember } from './usage-member.ts';

/** Matches the few events to inspect. Content deltas have neither. */
const MARKS = /"message|"error"|_tool_result"/;

/** Finds usage, errors and the closing event. A buffer without any of these is passed on unparsed, by reference. */
export function inspectMessageEvents(events: Buffer): InspectedEvents {
  const result: InspectedEvents = { pass: events };
  if (!MARKS.test(events.toString('latin1'))) return result;
  for (const { start, data } of eventsIn(events)) {
    const value = parseObject(data);
    const usage = isObject(value?.message) ? value.message.usage : value?.usage;
    if (isObject(usage)) {
      withContainer(usage, isObject(value?.delta) ? value.delta.container : undefined);
      result.usage = addUsage(result.usage, usage, result.usageIs === 'opening');
      // The first event counts the output of its time. A later one that counts none leaves it at that.
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

/** The usage of a whole message, with the container that its tools ran in. */
export function messageUsage(answer: Buffer): unknown {
  const usage = usageMember(answer);
  if (isObject(usage) && answer.includes(CONTAINER))
    withContainer(usage, parseObject(answer.toString('utf8'))?.container);
  return usage;
}

function withContainer(usage: Record<string, unknown>, container: unknown): void {
  if (isObject(container) && typeof container.id === 'string') usage.containers = [container.id];
}

/** Whether there is a content delta or a stop reason. */
export function hasMessageContent(events: Buffer): boolean {
  for (const { type, delta } of valuesIn(events)) {
    if (type === 'content_block_delta' || hasStopReason(type, delta)) return true;
  }
  return false;
}

/** Whether there is a stop reason. */
export function isMessageOver(events: Buffer): boolean {
  for (const { type, delta } of valuesIn(events)) if (hasStopReason(type, delta)) return true;
  return false;
}

function hasStopReason(type: unknown, delta: unknown): boolean {
  return type === 'message_delta' && isObject(delta) && typeof delta.stop_reason === 'string';
}

/** The generated text: text, thinking and the input of tool calls. */
export function messageText(answer: Buffer, stream: boolean): string[] {
  const texts: string[] = [];
  if (!stream) {
    collectStrings(parseObject(answer.toString('utf8'))?.content, texts);
    return texts;
  }
  for (const { type, delta, content_block } of valuesIn(answer)) {
    if (type === 'content_block_delta') collectStrings(delta, texts);
    // The name of a tool; some hosts also have the whole block here.
    if (type === 'content_block_start') collectStrings(content_block, texts);
  }
  return [texts.join('')];
}

/** Ends a message at the output limit: stops open blocks, then the message. */
export function endMessageAtLimit(): LimitEnding {
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
