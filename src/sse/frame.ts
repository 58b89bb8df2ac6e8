import { bytesAt } from '../json/bytes.ts';

/**
 * Splits a byte stream into server-sent events. An event ends with an empty line, lines end with LF, CR or CRLF, and
 * chunks may be split anywhere: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
const LF = 0x0a;
const CR = 0x0d;
const EMPTY = Buffer.alloc(0);
/** Events may contain images or a whole answer. A longer event is passed on in pieces instead of being buffered. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;
/** Up to this many bytes of an event's terminator may precede the chunk that completes it. */
const LOOK_BACK = 3;

/** Splits a stream into whole events. `push` returns the chunk itself, without a copy, if no event is split. */
export function createEventFramer(maxEventBytes = MAX_EVENT_BYTES) {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let last: Buffer = EMPTY;

  /** Joins chunks only when an event ends, so that a long event in small chunks is not copied repeatedly. */
  function take(chunk: Buffer): Buffer {
    const bytes = pending.length === 0 ? chunk : Buffer.concat([...pending, chunk]);
    pending = [];
    pendingBytes = 0;
    last = EMPTY;
    return bytes;
  }

  function keep(chunk: Buffer): void {
    if (chunk.length === 0) return;
    pending.push(chunk);
    pendingBytes += chunk.length;
    last = (last.length === 0 ? chunk : Buffer.concat([last, chunk])).subarray(-LOOK_BACK);
  }

  return {
    /** Adds a chunk and returns all events completed by it, concatenated; empty if there are none. */
    push(chunk: Buffer): Buffer {
      if (pendingBytes + chunk.length > maxEventBytes) return take(chunk);
      const near = last.length === 0 ? chunk : Buffer.concat([last, chunk]);
      const ended = endOfLastEvent(near);
      if (ended === near.length) return take(chunk);
      const end = chunk.length - (near.length - ended);
      if (ended === 0 || end < 0) {
        keep(chunk);
        return EMPTY;
      }
      const events = take(chunk.subarray(0, end));
      keep(chunk.subarray(end));
      return events;
    },
    /** The bytes of the incomplete event at the end. */
    rest: (): Buffer => Buffer.concat(pending),
  };
}

/**
 * The end offset of the last complete event; 0 if there is none. Searches back to `from`. An event that ends in CR at
 * the very end counts as incomplete, because an LF may follow.
 */
function endOfLastEvent(bytes: Buffer, from = 0): number {
  const n = bytes.length;
  if (n >= 2 && bytes[n - 1] === LF && bytes[n - 2] === LF) return n;
  for (let i = n - 1; i > from; i--) {
    const byte = bytes[i];
    if (byte === LF) {
      const before = bytes[i - 1];
      if (before === LF) return i + 1;
      // CRLF ends a line. The line before it must end here as well.
      if (before === CR && i - 2 >= 0 && (bytes[i - 2] === LF || bytes[i - 2] === CR)) return i + 1;
    } else if (
      byte === CR &&
      i < n - 1 &&
      bytes[i + 1] !== LF &&
      (bytes[i - 1] === CR || bytes[i - 1] === LF)
    ) {
      return i + 1;
    }
  }
  return 0;
}

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/** The text without a leading byte order mark; the same buffer if it has none. */
export function withoutMark(text: Buffer): Buffer {
  return bytesAt(text, 0, BYTE_ORDER_MARK) ? text.subarray(BYTE_ORDER_MARK.length) : text;
}

/** The end offset of the event that starts at `start`; -1 if it is incomplete. */
export function endOfEvent(bytes: Buffer, start: number): number {
  for (let i = start; i < bytes.length; i++) {
    const length = lineEndAt(bytes, i);
    if (length === 0) continue;
    const second = lineEndAt(bytes, i + length);
    if (second > 0) return i + length + second;
    i += length - 1;
  }
  return -1;
}

/** The length of the line end at `i`: 2 for CRLF, 1 for LF or CR, 0 for none. */
function lineEndAt(bytes: Buffer, i: number): number {
  if (bytes[i] === LF) return 1;
  if (bytes[i] !== CR) return 0;
  return bytes[i + 1] === LF ? 2 : 1;
}

/** The data of an event: its `data:` lines, joined with LF. Empty for comments and events without data. */
export function dataOfEvent(event: Buffer): string {
  const text = event.toString('utf8');
  const isPlain = text.startsWith('data: ') && text.endsWith('\n\n') && !text.includes('\r');
  // Fast path for nearly all events: one data line and the empty line.
  if (isPlain && text.indexOf('\n') === text.length - 2) return text.slice(6, -2);
  const data: string[] = [];
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (!line.startsWith('data')) continue;
    if (line.length === 4) data.push('');
    else if (line[4] === ':') data.push(line.slice(line[5] === ' ' ? 6 : 5));
  }
  return data.join('\n');
}
