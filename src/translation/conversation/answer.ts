import type { CallPart, ReasoningPart, Seal, TextPart } from './conversation.ts';

/** Token counts of an answer. Cached and written input is within `input`, reasoning within `output`. */
export interface AnswerUsage {
  input: number;
  cached: number;
  written: number;
  output: number;
  reasoning: number;
}

export const NO_USAGE: AnswerUsage = { input: 0, cached: 0, written: 0, output: 0, reasoning: 0 };

/** Why an answer ended. */
export type EndReason = 'stop' | 'calls' | 'length' | 'filter' | 'paused';

/** What an answer is called, as far as its provider says so. */
export interface AnswerHead {
  id?: unknown;
  model?: unknown;
  /** UTC seconds. */
  created?: unknown;
}

/**
 * A step of an answer in no API's words. A call's arguments are JSON in pieces, which may alternate with those of others
 * by `key`. `end` comes once, and only if the provider said that the answer is whole.
 */
export type AnswerEvent =
  | ({ type: 'start' } & AnswerHead)
  | { type: 'text' | 'refusal' | 'reasoning'; text: string }
  | { type: 'seal'; seal: Seal }
  | { type: 'call'; key: number; id: string; name: string }
  | { type: 'arguments'; key: number; text: string }
  | { type: 'usage'; usage: AnswerUsage }
  | { type: 'ping' }
  | { type: 'error'; error: unknown }
  | { type: 'end'; reason: EndReason };

/** Reads a provider's answers. Stateful, for one answer. Never throws: what it doesn't know is left out. */
export interface AnswerReader {
  /** The steps of one event of a stream; `data` is not always JSON. */
  event(data: string): AnswerEvent[];
  /** The remaining steps when the provider ends a stream normally. */
  end(): AnswerEvent[];
  /** The steps of a complete answer. */
  whole(answer: Record<string, unknown>): AnswerEvent[];
}

/** An answer that a client gets as a whole. */
export interface Answer {
  head: AnswerHead;
  parts: (AnswerPart | CallPart)[];
  usage: AnswerUsage | undefined;
  reason: EndReason;
}
type AnswerPart = TextPart | ReasoningPart | { type: 'refusal'; text: string };

/** Puts the steps of an answer together. */
export function foldAnswer(events: readonly AnswerEvent[]): Answer {
  const answer: Answer = { head: {}, parts: [], usage: undefined, reason: 'stop' };
  const calls = new Map<number, CallPart>();
  for (const event of events) {
    switch (event.type) {
      case 'start':
        answer.head = event;
        break;
      case 'text':
      case 'refusal':
      case 'reasoning':
        addText(answer.parts, event.type, event.text);
        break;
      case 'seal':
        addSeal(answer.parts, event.seal);
        break;
      case 'call': {
        const call: CallPart = { type: 'call', id: event.id, name: event.name, args: '', at: '' };
        calls.set(event.key, call);
        answer.parts.push(call);
        break;
      }
      case 'arguments': {
        const call = calls.get(event.key);
        if (call) call.args += event.text;
        break;
      }
      case 'usage':
        answer.usage = event.usage;
        break;
      case 'end':
        answer.reason = event.reason;
    }
  }
  return answer;
}

function addText(parts: Answer['parts'], type: 'text' | 'refusal' | 'reasoning', text: string): void {
  const last = parts.at(-1);
  if (last?.type === type) last.text += text;
  else if (type === 'reasoning') parts.push({ type, text, seals: [] });
  else parts.push({ type, text });
}

/** A seal belongs to the reasoning before it. */
function addSeal(parts: Answer['parts'], seal: Seal): void {
  const last = parts.at(-1);
  if (last?.type === 'reasoning' && seal.kind !== 'calls') last.seals = [...last.seals, seal];
  else parts.push({ type: 'reasoning', text: '', seals: [seal] });
}
