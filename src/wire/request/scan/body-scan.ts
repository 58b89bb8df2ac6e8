import { isUtf8 } from 'node:buffer';
import { GwError } from '../../../errors.ts';
import { KeyWatch } from '../../../json/key-watch.ts';
import type { Earlier } from '../../../json/recent-texts.ts';
import {
  JsonSyntaxError,
  type Member,
  type ScanLimits,
  type ScanPoint,
  scanObject,
} from '../../../json/scan.ts';
import type { StringReaders, StringsSeen } from '../non-text-input.ts';
import { KNOWN_KEYS } from './misleading-key.ts';

/** The results of one pass over a body. Plain data, so that another thread can send it. */
export interface BodyScan {
  members: Member[];
  /** Findings from the strings; undefined if the API's strings are not inspected. */
  strings: StringsSeen | undefined;
  /** A nested object may have a duplicate or ambiguous key. */
  mayMislead: boolean;
  /** Positions where the scan of a longer body can resume. */
  points: readonly BodyPoint[];
  /** `StringReaders.kind` of the readers that found `strings`. */
  kind: string | undefined;
}

interface BodyPoint extends ScanPoint {
  strings: StringsSeen | undefined;
  mayMislead: boolean;
}

/** A body and its scan. */
export interface ScannedBody {
  bytes: Buffer;
  scan: BodyScan;
}

/** Roughly the size of a million tokens, the longest context available. Parsing that takes under half a second. */
const LIMITS: ScanLimits = { members: 1_000, containers: 250_000, values: 1_000_000 };

/**
 * Scans a body's JSON object, which must be UTF-8 (RFC 8259, 8.1). The common prefix with an earlier body is not
 * scanned again. Throws GwError 400 for any other body.
 */
export function scanBody(
  bytes: Buffer,
  readers: StringReaders | undefined,
  earlier?: Earlier<ScannedBody>,
): BodyScan {
  if (!isUtf8(earlier ? bytes.subarray(startOfCharacter(bytes, earlier.shared)) : bytes))
    throw notAnObject('it is not UTF-8, so decoders differ in what they read. Send it as UTF-8');
  const before = earlier?.entry.scan.kind === readers?.kind ? earlier : undefined;
  const points = before ? sharedPoints(before) : [];
  const point = points.at(-1);
  const reader = readers?.create(point?.strings);
  const keys = new KeyWatch(KNOWN_KEYS, point?.mayMislead);
  try {
    const members = scanObject(bytes, {
      onString: reader?.see,
      keys,
      limits: LIMITS,
      from: point && before && { point, members: before.entry.scan.members },
      onPoint: (scanPoint) => points.push({ ...scanPoint, strings: reader?.seen(), mayMislead: keys.found }),
    });
    return { members, strings: reader?.seen(), mayMislead: keys.found, points, kind: readers?.kind };
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw notAnObject(error.message, error);
  }
}

/** Start of the UTF-8 character before `position`, which may end after it. */
function startOfCharacter(bytes: Buffer, position: number): number {
  let start = Math.max(position - 1, 0);
  while (start > 0 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start--;
  return start;
}

const notAnObject = (why: string, cause?: JsonSyntaxError): GwError =>
  invalidJson(`the body is not a JSON object: ${why}`, cause);

function invalidJson(message: string, cause?: JsonSyntaxError): GwError {
  return new GwError(message, {
    status: 400,
    type: 'invalid_request_error',
    code: 'invalid_json',
    cause,
  });
}

function sharedPoints({ entry, shared }: Earlier<ScannedBody>): BodyPoint[] {
  const { points } = entry.scan;
  // Findings up to an element don't depend on what follows it.
  const count = points.findLastIndex(({ position }) => position <= shared) + 1;
  return points.slice(0, count);
}

/**
 * The scan after texts in one member were replaced, which added `added` bytes. The string findings remain those of the
 * original.
 */
export function withEditedMember(scan: BodyScan, { start }: Member, added: number): BodyScan {
  const members = scan.members.map((member) => {
    if (member.start < start) return member;
    const end = member.end + added;
    if (member.start === start) return { ...member, end };
    return { ...member, keyStart: member.keyStart + added, start: member.start + added, end };
  });
  return { ...scan, members, points: [] };
}
