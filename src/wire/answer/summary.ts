import { isObject } from '../../json/object.ts';
import { valuesIn } from './events.ts';

/** An answer of any API, as far as its quality can be judged from it. */
export interface AnswerSummary {
  refused: boolean;
  /** It ended at its output limit. */
  cut: boolean;
  /** Calls to the client's tools. */
  calls: ToolCall[];
  text: string;
}

export interface ToolCall {
  name: string;
  /** JSON text, which may be invalid, or the value if the API parses it. */
  arguments: unknown;
}

type Fields = Record<string, unknown>;
type StreamedCalls = Map<unknown, { name: string; arguments: string }>;

/** Summarizes a complete chat completion, message or response. */
export function summarizeAnswer(answer: Fields): AnswerSummary {
  const [choice] = listOf(answer.choices);
  const message = isObject(choice?.message) ? choice.message : undefined;
  const parts = message ? [] : [...listOf(answer.content), ...listOf(answer.output)];
  const inner = parts.flatMap((part) => listOf(part.content));
  const reason = choice?.finish_reason ?? answer.stop_reason;
  return {
    refused:
      typeof message?.refusal === 'string' ||
      reason === 'refusal' ||
      inner.some(({ type }) => type === 'refusal'),
    cut: isCut(reason) || answer.status === 'incomplete',
    calls: [...listOf(message?.tool_calls).map(callOfChat), ...parts.flatMap(callsOfPart)],
    text: [message?.content, ...parts.map(({ text }) => text), ...inner.map(({ text }) => text)]
      .filter((text) => typeof text === 'string')
      .join(''),
  };
}

/** Summarizes a stream by its events. If the first are missing (`isWhole` is false), calls and text are left empty. */
export function summarizeStream(events: Buffer, isWhole: boolean): AnswerSummary {
  const summary: AnswerSummary = { refused: false, cut: false, calls: [], text: '' };
  const calls: StreamedCalls = new Map();
  for (const value of valuesIn(events)) {
    // The closing event of a response contains the whole response.
    if (isObject(value.response) && Array.isArray(value.response.output) && isOver(value))
      return summarizeAnswer(value.response);
    addChunk(summary, calls, value);
    addMessageEvent(summary, calls, value);
  }
  summary.calls = [...calls.values()];
  return isWhole ? summary : { ...summary, calls: [], text: '' };
}

function isOver({ type }: Fields): boolean {
  return type === 'response.completed' || type === 'response.incomplete';
}

function addChunk(summary: AnswerSummary, calls: StreamedCalls, value: Fields): void {
  const choice = listOf(value.choices).find(({ index }) => (index ?? 0) === 0);
  if (!choice) return;
  if (isCut(choice.finish_reason)) summary.cut = true;
  if (!isObject(choice.delta)) return;
  const { content, refusal, tool_calls } = choice.delta;
  if (typeof refusal === 'string' && refusal !== '') summary.refused = true;
  if (typeof content === 'string') summary.text += content;
  for (const { index = 0, function: part } of listOf(tool_calls)) {
    if (isObject(part)) addToCall(calls, index, part.name, part.arguments);
  }
}

function addMessageEvent(
  summary: AnswerSummary,
  calls: StreamedCalls,
  { index, content_block: block, delta }: Fields,
): void {
  if (isObject(block) && block.type === 'tool_use') addToCall(calls, index, block.name, '');
  if (!isObject(delta)) return;
  if (delta.stop_reason === 'refusal') summary.refused = true;
  if (isCut(delta.stop_reason)) summary.cut = true;
  if (typeof delta.text === 'string') summary.text += delta.text;
  if (calls.has(index)) addToCall(calls, index, undefined, delta.partial_json);
}

function addToCall(calls: StreamedCalls, index: unknown, name: unknown, args: unknown): void {
  const call = calls.get(index) ?? { name: '', arguments: '' };
  calls.set(index, call);
  if (typeof name === 'string') call.name += name;
  if (typeof args === 'string') call.arguments += args;
}

function callOfChat({ function: call }: Fields): ToolCall {
  return isObject(call) ? callOf(call.name, call.arguments) : callOf('', undefined);
}

function callsOfPart({ type, name, arguments: args, input }: Fields): ToolCall[] {
  if (type === 'function_call') return [callOf(name, args)];
  return type === 'tool_use' ? [callOf(name, input)] : [];
}

function callOf(name: unknown, args: unknown): ToolCall {
  return { name: typeof name === 'string' ? name : '', arguments: args };
}

function isCut(reason: unknown): boolean {
  return reason === 'length' || reason === 'max_tokens';
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
