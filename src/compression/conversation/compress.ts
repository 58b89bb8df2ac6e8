import { splitBlocks } from '../blocks/blocks.ts';
import { estimateTokens } from '../prompt/estimate.ts';
import { type Message, mapTexts, roleOf, type ToolCall, textsOf, toolCallsOf } from '../prompt/message.ts';
import { originOf } from '../prompt/origin.ts';
import { type Question, readQuestion } from '../prompt/question.ts';
import { writtenArgumentsIn } from '../prompt/written-arguments.ts';
import { Boilerplate } from '../repeats/boilerplate.ts';
import { History } from '../repeats/history.ts';
import { endsWithPrompt } from '../repeats/shell-prompts.ts';
import { Rewriter } from '../rewrite/rewrite.ts';
import { frameChat, restoreChat } from '../transforms/chat/chat.ts';
import { withoutTurns } from '../transforms/chat/transcript.ts';
import { findDocuments } from '../transforms/documents/documents.ts';
import type { Level } from '../transforms/scope.ts';
import { Legends } from './legends.ts';

export type { Message } from '../prompt/message.ts';
export type { Level } from '../transforms/scope.ts';

export interface CompressOptions {
  level: Level;
}

/** What happened to one message; tokens are estimates. */
export interface MessageReport {
  transforms: string[];
  tokensBefore: number;
  tokensAfter: number;
}

export interface Compressed {
  /** As many messages as came in; an unchanged one is the same object. */
  messages: Message[];
  report: MessageReport[];
}

/** Nothing is changed before this many tokens have come: short prompts are meant word by word. */
export const MIN_TOKENS = 500;
/** A message is changed only if it keeps at most this share of its tokens. */
const NET_WIN = 0.95;

/** Fewer content words than this ask nothing by themselves. */
const MIN_STEMS = 3;

/** What is known when a message's turn comes: everything before it. */
export interface Past {
  tokens: number;
  question: Question | undefined;
  calls: Map<string, ToolCall>;
  /** The roles whose last message was a single text that ended with a shell prompt. */
  atPrompt: Set<string>;
  /** How the texts of tools began and ended. */
  boilerplate: Boilerplate;
  legends: Legends;
  history: History;
}

/** Nothing has gone by. */
export function newPast(history = new History()): Past {
  return {
    tokens: 0,
    question: undefined,
    calls: new Map(),
    atPrompt: new Set(),
    boilerplate: new Boilerplate(),
    legends: new Legends(),
    history,
  };
}

/**
 * Compresses chat messages. The output for message i depends on messages 0..i only, so a conversation
 * that grows keeps its compressed prefix byte for byte. Never throws: on any doubt the original goes out.
 */
export function compress(messages: readonly Message[], options: CompressOptions): Compressed {
  const past = newPast();
  const out: Compressed = { messages: [], report: [] };
  for (const message of messages) {
    const report: MessageReport = { transforms: [], tokensBefore: 0, tokensAfter: 0 };
    out.messages.push(compressOne(message, past, options.level, report));
    out.report.push(report);
  }
  return out;
}

/** Compresses the next message of a conversation, takes it up into the past, and reports on it. */
export function compressOne(message: Message, past: Past, level: Level, report: MessageReport): Message {
  if (level === 'off') return message;
  const output = tryToCompress(message, past, level, report);
  rememberSent(message, output, past);
  return output;
}

function tryToCompress(message: Message, past: Past, level: Level, report: MessageReport): Message {
  try {
    const texts = textsOf(message);
    const before = sumTokens(texts);
    report.tokensBefore = before;
    report.tokensAfter = before;
    past.tokens += before;
    const followsPrompt = past.atPrompt.has(roleOf(message));
    remember(message, texts, past);
    const origin = originOf(message, past.calls);
    if (!origin) return message;
    const { question, boilerplate } = past;
    const rewriter = new Rewriter(origin, { level, question, followsPrompt, boilerplate }, past.history);
    // Short prompts are only remembered: a later message may refer to them.
    const changed = mapTexts(message, (text) => {
      const output = rewriter.rewrite(text);
      return output === text ? text : past.legends.shorten(output);
    });
    const after = changed === message ? before : sumTokens(textsOf(changed));
    const wins = past.tokens >= MIN_TOKENS && after <= before * NET_WIN;
    rewriter.commit(wins);
    if (!wins) return message;
    report.transforms.push(...rewriter.used);
    report.tokensAfter = after;
    return changed;
  } catch {
    // A transform that fails must not cost the request: the message goes out as it came.
    report.tokensAfter = report.tokensBefore;
    return message;
  }
}

/** Takes up what later messages need to know of this one. */
function remember(message: Message, texts: readonly string[], past: Past): void {
  rememberAround(message, texts, past);
  for (const { text, source } of writtenArgumentsIn(message))
    past.history.add(text, source, text, { exact: true, inPlace: true });
  if (roleOf(message) !== 'user') return;
  const question = readQuestion(texts.map(ownWords).join('\n'));
  if (!question) return;
  // "Go on" is no question of its own.
  const goesOn = past.question && question.stems.size < MIN_STEMS && question.exact.length === 0;
  past.question = goesOn ? readQuestion(`${past.question?.text}\n${question.text}`) : question;
}

/** What later messages need to know besides the question: it follows from the message alone. */
export function rememberAround(message: Message, texts: readonly string[], past: Past): void {
  for (const [id, call] of toolCallsOf(message)) past.calls.set(id, call);
  const [text] = texts;
  if (text !== undefined && texts.length === 1 && endsWithPrompt(text)) past.atPrompt.add(roleOf(message));
  else past.atPrompt.delete(roleOf(message));
}

/** What later messages can refer to of what went out, as it went out. */
export function rememberSent(message: Message, output: Message, past: Past): void {
  const sent = textsOf(output);
  past.legends.add(sent);
  const role = roleOf(message);
  if (role !== 'tool' && role !== 'function' && role !== 'user') return;
  textsOf(message).forEach((text, i) => {
    if (role !== 'user' || endsWithPrompt(text)) past.boilerplate.add(sent[i] ?? '');
  });
}

/** Lines that frame a paste or stand for one: fences, tags, file names as headings, marks. */
const FRAME =
  /^(?:[`~]{3}.*|\[gw[: ].{0,400}\]|<\/?[a-z][^>\n]{0,300}>|(?:#{1,6} |\*\*|File: )?`?[\w./@-]{1,200}\.\w{1,12}`?(?:\*\*)?:?)$/gim;

function ownWords(text: string): string {
  const documents = findDocuments(text);
  if (documents) return `${ownWords(documents.head)}\n${ownWords(documents.tail)}`;
  const framed = frameChat(restoreChat(text));
  if (framed) return `${ownWords(framed.head)}\n${ownWords(framed.tail)}`;
  const words = splitBlocks(withoutTurns(text), 'words').filter((block) => block.kind === 'words');
  return words.map((block) => block.text.replace(FRAME, '')).join('\n');
}

function sumTokens(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + estimateTokens(text), 0);
}
