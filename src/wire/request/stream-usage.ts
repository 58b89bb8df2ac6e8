import { badRequest } from '../../errors.ts';
import { type Edit, insertMember, replaceValue } from '../../json/edit.ts';
import { isObject } from '../../json/object.ts';
import { type Member, scanObject } from '../../json/scan.ts';
import type { Fields } from './fields.ts';

const OPTIONS = '{"include_usage":true}';

/** The edits that request a stream's usage from the provider. The client receives it only if it requested it. */
export function requestUsage(
  bytes: Buffer,
  members: Member[],
  fields: Fields,
): { wantsUsage: boolean; edits: Edit[] } {
  const member = fields.find('stream_options');
  const value = fields.read('stream_options');
  if (!member) return { wantsUsage: false, edits: [insertMember(members, 'stream_options', OPTIONS)] };
  if (value === undefined) return { wantsUsage: false, edits: [replaceValue(member, OPTIONS)] };
  if (!isObject(value)) {
    throw badRequest('"stream_options" must be an object', 'stream_options', 'invalid_type');
  }
  const wantsUsage = value.include_usage ?? false;
  if (typeof wantsUsage !== 'boolean') {
    const name = 'stream_options.include_usage';
    throw badRequest(`"${name}" must be true or false`, name, 'invalid_type');
  }
  const inner = scanObject(bytes.subarray(member.start, member.end));
  const present = inner.filter(({ key }) => key === 'include_usage');
  const text =
    present.length > 0 ? 'true' : inner.length > 0 ? '"include_usage":true,' : '"include_usage":true';
  // Duplicates all get the same value, so that it doesn't matter which one the provider reads.
  const ranges = present.length > 0 ? present : [{ start: 1, end: 1 }];
  const edits = ranges.map(({ start, end }) => ({
    start: member.start + start,
    end: member.start + end,
    text,
  }));
  return { wantsUsage, edits: wantsUsage && present.length === 1 ? [] : edits };
}
