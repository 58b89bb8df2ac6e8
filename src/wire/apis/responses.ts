import { badRequest } from '../../errors.ts';
import { OPEN_BRACE, OPEN_BRACKET } from '../../json/bytes.ts';
import { isObject } from '../../json/object.ts';
import { type Member, readValue, scanArray, scanObject } from '../../json/scan.ts';
import { describeError, eventsIn, parseObject, valuesIn } from '../answer/events.ts';
import type { InspectedEvents } from '../answer/inspected-events.ts';
import { endResponseAtLimit } from '../answer/responses-ending.ts';
import { usageMember, withTier } from '../answer/usage.ts';
import { choicesPerPrompt, reasoningBeyondLimit, reasoningBudget } from '../request/output-limits.ts';
import { createParser, renameModel, writeLimit } from '../request/parse.ts';
import { collectStrings, promptReader } from '../request/prompt.ts';
import { findUnseen, splitPrompt } from '../request/prompt-blocks.ts';
import type { Wire } from '../wire.ts';
import { RESPONSE_BLOCKS } from './responses-blocks.ts';

const LIMITS = ['max_output_tokens'];
/** Fields that add stored input. Each may fill the model's context. */
const STORED = ['previous_response_id', 'conversation', 'prompt', 'context_management'];
const CALL_LIMIT = 'max_tool_calls';

const TOOLS = Buffer.from('"tools"');

/** Tool lists in conversation items: https://platform.openai.com/docs/guides/tools */
function additionalTools(bytes: Buffer, members: Member[]): { start: number }[] {
  const input = members.find(({ key }) => key === 'input');
  if (!input || bytes[input.start] !== OPEN_BRACKET) return [];
  const text = bytes.subarray(input.start, input.end);
  if (text.indexOf(TOOLS) < 0) return [];
  return scanArray(bytes, input.start).flatMap(({ start, end }) => {
    if (bytes[start] !== OPEN_BRACE) return [];
    return scanObject(bytes.subarray(start, end)).flatMap((member) =>
      member.key === 'tools' ? [{ start: start + member.start }] : [],
    );
  });
}

/** OpenAI's responses: https://platform.openai.com/docs/api-reference/responses/create */
export const responsesWire: Wire = {
  endpoint: 'responses',
  family: 'openai',
  path: '/responses',
  ...createParser({
    limits: LIMITS,
    leastLimit: 16,
    // Hosts that bridge to chat completions accept their fields too.
    fields: ['background', 'reasoning', 'thinking', 'n', 'best_of'],
    beyondLimit: (fields) => reasoningBeyondLimit(fields, LIMITS) || undefined,
    reasoningBudget,
    choices: choicesPerPrompt,
    check(fields) {
      if (!fields.boolean('background')) return;
      throw badRequest(
        '"background": true is not supported: gw could not book an answer that is fetched later. Remove the field, and use "stream": true for long answers',
        'background',
        'unsupported_value',
      );
    },
    // Files, earlier items, and tools that let the provider add input.
    nonText: {
      images: ['input_image', 'computer_screenshot', 'image_generation_call'],
      // biome-ignore format: related markers share a line
      context: [
        'input_file', 'item_reference', 'web_search*', 'file_search', 'code_interpreter', 'mcp',
        'x_search', 'collections_search', 'image_generation', 'google*',
      ],
    },
    stored: STORED,
    tools: {
      limit: 'all',
      // A stored prompt may enable any tool.
      fields: { prompt: 'prompt', plugins: 'plugins' },
      limitField: CALL_LIMIT,
      moreLists: additionalTools,
    },
  }),
  renameModel,
  limitOutput: (request, tokens) => writeLimit(request, LIMITS, 'max_output_tokens', tokens),
  limitCalls: (request, calls) =>
    (calls === 0 ? request.serverTools?.removal : undefined) ??
    writeLimit(request, [CALL_LIMIT], CALL_LIMIT, calls),
  usageOf: responseUsage,
  inspect: inspectResponseEvents,
  endAtLimit: endResponseAtLimit,
  hasContent: hasResponseContent,
  isOver: () => false,
  textOf: responseText,
  form: 'responses',
  messagesOf: ({ bytes, members }) =>
    members.find(({ key, start }) => key === 'input' && bytes[start] === OPEN_BRACKET),
  unseenIn: (request) => findUnseen(request, RESPONSE_BLOCKS),
  blocksOf: (request, earlier) => splitPrompt(request, RESPONSE_BLOCKS, earlier),
  promptOf: promptReader({
    read: new Set(['input', 'instructions']),
    json: new Set(['tools', 'text']),
    stored: new Set(STORED),
  }),
};

/** Compacts a conversation. Codex calls it when its context is full. The API has no output limit. */
export const compactWire: Wire = {
  ...responsesWire,
  endpoint: 'responses/compact',
  path: '/responses/compact',
  parse: (bytes, scan) => ({ ...responsesWire.parse(bytes, scan), limitable: false }),
  limitOutput: () => [],
  // The usage is that of a compaction, so the prompt is not compared.
  blocksOf: () => undefined,
};

/** The events that end a stream. Each contains the response with its usage. */
const CLOSING = new Set(['response.completed', 'response.incomplete', 'response.failed']);
/** Matches the few events that need inspection. Deltas never match. */
const MARKS = /"response"|"error"/;

/** Finds the closing event and errors. A buffer without either is forwarded unparsed. */
function inspectResponseEvents(events: Buffer): InspectedEvents {
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
function responseUsage(answer: Buffer): unknown {
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

/** The usage, with the server tool calls and service tier that the response reports elsewhere. */
function withToolCalls({ usage, tool_usage, output, service_tier }: Record<string, unknown>): unknown {
  if (!isObject(usage)) return usage ?? undefined;
  if (Array.isArray(output) && output.length > 0) {
    usage.server_tool_calls = countToolCalls(output);
    usage.containers = containersIn(output);
  }
  if (tool_usage) usage.tool_usage = tool_usage;
  return withTier(usage, service_tier);
}

/** Whether there is a delta, a finished item or an end without an error. */
function hasResponseContent(events: Buffer): boolean {
  for (const { type } of valuesIn(events)) {
    if (typeof type === 'string' && CONTENT.test(type)) return true;
  }
  return false;
}

const CONTENT = /\.delta$|^response\.(completed|incomplete|output_item\.done)$/;

/** The generated text: text, refusals, reasoning and tool call arguments. */
function responseText(answer: Buffer, stream: boolean): string[] {
  const texts: string[] = [];
  if (!stream) {
    collectStrings(parseObject(answer.toString('utf8'))?.output, texts);
    return texts;
  }
  const whole: string[] = [];
  for (const { type, delta, item, response } of valuesIn(answer)) {
    if (typeof type !== 'string') continue;
    if (type.endsWith('.delta')) collectStrings(delta, texts);
    // Items and responses without deltas.
    else if (type === 'response.output_item.done') collectStrings(item, whole);
    else if (CLOSING.has(type) && whole.length === 0 && isObject(response))
      collectStrings(response.output, whole);
  }
  return [(texts.length > 0 ? texts : whole).join('')];
}

/** Fee names of charged output items. */
const FEE_NAMES: Readonly<Record<string, string>> = {
  web_search_call: 'web_search',
  file_search_call: 'file_search',
  image_generation_call: 'image_generation',
  code_interpreter_call: 'container',
  shell_call: 'container',
  x_search_call: 'x_search',
  collections_search_call: 'collections_search',
};

/** Number of server tool calls in a response, by fee name. */
function countToolCalls(output: readonly unknown[]): Record<string, number> {
  const calls: Record<string, number> = {};
  for (const item of output.filter(isObject)) {
    const name = feeName(item);
    if (name !== undefined) calls[name] = (calls[name] ?? 0) + callsOf(item);
  }
  return calls;
}

/** Ids of the containers that a response's tools ran in; empty string for a container without an id. */
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
