import { asBuffer } from '../json/bytes.ts';
import { type Edit, moved } from '../json/edit.ts';
import { remembered } from '../json/grouped.ts';
import { type Member, scanArray, scanObject } from '../json/scan.ts';
import type { LeftReason, Level, Message } from './conversation/compress.ts';
import { ConversationCache } from './conversation/conversation.ts';
import { textsOf } from './prompt/message.ts';
import { TurnCache } from './turns/turn-cache.ts';
import { conversationOf, type Form, type Place, type Turn } from './turns/turns.ts';

export interface CompressRequest {
  /** The conversation as a JSON array. A Uint8Array, because a Buffer does not survive postMessage. */
  bytes: Uint8Array;
  form: Form;
  level: Level;
}

/** The edits that compress a request's conversation. Token counts are estimates. */
export interface CompressedRequest {
  edits: Edit[];
  savings: Saving[];
  /** Tokens of the uncompressed conversation. */
  originalTokens: number;
  /** Identifies the conversation; the same on each of its turns. */
  conversation: number;
  work: OptimizerWork;
}

/** How many of a prompt's messages each transform changed, and how many were left for which reason. */
export interface OptimizerWork {
  changed: Record<string, number>;
  left: { [reason in LeftReason]?: number };
}

/** Tokens saved in one turn. */
export interface Saving {
  tokens: number;
  /** Tokens sent after the middle of this turn: its position in the prompt. */
  tokensBehind: number;
}

/** State of conversations between their requests. */
export interface CompressionCaches {
  turns: TurnCache;
  conversations: ConversationCache;
}

/**
 * Compresses a request's conversation by edits of single strings; all other bytes stay. Throws if the conversation
 * is ambiguous; the caller then sends the original.
 */
export function compressRequest(
  request: CompressRequest,
  caches: CompressionCaches = { turns: new TurnCache(0), conversations: new ConversationCache(0) },
): CompressedRequest {
  const { form, level } = request;
  const bytes = asBuffer(request.bytes);
  const read = caches.turns.read(bytes, form);
  const turns = read.turns.flat();
  const { steps } = caches.conversations.compress(
    turns.map(({ message }) => message),
    level,
  );
  const edits: Edit[] = [];
  const savings: Saving[] = [];
  let originalTokens = 0;
  let tokensBehind = 0;
  const work: OptimizerWork = { changed: {}, left: {} };
  let next = steps.length;
  for (let i = read.items.length - 1; i >= 0; i--) {
    const item = read.items[i] as Range;
    for (const turn of (read.turns[i] ?? []).toReversed()) {
      const step = steps[--next];
      if (!step) continue;
      const { output, report } = step;
      if (output !== step.message) {
        for (const edit of editsOf(turn, output, bytes, item)) edits.push(moved(edit, item.start));
        savings.push({
          tokens: report.tokensBefore - report.tokensAfter,
          tokensBehind: tokensBehind + report.tokensAfter / 2,
        });
      }
      for (const transform of report.transforms) work.changed[transform] = (work.changed[transform] ?? 0) + 1;
      if (report.left) work.left[report.left] = (work.left[report.left] ?? 0) + 1;
      originalTokens += report.tokensBefore;
      tokensBehind += report.tokensAfter;
    }
  }
  return { edits, savings, originalTokens, conversation: conversationOf(turns), work };
}

/** The edits of a turn, by places in its item. Found once for a turn that is sent again and again. */
function editsOf(turn: Turn, output: Message, bytes: Buffer, { start, end }: Range): readonly Edit[] {
  if (turn.rewritten?.output !== output) {
    const find = createFinder(bytes.subarray(start, end));
    const before = textsOf(turn.message);
    const edits = textsOf(output).flatMap((text, k) =>
      text === before[k] ? [] : [{ ...find(turn.places[k] ?? []), text: JSON.stringify(text) }],
    );
    turn.rewritten = { output, edits };
  }
  return turn.rewritten.edits;
}

interface Range {
  start: number;
  end: number;
}

/** Returns a lookup from a path to the byte range of its value. It throws if a key on the path is duplicated. */
function createFinder(bytes: Buffer): (place: Place) => Range {
  const arrays = new Map<number, Range[]>();
  const objects = new Map<number, Member[]>();
  return (place) => {
    let range: Range = { start: 0, end: bytes.length };
    for (const step of place) {
      const { start, end } = range;
      if (typeof step === 'number') {
        range = only([remembered(arrays, start, () => scanArray(bytes, start))[step]], step);
      } else {
        const members = remembered(objects, start, () => scanObject(bytes.subarray(start, end)));
        const member = only(
          members.filter(({ key }) => key === step),
          step,
        );
        range = { start: start + member.start, end: start + member.end };
      }
    }
    return { start: range.start, end: range.end };
  };
}

function only<T>([one, another]: readonly (T | undefined)[], step: number | string): T {
  if (one === undefined || another !== undefined) throw new Error(`"${step}" does not stand there once`);
  return one;
}
