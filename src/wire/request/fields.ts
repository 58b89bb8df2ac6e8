import { badRequest, GwError } from '../../errors.ts';
import {
  JsonSyntaxError,
  type Member,
  readValue,
  type ScanLimits,
  type SeeString,
  scanObject,
} from '../../json/scan.ts';

/** Typed access to the fields of a body that gw reads. `null` counts as absent, as it does for the providers. */
export interface Fields {
  find(key: string): Member | undefined;
  /** The field's value. Throws GwError 400, as all of these do. */
  read(key: string): unknown;
  boolean(key: string): boolean | undefined;
  integer(key: string, min: number, max: number): number | undefined;
}

/** About what a million tokens make, the longest context there is. To build so much takes less than half a second. */
const LIMITS: ScanLimits = { members: 1_000, containers: 250_000, values: 1_000_000 };

/** The members of the object that is the body. Throws GwError 400 for anything else. */
export function scanBody(bytes: Buffer, onString?: SeeString): Member[] {
  try {
    return scanObject(bytes, onString, LIMITS);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new GwError(`the body is not a JSON object: ${error.message}`, {
      status: 400,
      type: 'invalid_request_error',
      code: 'invalid_json',
      cause: error,
    });
  }
}

/** A field of `known` that stands twice could mean one thing here and another at the provider: it is refused. */
export function readFields(bytes: Buffer, members: Member[], known: ReadonlySet<string>): Fields {
  const found = new Map<string, Member>();
  for (const member of members) {
    if (!known.has(member.key)) continue;
    if (found.has(member.key)) {
      throw badRequest(`"${member.key}" stands twice in the body`, member.key, 'duplicate_parameter');
    }
    found.set(member.key, member);
  }
  const read = (key: string): unknown => {
    const member = found.get(key);
    if (!member) return undefined;
    try {
      return readValue(bytes, member) ?? undefined;
    } catch {
      throw badRequest(`"${key}" is not valid JSON`, key, 'invalid_json');
    }
  };
  return {
    find: (key) => found.get(key),
    read,
    boolean(key) {
      const value = read(key);
      if (value === undefined || typeof value === 'boolean') return value;
      throw badRequest(`"${key}" must be true or false`, key, 'invalid_type');
    },
    integer(key, min, max) {
      const value = read(key);
      if (value === undefined) return undefined;
      if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
      throw badRequest(`"${key}" must be a whole number from ${min} to ${max}`, key, 'invalid_type');
    },
  };
}

const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** An array that is not empty. What is in it is the provider's to judge. */
export function checkList(bytes: Buffer, fields: Fields, key: string, about: string): void {
  const member = fields.find(key);
  if (!member) throw badRequest(`"${key}" is missing: ${about}`, key, 'missing_required_parameter');
  if (bytes[member.start] !== OPEN_BRACKET)
    throw badRequest(`"${key}" must be an array`, key, 'invalid_type');
  const begin = bytes
    .toString('latin1', member.start + 1, Math.min(member.end, member.start + 64))
    .trimStart();
  if (begin.charCodeAt(0) === CLOSE_BRACKET) {
    throw badRequest(`"${key}" is empty: there is nothing to answer`, key, 'empty_array');
  }
}

/** A member that was there when the body was read. */
export function memberOf(members: readonly Member[], key: string): Member {
  const member = members.find((candidate) => candidate.key === key);
  if (!member) throw new Error(`the ${key} member is gone`);
  return member;
}
