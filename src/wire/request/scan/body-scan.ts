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

/** What one pass over a body finds out: plain data, which another thread can send. */
export interface BodyScan {
  members: Member[];
  /** What the strings tell; undefined where the API's are not looked at. */
  strings: StringsSeen | undefined;
  /** An object within the body may have a key twice, or a misspelt one. */
  mayMislead: boolean;
  /** Where the scan of a longer body can go on. */
  points: readonly BodyPoint[];
  /** The kind of `strings`. */
  kind: string | undefined;
}

interface BodyPoint extends ScanPoint {
  strings: StringsSeen | undefined;
  mayMislead: boolean;
}

/** A body that was scanned. */
export interface ScannedBody {
  bytes: Buffer;
  scan: BodyScan;
}

/** Roughly the size of a million tokens, the longest context on offer. Building as much takes under half a second. */
const LIMITS: ScanLimits = { members: 1_000, containers: 250_000, values: 1_000_000 };

/**
 * Scans a body's JSON object, which is UTF-8 (RFC 8259, 8.1). What it shares with an earlier body is not scanned again.
 * Throws GwError 400 for any other body.
 */
export function scanBody(
  bytes: Buffer,
  readers: StringReaders | undefined,
  earlier?: Earlier<ScannedBody>,
): BodyScan {
  if (!isUtf8(bytes))
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
      onPoint: (found) => points.push({ ...found, strings: reader?.seen(), mayMislead: keys.found }),
    });
    return { members, strings: reader?.seen(), mayMislead: keys.found, points, kind: readers?.kind };
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw notAnObject(error.message, error);
  }
}

const notAnObject = (why: string, cause?: JsonSyntaxError): GwError =>
  invalidJson(`the body is not a JSON object: ${why}`, cause);

export function invalidJson(message: string, cause?: JsonSyntaxError): GwError {
  return new GwError(message, {
    status: 400,
    type: 'invalid_request_error',
    code: 'invalid_json',
    cause,
  });
}

function sharedPoints({ entry, shared }: Earlier<ScannedBody>): BodyPoint[] {
  const { points } = entry.scan;
  // What the strings before an element mean does not depend on what follows it.
  const count = points.findLastIndex(({ position }) => position <= shared) + 1;
  return points.slice(0, count);
}

/**
 * The scan of the body once texts in one of its members have been replaced, which made it longer by `added` bytes. What the
 * strings tell is that of the original.
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
