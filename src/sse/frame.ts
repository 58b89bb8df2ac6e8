/**
 * Server-sent events as bytes. Events end with an empty line, whatever the line ends (LF, CR, CRLF), and chunks of
 * a stream break anywhere; https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
const LF = 0x0a;
const CR = 0x0d;
const EMPTY = Buffer.alloc(0);
/** Events can hold images, and a whole answer; one still longer is passed on piecemeal instead of being gathered. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;
/** How many bytes before a chunk can belong to the end of an event within it. */
const LOOK_BACK = 3;

/** Cuts a stream into whole events. What `push` returns is the input by reference where no event is split. */
export interface EventFramer {
  /** Takes the next chunk; returns all that is complete, as one run of whole events (maybe empty). */
  push(chunk: Buffer): Buffer;
  /** The bytes of the event that has not ended. */
  rest(): Buffer;
}

export function createEventFramer(maxEventBytes = MAX_EVENT_BYTES): EventFramer {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let last: Buffer = EMPTY;

  /** Joined only once an event ends, so that many small chunks of a long one are not copied again and again. */
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
    push(chunk) {
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
    rest: () => Buffer.concat(pending),
  };
}

/**
 * The offset behind the last event that is complete; 0 if none is. Looks back no further than `from`.
 * A CR at the very end leaves it open whether an LF follows, so such an event counts as unfinished.
 */
export function endOfLastEvent(bytes: Buffer, from = 0): number {
  const n = bytes.length;
  if (n >= 2 && bytes[n - 1] === LF && bytes[n - 2] === LF) return n;
  for (let i = n - 1; i > from; i--) {
    const byte = bytes[i];
    if (byte === LF) {
      const before = bytes[i - 1];
      if (before === LF) return i + 1;
      // \r\n ends a line; the one before it must end here too
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

/** The offset behind the first event in `bytes` at or after `start`; -1 if it does not end. */
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

/** The data of one event: its `data:` lines joined; empty for comments and events without data. */
export function dataOfEvent(event: Buffer): string {
  const text = event.toString('utf8');
  const isPlain = text.startsWith('data: ') && text.endsWith('\n\n') && !text.includes('\r');
  // Nearly all are so: one line, and the empty one.
  if (isPlain && text.indexOf('\n') === text.length - 2) return text.slice(6, -2);
  const data: string[] = [];
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (!line.startsWith('data')) continue;
    if (line.length === 4) data.push('');
    else if (line[4] === ':') data.push(line.slice(line[5] === ' ' ? 6 : 5));
  }
  return data.join('\n');
}
