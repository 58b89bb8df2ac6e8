import type { Edit } from '../json/edit.ts';
import { type Member, scanArray, scanObject } from '../json/scan.ts';
import type { Level } from './conversation/compress.ts';
import { ConversationCache } from './conversation/conversation-cache.ts';
import { textsOf } from './prompt/message.ts';
import type { Place } from './turns/turn.ts';
import { conversationOf, type Form, readTurns } from './turns/turns.ts';

export interface CompressRequest {
  /** The JSON array that is the conversation. Not a Buffer: that is not what comes out of a thread's mail. */
  bytes: Uint8Array;
  form: Form;
  level: Level;
}

/** What compressing a request's conversation changes; tokens are estimates. */
export interface CompressedRequest {
  edits: Edit[];
  savings: Saving[];
  /** Of the conversation as it came. */
  originalTokens: number;
  /** Tells the conversation from others, on each of its turns. */
  conversation: number;
}

/** What one turn lost. */
export interface Saving {
  tokens: number;
  /** Where in the prompt it stands: what goes out behind its middle. */
  tokensBehind: number;
}

/**
 * Compresses a request's conversation by edits of single strings, so that all around them stays as it came. Throws
 * where it cannot be read for certain; whoever calls sends the original then.
 */
export function compressRequest(
  request: CompressRequest,
  cache = new ConversationCache(0),
): CompressedRequest {
  const { form, level } = request;
  const bytes = Buffer.from(request.bytes.buffer, request.bytes.byteOffset, request.bytes.length);
  const turns = readTurns(JSON.parse(bytes.toString()), form);
  const { steps } = cache.compress(
    turns.map(({ message }) => message),
    level,
  );
  const find = createFinder(bytes);
  const edits: Edit[] = [];
  const savings: Saving[] = [];
  let originalTokens = 0;
  let tokensBehind = 0;
  for (let i = steps.length - 1; i >= 0; i--) {
    const step = steps[i];
    if (!step) continue;
    const { message, output, report } = step;
    if (output !== message) {
      const before = textsOf(message);
      for (const [k, text] of textsOf(output).entries()) {
        if (text !== before[k])
          edits.push({ ...find(turns[i]?.places[k] ?? []), text: JSON.stringify(text) });
      }
      savings.push({
        tokens: report.tokensBefore - report.tokensAfter,
        tokensBehind: tokensBehind + report.tokensAfter / 2,
      });
    }
    originalTokens += report.tokensBefore;
    tokensBehind += report.tokensAfter;
  }
  return { edits, savings, originalTokens, conversation: conversationOf(turns) };
}

interface Range {
  start: number;
  end: number;
}

/** Finds the bytes of a value by the way to it. Throws where a key on the way stands twice. */
function createFinder(bytes: Buffer): (place: Place) => Range {
  const arrays = new Map<number, Range[]>();
  const objects = new Map<number, Member[]>();
  return (place) => {
    let range: Range = { start: 0, end: bytes.length };
    for (const step of place) {
      const { start, end } = range;
      if (typeof step === 'number') {
        range = only([remember(arrays, start, () => scanArray(bytes, start))[step]], step);
      } else {
        const members = remember(objects, start, () => scanObject(bytes.subarray(start, end)));
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

function remember<T>(cache: Map<number, T>, at: number, find: () => T): T {
  const found = cache.get(at) ?? find();
  cache.set(at, found);
  return found;
}

function only<T>([one, another]: readonly (T | undefined)[], step: number | string): T {
  if (one === undefined || another !== undefined) throw new Error(`"${step}" does not stand there once`);
  return one;
}
