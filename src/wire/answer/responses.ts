import { isObject } from '../../json/object.ts';
import { readValue, scanObject } from '../../json/scan.ts';
import { collectStrings } from '../request/prompt.ts';
import { describeError, eventsIn, parseObject, valuesIn } from './events.ts';
import type { InspectedEvents } from './inspected-events.ts';
import { usageMember, withTier } from './usage-member.ts';

/** The events that end a stream. Each contains the response with its usage. */
const CLOSING = new Set(['response.completed', 'response.incomplete', 'response.failed']);
/** Matches the few events to inspect. Deltas have neither. */
const MARKS = /"response"|"error"/;

/** Finds the closing event and errors. A buffer without either is passed on unparsed, by reference. */
export function inspectResponseEvents(events: Buffer): InspectedEvents {
  if (!MARKS.test(events.toString('latin1'))) return { pass: events };
  for (const { start, data } of eventsIn(events)) {
    const value = parseObject(data);
    if (value?.type === 'error') return { pass: events, error: describeError(value.error ?? value) };
    if (typeof value?.type !== 'string' || !CLOSING.has(value.type)) continue;
    const response = isObject(value.response) ? value.response : {};
    return {
      pass: events.subarray(0, start),
      closing: events.subarray(start),
      usage: withToolCalls(response),
      ...(response.error ? { error: describeError(response.error) } : {}),
    };
  }
  return { pass: events };
}

const PARTS = ['usage', 'tool_usage', 'output', 'service_tier'];
const CALL = Buffer.from('_call"');
const TOOL_USAGE = Buffer.from('"tool_usage"');
const NO_CALLS = Object.freeze({});

/** The usage of a complete response, with its server tool calls. */
export function responseUsage(answer: Buffer): unknown {
  if (answer.indexOf(CALL) < 0 && answer.indexOf(TOOL_USAGE) < 0) {
    const usage = usageMember(answer);
    if (isObject(usage)) usage.server_tool_calls = NO_CALLS;
    return usage;
  }
  const response: Record<string, unknown> = {};
  try {
    for (const member of scanObject(answer)) {
      if (PARTS.includes(member.key)) response[member.key] = readValue(answer, member);
    }
  } catch {
    return undefined;
  }
  return withToolCalls(response);
}

/** The usage, extended by the server tool calls and the service tier that the response reports elsewhere. */
function withToolCalls({ usage, tool_usage, output, service_tier }: Record<string, unknown>): unknown {
  if (!isObject(usage)) return usage ?? undefined;
  if (Array.isArray(output) && output.length > 0) {
    usage.server_tool_calls = countToolCalls(output);
    usage.containers = containersIn(output);
  }
  if (tool_usage) usage.tool_usage = tool_usage;
  return withTier(usage, service_tier);
}

/** Whether there is a delta, a finished item or an end without error. */
export function hasResponseContent(events: Buffer): boolean {
  for (const { type } of valuesIn(events)) {
    if (typeof type === 'string' && CONTENT.test(type)) return true;
  }
  return false;
}

const CONTENT = /\.delta$|^response\.(completed|incomplete|output_item\.done)$/;

/** The generated text: text, refusals, reasoning and the arguments of tool calls. */
export function responseText(answer: Buffer, stream: boolean): string[] {
  const texts: string[] = [];
  if (!stream) {
    collectStrings(parseObject(answer.toString('utf8'))?.output, texts);
    return texts;
  }
  const whole: string[] = [];
  for (const { type, delta, item, response } of valuesIn(answer)) {
    if (typeof type !== 'string') continue;
    if (type.endsWith('.delta')) collectStrings(delta, texts);
    // Items and answers that came without deltas.
    else if (type === 'response.output_item.done') collectStrings(item, whole);
    else if (CLOSING.has(type) && whole.length === 0 && isObject(response))
      collectStrings(response.output, whole);
  }
  return [(texts.length > 0 ? texts : whole).join('')];
}

/** Fee names of the output items that stand for a charged call. */
const FEE_NAMES: Readonly<Record<string, string>> = {
  web_search_call: 'web_search',
  file_search_call: 'file_search',
  image_generation_call: 'image_generation',
  code_interpreter_call: 'container',
  shell_call: 'container',
  x_search_call: 'x_search',
  collections_search_call: 'collections_search',
};

/** Number of server tool calls among the items of a response, by fee name. */
function countToolCalls(output: readonly unknown[]): Record<string, number> {
  const calls: Record<string, number> = {};
  for (const item of output.filter(isObject)) {
    const name = feeName(item);
    if (name !== undefined) calls[name] = (calls[name] ?? 0) + callsOf(item);
  }
  return calls;
}

/** The containers that tools ran in, among the items of a response; empty for one without an id. */
function containersIn(output: readonly unknown[]): string[] {
  const runs = output.filter(isObject).filter((item) => feeName(item) === 'container');
  return [...new Set(runs.map(({ container_id }) => (typeof container_id === 'string' ? container_id : '')))];
}

function feeName({ type }: Record<string, unknown>): string | undefined {
  return typeof type === 'string' && Object.hasOwn(FEE_NAMES, type) ? FEE_NAMES[type] : undefined;
}

/** One call may run several searches. Opening a page and finding text in it are free. */
function callsOf({ type, action }: Record<string, unknown>): number {
  if (type !== 'web_search_call' || !isObject(action)) return 1;
  if (action.type === 'open_page' || action.type === 'find_in_page' || action.type === 'find') return 0;
  return Array.isArray(action.queries) ? Math.max(1, action.queries.length) : 1;
}
