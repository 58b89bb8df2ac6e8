import { isObject } from '../../json/object.ts';
import { valuesIn } from './events.ts';

/** What shows of an answer from outside, whichever API it came by. */
export interface AnswerSummary {
  refused: boolean;
  cut: boolean;
  /** The client's tools that it calls. */
  calls: ToolCall[];
  text: string;
}

export interface ToolCall {
  name: string;
  /** As a text, which may be broken, or as an API gave them that reads them itself. */
  given: unknown;
}

type Fields = Record<string, unknown>;

/** Of a whole answer: chat completions, messages and responses alike. */
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

/** Of a stream's events. Where the first are gone (`isWhole` is false) only its end tells. */
export function summarizeStream(events: Buffer, isWhole: boolean): AnswerSummary {
  const signs: AnswerSummary = { refused: false, cut: false, calls: [], text: '' };
  const calls = new Map<unknown, { name: string; given: string }>();
  for (const value of valuesIn(events)) {
    // The last event of a stream of responses has all of it.
    if (isObject(value.response) && Array.isArray(value.response.output) && isOver(value))
      return summarizeAnswer(value.response);
    addChunk(signs, calls, value);
    addMessageEvent(signs, calls, value);
  }
  signs.calls = [...calls.values()];
  return isWhole ? signs : { ...signs, calls: [], text: '' };
}

function isOver({ type }: Fields): boolean {
  return type === 'response.completed' || type === 'response.incomplete';
}

/** Of chat completions. */
function addChunk(
  signs: AnswerSummary,
  calls: Map<unknown, { name: string; given: string }>,
  value: Fields,
): void {
  const choice = listOf(value.choices).find(({ index }) => (index ?? 0) === 0);
  if (!choice) return;
  if (isCut(choice.finish_reason)) signs.cut = true;
  if (!isObject(choice.delta)) return;
  const { content, refusal, tool_calls } = choice.delta;
  if (typeof refusal === 'string' && refusal !== '') signs.refused = true;
  if (typeof content === 'string') signs.text += content;
  for (const { index = 0, function: called } of listOf(tool_calls)) {
    if (isObject(called)) addToCall(calls, index, called.name, called.arguments);
  }
}

/** Of Anthropic's messages. */
function addMessageEvent(
  signs: AnswerSummary,
  calls: Map<unknown, { name: string; given: string }>,
  { index, content_block: block, delta }: Fields,
): void {
  if (isObject(block) && block.type === 'tool_use') addToCall(calls, index, block.name, '');
  if (!isObject(delta)) return;
  if (delta.stop_reason === 'refusal') signs.refused = true;
  if (isCut(delta.stop_reason)) signs.cut = true;
  if (typeof delta.text === 'string') signs.text += delta.text;
  if (calls.has(index)) addToCall(calls, index, undefined, delta.partial_json);
}

function addToCall(
  calls: Map<unknown, { name: string; given: string }>,
  index: unknown,
  name: unknown,
  given: unknown,
): void {
  const call = calls.get(index) ?? { name: '', given: '' };
  calls.set(index, call);
  if (typeof name === 'string') call.name += name;
  if (typeof given === 'string') call.given += given;
}

function callOfChat({ function: called }: Fields): ToolCall {
  return isObject(called) ? callOf(called.name, called.arguments) : callOf('', undefined);
}

function callsOfPart({ type, name, arguments: given, input }: Fields): ToolCall[] {
  if (type === 'function_call') return [callOf(name, given)];
  return type === 'tool_use' ? [callOf(name, input)] : [];
}

function callOf(name: unknown, given: unknown): ToolCall {
  return { name: typeof name === 'string' ? name : '', given };
}

function isCut(reason: unknown): boolean {
  return reason === 'length' || reason === 'max_tokens';
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
