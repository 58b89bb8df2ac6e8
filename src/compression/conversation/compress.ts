import { splitBlocks } from '../blocks/blocks.ts';
import { estimateTokens } from '../prompt/estimate.ts';
import {
  type Message,
  mapTexts,
  originOf,
  roleOf,
  type ToolCall,
  textsOf,
  toolCallsOf,
} from '../prompt/message.ts';
import { type Question, readQuestion } from '../prompt/question.ts';
import { History } from '../repeats/history.ts';
import { Rewriter } from '../rewrite/rewrite.ts';
import { frameChat, restoreChat } from '../transforms/chat/chat.ts';
import { withoutTurns } from '../transforms/chat/transcript.ts';
import { findDocuments } from '../transforms/documents/documents.ts';
import type { Level } from '../transforms/scope.ts';

export type { Message } from '../prompt/message.ts';
export type { Level } from '../transforms/scope.ts';

/** What compression did to one message. Token counts are estimates. */
export interface MessageReport {
  transforms: string[];
  /** Why a message with text was left as it came. */
  left?: LeftReason;
  tokensBefore: number;
  tokensAfter: number;
}

/**
 * `own_words`: the model's, which it wrote as it wanted them; `short_prompt`: the prompt is so short that it is meant
 * literally; `no_gain`: no transform made it much shorter; `failed`: a transform broke down.
 */
export type LeftReason = 'own_words' | 'short_prompt' | 'no_gain' | 'failed';

export interface Compressed {
  /** One for each input message; an unchanged message is the same object. */
  messages: Message[];
  report: MessageReport[];
}

/** Nothing is changed until the conversation has this many tokens: short prompts are meant literally. */
export const MIN_TOKENS = 500;
/** A message is changed only if it keeps at most this share of its tokens. */
const NET_WIN = 0.95;

/** A message with fewer content words than this asks nothing by itself. */
const MIN_STEMS = 3;

/** State that compressing a message depends on: everything before it. */
export interface Past {
  tokens: number;
  question: Question | undefined;
  calls: Map<string, ToolCall>;
  history: History;
}

/** The state before the first message. */
export function newPast(history = new History()): Past {
  return { tokens: 0, question: undefined, calls: new Map(), history };
}

/**
 * Compresses chat messages. The output for message i depends on messages 0..i only, so the compressed prefix of a
 * growing conversation keeps its bytes. Never throws: in doubt the original is sent.
 */
export function compress(messages: readonly Message[], { level }: { level: Level }): Compressed {
  const past = newPast();
  const out: Compressed = { messages: [], report: [] };
  for (const message of messages) {
    const report: MessageReport = { transforms: [], tokensBefore: 0, tokensAfter: 0 };
    out.messages.push(compressOne(message, past, level, report));
    out.report.push(report);
  }
  return out;
}

/** Compresses the next message of a conversation, adds it to the past, and fills in its report. */
export function compressOne(message: Message, past: Past, level: Level, report: MessageReport): Message {
  if (level === 'off') return message;
  try {
    const texts = textsOf(message);
    const before = sumTokens(texts);
    report.tokensBefore = before;
    report.tokensAfter = before;
    past.tokens += before;
    remember(message, texts, past);
    const origin = originOf(message, past.calls);
    if (!origin) {
      if (before > 0) report.left = 'own_words';
      return message;
    }
    const rewriter = new Rewriter(origin, { level, question: past.question }, past.history);
    // Short prompts are only recorded: a later message may refer to them.
    const changed = mapTexts(message, (text) => rewriter.rewrite(text));
    const after = changed === message ? before : sumTokens(textsOf(changed));
    const wins = past.tokens >= MIN_TOKENS && after <= before * NET_WIN;
    rewriter.commit(wins);
    if (!wins) {
      if (before > 0) report.left = past.tokens < MIN_TOKENS ? 'short_prompt' : 'no_gain';
      return message;
    }
    report.transforms.push(...rewriter.used);
    report.tokensAfter = after;
    return changed;
  } catch {
    // A failing transform must not fail the request: the message is sent unchanged.
    report.tokensAfter = report.tokensBefore;
    report.left = 'failed';
    return message;
  }
}

/** Records the state that later messages depend on. */
function remember(message: Message, texts: readonly string[], past: Past): void {
  rememberCalls(message, past);
  if (roleOf(message) !== 'user') return;
  const question = readQuestion(texts.map(ownWords).join('\n'));
  if (!question) return;
  // A message such as "Go on" continues the question before it.
  const goesOn = past.question && question.stems.size < MIN_STEMS && question.exact.length === 0;
  past.question = goesOn ? readQuestion(`${past.question?.text}\n${question.text}`) : question;
}

/** Records the tool calls of a message, whose results come later. */
export function rememberCalls(message: Message, past: Past): void {
  for (const [id, call] of toolCallsOf(message)) past.calls.set(id, call);
}

/** Lines around a paste or in its place: fences, tags, file names as headings, marks. */
const FRAME =
  /^(?:[`~]{3}.*|\[gw[: ].{0,400}\]|<\/?[a-z][^>\n]{0,300}>|(?:#{1,6} |\*\*|File: )?`?[\w./@-]{1,200}\.\w{1,12}`?(?:\*\*)?:?)$/gim;

function ownWords(text: string): string {
  const documents = findDocuments(text);
  if (documents) return `${ownWords(documents.head)}\n${ownWords(documents.tail)}`;
  const framed = frameChat(restoreChat(text), 'balanced');
  if (framed) return `${ownWords(framed.head)}\n${ownWords(framed.tail)}`;
  const words = splitBlocks(withoutTurns(text), 'words').filter((block) => block.kind === 'words');
  return words.map((block) => block.text.replace(FRAME, '')).join('\n');
}

function sumTokens(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + estimateTokens(text), 0);
}
