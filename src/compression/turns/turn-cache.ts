import { sharedLength } from '../../json/bytes.ts';
import { skipSpace, skipValue } from '../../json/scan.ts';
import { walkArray, walkRest } from '../../json/walk.ts';
import { type Form, readItem, type Turn } from './turns.ts';

export interface ReadConversation {
  bytes: Buffer;
  form: Form;
  /** The byte range of each item. */
  items: { start: number; end: number }[];
  /** The turns of each item. */
  turns: (readonly Turn[])[];
}

const MAX_CONVERSATIONS = 8;
const MAX_BYTES = 8 * 1024 * 1024;

/** Reads conversations. What one shares with the turn before is not parsed again. */
export class TurnCache {
  /** Most recently used first. */
  #kept: ReadConversation[] = [];
  readonly #maxBytes: number;

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** `bytes`: a JSON array, which nobody changes. Unknown items have no turns. Throws JsonSyntaxError and SyntaxError. */
  read(bytes: Buffer, form: Form): ReadConversation {
    const read = this.#begin(bytes, form);
    const { items, turns } = read;
    const visit = (start: number) => {
      const end = skipValue(bytes, start);
      turns.push(readItem(JSON.parse(bytes.toString('utf8', start, end)), form));
      items.push({ start, end });
      return end;
    };
    const last = items.at(-1);
    if (last) walkRest(bytes, last.end, visit);
    else walkArray(bytes, skipSpace(bytes, 0), visit);
    this.#keep(read);
    return read;
  }

  /** What the bytes share with a conversation that was read before. */
  #begin(bytes: Buffer, form: Form): ReadConversation {
    let best: ReadConversation | undefined;
    let most = 0;
    for (const candidate of this.#kept) {
      const shared = candidate.form === form ? sharedLength(candidate.bytes, bytes) : 0;
      if (shared > most) [best, most] = [candidate, shared];
    }
    if (!best) return { bytes, form, items: [], turns: [] };
    // A number may go on behind the shared bytes.
    const count = best.items.findLastIndex(({ end }) => end < most) + 1;
    // One that shares only its beginning with this one is kept as well.
    if (most > best.bytes.length / 2) this.#kept = this.#kept.filter((kept) => kept !== best);
    return { bytes, form, items: best.items.slice(0, count), turns: best.turns.slice(0, count) };
  }

  #keep(read: ReadConversation): void {
    let size = 0;
    this.#kept = [read, ...this.#kept].slice(0, MAX_CONVERSATIONS).filter(({ bytes }) => {
      size += bytes.length;
      return size <= this.#maxBytes;
    });
  }
}
