import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  type Range,
} from './bytes.ts';
import type { KeyWatch } from './key-watch.ts';

/**
 * Finds the byte ranges of an object's members without parsing values, so that single members can be read or edited and
 * all other bytes stay the same. The structure is validated in full; escapes and UTF-8 within strings are not.
 * The range of a member is that of its value.
 */
export interface Member extends Range {
  /** The decoded key. */
  key: string;
  /** Start of the key, at its quote. */
  keyStart: number;
}

/** The text is not JSON, or is nested too deep. `position` is a byte offset. */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError';
  readonly position: number;

  constructor(message: string, position: number) {
    super(`${message} at byte ${position}`);
    this.position = position;
  }
}

const MINUS = 0x2d;

/** The end of longer strings is found by `indexOf`. For shorter strings a loop is faster than the call. */
const SHORT_STRING = 32;
/** Escaped quotes that are rare come in pairs: the loop grows to this only where more of them follow. */
const LONGEST_LOOP = 1024;
const MAX_DEPTH = 256;

/** Longer strings are not reported, because callers look for single words. */
const MAX_REPORTED = 160;

/** Called for each string and key of up to 160 bytes, with its range including the quotes. */
export type SeeString = (bytes: Buffer, start: number, end: number) => void;

/** Size limits of a text. Parsing takes 1 us per array or object and 0.1 us per other value. */
export interface ScanLimits {
  /** Members of the object itself. */
  members: number;
  /** Arrays and objects. */
  containers: number;
  /** Values of all kinds. */
  values: number;
}

/**
 * A position between two elements of an array that is a direct member of the object. The scan of another text with the
 * same prefix can resume here.
 */
export interface ScanPoint {
  /** Start of the next element. */
  position: number;
  /** Index of the member that holds the array. */
  member: number;
  /** Counts for `ScanLimits` up to this position. */
  containers: number;
  values: number;
}

/** Resume point from a scan of another text, with the members found there. */
interface ScanStart {
  point: ScanPoint;
  members: readonly Member[];
}

export interface ScanOptions {
  onString?: SeeString | undefined;
  /** Receives the keys of nested objects. */
  keys?: KeyWatch | undefined;
  limits?: ScanLimits | undefined;
  from?: ScanStart | undefined;
  /** Called with resume points at least 4 kB apart. */
  onPoint?: ((point: ScanPoint) => void) | undefined;
}

const POINT_BYTES = 4 * 1024;

/** State of the running scan; scans are not re-entrant. */
let see: SeeString | undefined;
let keys: KeyWatch | undefined;
let limits: ScanLimits | undefined;
let containers = 0;
let values = 0;
let notePoint: ScanOptions['onPoint'];
/** Position from which the next resume point may be reported. */
let nextPoint = Number.POSITIVE_INFINITY;
/** Index of the member being scanned. */
let place = 0;

/** The members of the object in `bytes`, in order. Throws JsonSyntaxError. */
export function scanObject(bytes: Buffer, options: ScanOptions = {}): Member[] {
  const { from, onPoint } = options;
  see = options.onString;
  keys = options.keys;
  limits = options.limits;
  containers = from?.point.containers ?? 0;
  values = from?.point.values ?? 0;
  notePoint = onPoint;
  nextPoint = onPoint ? (from?.point.position ?? 0) + POINT_BYTES : Number.POSITIVE_INFINITY;
  try {
    return scanMembers(bytes, from);
  } finally {
    see = undefined;
    keys = undefined;
    limits = undefined;
    notePoint = undefined;
    nextPoint = Number.POSITIVE_INFINITY;
  }
}

function scanMembers(bytes: Buffer, from: ScanStart | undefined): Member[] {
  const members = from ? from.members.slice(0, from.point.member) : [];
  let open = from?.members[from.point.member];
  let position = open ? 0 : skipSpace(bytes, startOfObject(bytes) + 1);
  if (!open && bytes[position] === CLOSE_BRACE) return atEnd(bytes, position + 1, members);
  for (;;) {
    place = members.length;
    const member: Member =
      open && from ? { ...open, end: skipValue(bytes, from.point.position, 1) } : scanMember(bytes, position);
    open = undefined;
    if (limits && members.length >= limits.members) throw tooMany(limits.members, 'fields', member.keyStart);
    members.push(member);
    position = skipSpace(bytes, member.end);
    if (bytes[position] === CLOSE_BRACE) return atEnd(bytes, position + 1, members);
    if (bytes[position] !== COMMA) throw new JsonSyntaxError('a comma or } was expected', position);
    position = skipSpace(bytes, position + 1);
  }
}

function startOfObject(bytes: Buffer): number {
  const start = skipSpace(bytes, bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0);
  if (bytes[start] !== OPEN_BRACE) throw new JsonSyntaxError('a JSON object was expected', start);
  return start;
}

function scanMember(bytes: Buffer, keyStart: number): Member {
  const keyEnd = skipString(bytes, keyStart);
  const colon = skipSpace(bytes, keyEnd);
  if (bytes[colon] !== COLON) throw new JsonSyntaxError('a colon was expected', colon);
  const start = skipSpace(bytes, colon + 1);
  const end = skipValue(bytes, start);
  return { key: readKey(bytes, keyStart, keyEnd), keyStart, start, end };
}

/** The byte ranges of the elements of the array at `start`. Throws JsonSyntaxError. */
export function scanArray(bytes: Buffer, start: number): Range[] {
  if (bytes[start] !== OPEN_BRACKET) throw new JsonSyntaxError('an array was expected', start);
  const elements: Range[] = [];
  let position = skipSpace(bytes, start + 1);
  if (bytes[position] === CLOSE_BRACKET) return elements;
  for (;;) {
    const end = skipValue(bytes, position);
    elements.push({ start: position, end });
    position = skipSpace(bytes, end);
    if (bytes[position] === CLOSE_BRACKET) return elements;
    if (bytes[position] !== COMMA) throw new JsonSyntaxError('a comma or ] was expected', position);
    position = skipSpace(bytes, position + 1);
  }
}

/** Parses the value in a byte range. Throws JsonSyntaxError. */
export function readValue(bytes: Buffer, { start, end }: Range): unknown {
  try {
    return JSON.parse(bytes.toString('utf8', start, end));
  } catch {
    throw new JsonSyntaxError('bad JSON', start);
  }
}

function atEnd(bytes: Buffer, position: number, members: Member[]): Member[] {
  const end = skipSpace(bytes, position);
  if (end < bytes.length) throw new JsonSyntaxError('text after the end of the object', end);
  return members;
}

/** The decoded text of the string in a range, quotes included. Throws JsonSyntaxError. */
export function readKey(bytes: Buffer, start: number, end: number): string {
  const raw = bytes.toString('utf8', start + 1, end - 1);
  if (!raw.includes('\\')) return raw;
  return String(readValue(bytes, { start, end }));
}

/** The position of the first byte from `from` on that is not white space. */
export function skipSpace(bytes: Buffer, from: number): number {
  let position = from;
  for (;;) {
    const byte = bytes[position];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return position;
    position++;
  }
}

/** The end of the string at `start`. Throws JsonSyntaxError. */
export function skipString(bytes: Buffer, start: number): number {
  if (bytes[start] !== QUOTE) throw new JsonSyntaxError('a string was expected', start);
  let position = start + 1;
  let nearBytes = SHORT_STRING;
  for (;;) {
    const nearEnd = Math.min(position + nearBytes, bytes.length);
    while (position < nearEnd) {
      const byte = bytes[position];
      if (byte === QUOTE) return endString(bytes, start, position + 1);
      position += byte === BACKSLASH ? 2 : 1;
    }
    const quote = bytes.indexOf(QUOTE, position);
    if (quote < 0) throw new JsonSyntaxError('a string does not end', start);
    let slashes = 0;
    while (quote - 1 - slashes >= position && bytes[quote - 1 - slashes] === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return endString(bytes, start, quote + 1);
    // Where escaped quotes are close together, a search for each takes longer than the loop.
    nearBytes = quote - position < SHORT_STRING ? Math.min(2 * nearBytes, LONGEST_LOOP) : SHORT_STRING;
    position = quote + 1;
  }
}

function endString(bytes: Buffer, start: number, end: number): number {
  if (end - start <= MAX_REPORTED) see?.(bytes, start, end);
  return end;
}

function skipScalar(bytes: Buffer, start: number): number {
  const first = bytes[start];
  if (first === QUOTE) return skipString(bytes, start);
  if (first === MINUS || isDigit(first)) return skipNumber(bytes, start);
  for (const literal of ['true', 'false', 'null']) {
    if (
      first === literal.charCodeAt(0) &&
      bytes.toString('latin1', start, start + literal.length) === literal
    ) {
      return start + literal.length;
    }
  }
  throw new JsonSyntaxError('a value was expected', start);
}

/** Accepts any run of number characters; the number itself is validated when it is parsed. */
function skipNumber(bytes: Buffer, start: number): number {
  let position = start + 1;
  for (;;) {
    const byte = bytes[position];
    // digits + - . e E
    if (!isDigit(byte) && byte !== 0x2b && byte !== MINUS && byte !== 0x2e && byte !== 0x65 && byte !== 0x45)
      break;
    position++;
  }
  if (position - start === 1 && bytes[start] === MINUS)
    throw new JsonSyntaxError('a digit was expected', position);
  return position;
}

const isDigit = (byte: number | undefined) => byte !== undefined && byte >= 0x30 && byte <= 0x39;

/** The open containers of the value being skipped: 1 for an object, 0 for an array. Not re-entrant. */
const stack = new Uint8Array(MAX_DEPTH);

/**
 * The end of the value at `start`. With `open`, the end of the array that contains this element. One loop with an
 * explicit stack instead of recursion, for speed, and kept whole for the same reason. Throws JsonSyntaxError.
 */
export function skipValue(bytes: Buffer, start: number, open: 0 | 1 = 0): number {
  let depth: number = open;
  if (open) stack[0] = 0;
  let position = start;
  for (;;) {
    const byte = bytes[position];
    values++;
    if (limits && values > limits.values) throw tooMany(limits.values, 'values', position);
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      containers++;
      if (limits && containers > limits.containers)
        throw tooMany(limits.containers, 'lists and objects', position);
      if (depth === MAX_DEPTH) throw new JsonSyntaxError(`nested deeper than ${MAX_DEPTH}`, position);
      const isObject = byte === OPEN_BRACE;
      position = skipSpace(bytes, position + 1);
      if (bytes[position] !== (isObject ? CLOSE_BRACE : CLOSE_BRACKET)) {
        stack[depth++] = isObject ? 1 : 0;
        if (isObject) {
          keys?.open(depth);
          position = skipKey(bytes, position, depth);
        }
        continue;
      }
      position++;
    } else {
      position = skipScalar(bytes, position);
    }
    // After a value: close the containers that end here, or continue with the next member or element.
    for (;;) {
      if (depth === 0) return position;
      const isObject = stack[depth - 1] === 1;
      position = skipSpace(bytes, position);
      const next = bytes[position];
      if (next === COMMA) {
        position = skipSpace(bytes, position + 1);
        if (isObject) position = skipKey(bytes, position, depth);
        else if (position >= nextPoint && depth === 1) addPoint(position);
        break;
      }
      if (next !== (isObject ? CLOSE_BRACE : CLOSE_BRACKET))
        throw new JsonSyntaxError(`a comma or ${isObject ? '}' : ']'} was expected`, position);
      depth--;
      position++;
    }
  }
}

function addPoint(position: number): void {
  notePoint?.({ position, member: place, containers, values });
  nextPoint = position + POINT_BYTES;
}

function tooMany(limit: number, what: string, position: number): JsonSyntaxError {
  return new JsonSyntaxError(`more than ${limit} ${what}`, position);
}

function skipKey(bytes: Buffer, start: number, depth: number): number {
  const end = skipString(bytes, start);
  keys?.see(bytes, start, end, depth);
  const position = skipSpace(bytes, end);
  if (bytes[position] !== COLON) throw new JsonSyntaxError('a colon was expected', position);
  return skipSpace(bytes, position + 1);
}
