import { OPEN_BRACKET } from '../../json/bytes.ts';
import type { Member } from '../../json/scan.ts';
import type { WireRequest } from './wire-request.ts';

/** Lists of tools that the model may call. */
const TOOLS: ReadonlySet<string> = new Set(['tools', 'functions']);
/** Fields that may request JSON output. */
const FORMATS: ReadonlySet<string> = new Set(['response_format', 'text', 'output_config', 'output_format']);
const JSON_FORMAT = Buffer.from('json');

/** Quick check whether a request has tools or asks for JSON. It may report false positives. */
export function asksForStructure({ bytes, members }: WireRequest): boolean {
  return members.some(
    (member) =>
      (TOOLS.has(member.key) && hasElements(bytes, member)) ||
      (FORMATS.has(member.key) && bytes.subarray(member.start, member.end).includes(JSON_FORMAT)),
  );
}

/** Length of `[]`. Spaces between the brackets count as an element. */
const EMPTY = 2;

function hasElements(bytes: Buffer, { start, end }: Member): boolean {
  return bytes[start] === OPEN_BRACKET && end - start > EMPTY;
}
