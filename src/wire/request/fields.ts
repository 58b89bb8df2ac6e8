import { badRequest } from '../../errors.ts';
import { CLOSE_BRACKET, OPEN_BRACKET, START_OF_NULL } from '../../json/bytes.ts';
import { JsonSyntaxError, type Member, readValue } from '../../json/scan.ts';

/** Typed access to the body fields that gw reads. `null` counts as absent, as at the providers. */
export type Fields = ReturnType<typeof readFields>;

/** Rejects duplicate fields of `names`, because gw and the provider could read different ones. */
export function readFields(bytes: Buffer, members: Member[], names: ReadonlySet<string>) {
  const byKey = new Map<string, Member>();
  for (const member of members) {
    if (!names.has(member.key)) continue;
    if (byKey.has(member.key)) {
      throw badRequest(
        `"${member.key}" appears twice in the body: remove one`,
        member.key,
        'duplicate_parameter',
      );
    }
    byKey.set(member.key, member);
  }
  const read = (key: string): unknown => {
    const member = byKey.get(key);
    if (!member) return undefined;
    if (member.end - member.start > MAX_VALUE_BYTES)
      throw badRequest(`"${key}" is longer than ${MAX_VALUE_BYTES} bytes`, key, 'invalid_type');
    try {
      return readValue(bytes, member) ?? undefined;
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      throw badRequest(`"${key}" is not valid JSON`, key, 'invalid_json');
    }
  };
  return {
    find: (key: string): Member | undefined => byKey.get(key),
    /** The first byte of the field's value; undefined for `null`. */
    firstByte(key: string): number | undefined {
      const first = bytes[byKey.get(key)?.start ?? -1];
      return first === START_OF_NULL ? undefined : first;
    },
    /** The field's value, up to 1 MB. This and the next two methods throw GwError 400. */
    read,
    boolean(key: string): boolean | undefined {
      const value = read(key);
      if (value === undefined || typeof value === 'boolean') return value;
      throw badRequest(`"${key}" must be true or false`, key, 'invalid_type');
    },
    integer(key: string, min: number, max: number): number | undefined {
      const value = read(key);
      if (value === undefined) return undefined;
      if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
      throw badRequest(`"${key}" must be a whole number from ${min} to ${max}`, key, 'invalid_type');
    },
  };
}

/** Limit for options, limits and names. Parsing a longer value would delay other requests. */
const MAX_VALUE_BYTES = 1024 * 1024;

/** Requires a non-empty array. Its items are left to the provider to check. */
export function checkList(bytes: Buffer, fields: Fields, key: string, meaning: string): void {
  const member = fields.find(key);
  if (!member) throw badRequest(`"${key}" is missing: ${meaning}`, key, 'missing_required_parameter');
  if (bytes[member.start] !== OPEN_BRACKET)
    throw badRequest(`"${key}" must be an array`, key, 'invalid_type');
  const start = bytes
    .toString('latin1', member.start + 1, Math.min(member.end, member.start + 64))
    .trimStart();
  if (start.charCodeAt(0) === CLOSE_BRACKET) {
    throw badRequest(`"${key}" is empty: add a message`, key, 'empty_array');
  }
}

/** A member that must exist, because parsing required it. */
export function memberOf(members: readonly Member[], key: string): Member {
  const member = members.find((candidate) => candidate.key === key);
  if (!member) throw new Error(`the ${key} member is gone`);
  return member;
}
