import { textsOf, toolCallsOf } from '../prompt/message.ts';
import type { Question } from '../prompt/question.ts';
import { History } from '../repeats/history.ts';
import {
  compressOne,
  type Level,
  type Message,
  type MessageReport,
  newPast,
  type Past,
  rememberCalls,
} from './compress.ts';

/** A compressed message and the state after it. */
export interface Step {
  message: Message;
  output: Message;
  report: MessageReport;
  tokens: number;
  question: Question | undefined;
  /** What it added to the history. */
  additions: Addition[];
}

type Addition = Parameters<History['add']>;

/** Records its additions, so that the history can be rebuilt. */
class RecordingHistory extends History {
  additions: Addition[] = [];

  override add(...addition: Addition): void {
    this.additions.push(addition);
    super.add(...addition);
  }
}

/** A conversation, compressed message by message as it grows. */
export class Conversation {
  readonly level: Level;
  readonly steps: Step[] = [];
  /** Characters of text: a measure of memory use. */
  size = 0;
  readonly #history = new RecordingHistory();
  readonly #past: Past;

  /** Starts from steps of another conversation. They are only added to the history, not compressed again. */
  constructor(level: Level, prefix: readonly Step[] = []) {
    this.level = level;
    this.#past = newPast(this.#history);
    for (const step of prefix) {
      for (const addition of step.additions) this.#history.add(...addition);
      rememberCalls(step.message, this.#past);
      this.#push(step);
    }
    const last = prefix.at(-1);
    if (last) {
      this.#past.tokens = last.tokens;
      this.#past.question = last.question;
    }
  }

  add(message: Message): Step {
    this.#history.additions = [];
    const report: MessageReport = { transforms: [], tokensBefore: 0, tokensAfter: 0 };
    const output = compressOne(message, this.#past, this.level, report);
    const { tokens, question } = this.#past;
    return this.#push({ message, output, report, tokens, question, additions: this.#history.additions });
  }

  /** How many of these messages it shares from the start. */
  sharedWith(messages: readonly Message[]): number {
    const most = Math.min(messages.length, this.steps.length);
    let shared = 0;
    while (shared < most && isSame(this.steps[shared]?.message, messages[shared])) shared++;
    return shared;
  }

  #push(step: Step): Step {
    this.steps.push(step);
    this.size += lengthOf(step.message);
    return step;
  }
}

const MESSAGE_OVERHEAD = 500;

function lengthOf(message: Message): number {
  const args = [...toolCallsOf(message).values()].map((call) => call.args);
  return [...textsOf(message), ...args].reduce((sum, text) => sum + text.length, MESSAGE_OVERHEAD);
}

/** Deep equality of two turns as `readTurns` makes them. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length || Array.isArray(one) !== Array.isArray(other)) return false;
  return keys.every((key) => Object.hasOwn(other, key) && isSame(one[key as never], other[key as never]));
}

/** Characters of text to keep. With its state, a conversation takes about five times as much memory. */
const MAX_SIZE = 4_000_000;
/** Clients that rewrite their last messages on each turn (moving reminders) fork within this many messages. */
const TAIL = 4;

/**
 * LRU cache of compressed conversations. Agents resend the whole conversation on every turn; only its new messages
 * are compressed. The output is the same without the cache.
 */
export class ConversationCache {
  /** Most recently used first. */
  #kept: Conversation[] = [];
  readonly #maxSize: number;

  constructor(maxSize = MAX_SIZE) {
    this.#maxSize = maxSize;
  }

  /** Returns the conversation with all messages compressed. */
  compress(messages: readonly Message[], level: Level): Conversation {
    const conversation = this.#begin(messages, level);
    for (const message of messages.slice(conversation.steps.length)) conversation.add(message);
    this.#kept.unshift(conversation);
    this.#trim();
    return conversation;
  }

  #begin(messages: readonly Message[], level: Level): Conversation {
    let best: Conversation | undefined;
    let most = 0;
    for (const candidate of this.#kept) {
      const shared = candidate.level === level ? candidate.sharedWith(messages) : 0;
      if (shared > most) [best, most] = [candidate, shared];
    }
    if (!best) return new Conversation(level);
    const isWhole = most === best.steps.length;
    // A conversation that only shares its beginning with this one is kept as well.
    if (most >= best.steps.length - TAIL) this.#kept = this.#kept.filter((kept) => kept !== best);
    return isWhole ? best : new Conversation(level, best.steps.slice(0, most));
  }

  #trim(): void {
    let size = 0;
    this.#kept = this.#kept.filter((kept) => {
      const fits = size + kept.size <= this.#maxSize;
      if (fits) size += kept.size;
      return fits;
    });
  }
}
