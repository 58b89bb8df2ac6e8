import { badRequest } from '../../errors.ts';
import { type Edit, insertMember, replaceValue } from '../../json/edit.ts';
import { isObject } from '../../json/object.ts';
import { type Member, scanObject } from '../../json/scan.ts';
import type { Fields } from './fields.ts';

const ASK = '{"include_usage":true}';

/** Usage is always asked for upstream; the client sees it only if it asked itself. */
export function askForUsage(
  bytes: Buffer,
  members: Member[],
  fields: Fields,
): { wantsUsage: boolean; edits: Edit[] } {
  const member = fields.find('stream_options');
  const value = fields.read('stream_options');
  if (!member) return { wantsUsage: false, edits: [insertMember(members, 'stream_options', ASK)] };
  if (value === undefined) return { wantsUsage: false, edits: [replaceValue(member, ASK)] };
  if (!isObject(value)) {
    throw badRequest('"stream_options" must be an object', 'stream_options', 'invalid_type');
  }
  const asked = value.include_usage ?? false;
  if (typeof asked !== 'boolean') {
    const name = 'stream_options.include_usage';
    throw badRequest(`"${name}" must be true or false`, name, 'invalid_type');
  }
  const inner = scanObject(bytes.subarray(member.start, member.end));
  const own = inner.filter(({ key }) => key === 'include_usage');
  const text = own.length > 0 ? 'true' : inner.length > 0 ? '"include_usage":true,' : '"include_usage":true';
  // One that stands twice means the same in both places, whichever the provider takes.
  const places = own.length > 0 ? own : [{ start: 1, end: 1 }];
  const edits = places.map(({ start, end }) => ({
    start: member.start + start,
    end: member.start + end,
    text,
  }));
  return { wantsUsage: asked, edits: asked && own.length === 1 ? [] : edits };
}
