import { badRequest } from '../../errors.ts';
import { START_OF_NULL } from '../../json/bytes.ts';
import { type Edit, insertMember, removeMember, replaceValue } from '../../json/edit.ts';
import { isObject } from '../../json/object.ts';
import { plainName } from '../../json/plain-name.ts';
import type { Earlier } from '../../json/recent-texts.ts';
import { type Member, scanObject } from '../../json/scan.ts';
import { isStated } from '../../pricing/payload-fields.ts';
import { type Fields, memberOf, readFields } from './fields.ts';
import { otherModelsIn } from './named-models.ts';
import { type NonTextMarkers, stringReaders, TEXT_ONLY } from './non-text-input.ts';
import { type ScannedBody, scanBody } from './scan/body-scan.ts';
import { readServerTools, type ToolShape } from './server-tools.ts';
import { readServiceObject } from './service-options.ts';
import { SURCHARGE_FIELDS, surchargesOf } from './surcharges.ts';
import type { WireRequest } from './wire-request.ts';

const MAX_OUTPUT_TOKENS = 100_000_000;
const MAX_MODEL_NAME = 500;

/** The request fields of an API, besides `model`, `stream` and `service`. */
export interface RequestShape {
  /** The fields that limit the output. */
  limits: readonly string[];
  /** The only one of `limits` that all servers support. Without it, the others are no reliable limit. */
  certainLimit?: string;
  /** The lowest limit that the API accepts; 1 if undefined. */
  leastLimit?: number;
  /** Further fields read by the functions of this shape. */
  fields?: readonly string[];
  /** Throws GwError 400 with `param`. */
  check?(fields: Fields, bytes: Buffer): void;
  /** Number of requested choices; 1 if undefined. */
  choices?(fields: Fields, bytes: Buffer): number;
  /** Strings that mark non-text input. */
  nonText?: NonTextMarkers;
  /** Fields that refer to input stored by the provider. */
  stored?: readonly string[];
  tools?: ToolShape;
  /** Output tokens that may be billed beyond the limit. */
  beyondLimit?(fields: Fields): number | undefined;
  /** `thinking` is a field of this API. At other APIs, its effect depends on the provider and is unknown. */
  hasThinking?: boolean;
  /** The request's separate limit of reasoning tokens. */
  reasoningBudget?(fields: Fields): number;
  /** Streams report usage only if `stream_options` requests it. */
  usageOnRequest?: boolean;
}

/** Reads an API's requests. All bytes are kept, except for the returned edits. */
export function createParser(shape: RequestShape) {
  const fieldNames = new Set([
    'model',
    'stream',
    'stream_options',
    'service',
    ...SURCHARGE_FIELDS,
    ...shape.limits,
    ...(shape.fields ?? []),
    ...(shape.stored ?? []),
    ...(shape.tools ? ['tools', ...Object.keys(shape.tools.fields ?? {})] : []),
    ...(shape.tools?.limitField ? [shape.tools.limitField] : []),
  ]);
  const plainNames = new Map([...fieldNames].map((name) => [plainName(name), name]));
  const readers = shape.nonText && stringReaders(shape.nonText);
  const stored = shape.stored ?? [];
  const scanWhole = (bytes: Buffer, earlier?: Earlier<ScannedBody>) => scanBody(bytes, readers, earlier);
  /** `scan` must be of the same bytes. */
  function parse(bytes: Buffer, scan = scanWhole(bytes)): WireRequest {
    const { members, strings } = scan;
    checkKeys(members, plainNames);
    const fields = readFields(bytes, members, fieldNames);
    const model = readModel(fields);
    shape.check?.(fields, bytes);
    const stream = fields.boolean('stream') ?? false;
    const usage = stream && shape.usageOnRequest ? requestUsage(bytes, members, fields) : undefined;
    const isLimited = shape.certainLimit === undefined || isStated(fields.read(shape.certainLimit));
    const largest = largestLimit(fields, shape.limits);
    const limit = isLimited ? largest : undefined;
    const service = fields.find('service');
    const edits = usage?.edits ?? [];
    const nonText = strings?.nonText ?? TEXT_ONLY;
    const isStored = stored.some((key) => fields.firstByte(key) !== undefined);
    const hasUnusualType = strings !== undefined && (strings.nonText.context || strings.types.unusual);
    return {
      bytes,
      members,
      scan,
      mayMislead: scan.mayMislead,
      model,
      stream,
      options: readServiceObject(fields.read('service')),
      maxOutputTokens: limit,
      leastLimit: shape.leastLimit,
      choices: shape.choices?.(fields, bytes) ?? 1,
      beyondLimit: shape.beyondLimit?.(fields),
      reasoningTokens: shape.reasoningBudget?.(fields),
      foreignThinking: !shape.hasThinking && members.some(({ key }) => key === 'thinking'),
      surcharges: surchargesOf(fields, otherModelsIn(bytes, members)),
      serverTools:
        shape.tools && readServerTools(shape.tools, { bytes, members, fields, hasUnusualType, isStored }),
      wantsUsage: usage?.wantsUsage ?? !shape.usageOnRequest,
      nonText: isStored ? { ...nonText, context: true, onlyStored: !nonText.context } : nonText,
      cacheWrites: strings?.cacheWrites,
      edits: service ? [removeMember(members, service), ...edits] : edits,
    };
  }
  return {
    /** The first step of `parse`. `earlier` is a body with a common prefix. */
    scan: scanWhole,
    parse,
  };
}

/** Rejects a name that only some decoders would read as a known field. */
function checkKeys(members: readonly Member[], fieldNames: ReadonlyMap<string, string>): void {
  for (const { key } of members) {
    const name = UNUSUAL_CHARACTER.test(key) ? fieldNames.get(plainName(key)) : undefined;
    if (name !== undefined && name !== key)
      throw badRequest(`"${key}" could be read as "${name}": write "${name}"`, name, 'ambiguous_parameter');
  }
}

const UNUSUAL_CHARACTER = /[^a-z\d_]/;

function readModel(fields: Fields): string {
  const model = fields.read('model');
  if (model === undefined)
    throw badRequest(
      '"model" is missing: name the model to use. See: gw models',
      'model',
      'missing_required_parameter',
    );
  if (typeof model !== 'string' || model === '' || model.length > MAX_MODEL_NAME) {
    throw badRequest('"model" must be the name of a model', 'model', 'invalid_type');
  }
  return model;
}

function largestLimit(fields: Fields, limits: readonly string[]): number | undefined {
  let largest: number | undefined;
  for (const key of limits) {
    const value = fields.integer(key, 1, MAX_OUTPUT_TOKENS);
    if (value !== undefined && (largest === undefined || value > largest)) largest = value;
  }
  return largest;
}

/** The edits that replace the model name. */
export function renameModel({ members }: WireRequest, model: string): Edit[] {
  return [replaceValue(memberOf(members, 'model'), JSON.stringify(model))];
}

/** The edits that lower every limit in the request to `tokens`, or insert `field` if there is none. */
export function writeLimit(
  { bytes, members }: WireRequest,
  limits: readonly string[],
  field: string,
  tokens: number,
): Edit[] {
  const present = members.filter(({ key }) => limits.includes(key));
  if (present.length === 0) return [insertMember(members, field, String(tokens))];
  const nonNull = present.filter((member) => bytes[member.start] !== START_OF_NULL);
  const isAbove = ({ start, end }: Member) => Number(bytes.toString('latin1', start, end)) > tokens;
  const changed = nonNull.length > 0 ? nonNull.filter(isAbove) : present;
  return changed.map((member) => replaceValue(member, String(tokens)));
}

const OPTIONS = '{"include_usage":true}';

/** The edits that request a stream's usage from the provider. The client receives the usage only if it requested it. */
function requestUsage(
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
  // Duplicates all get the same value, so that the provider can read any of them.
  const ranges = present.length > 0 ? present : [{ start: 1, end: 1 }];
  const edits = ranges.map(({ start, end }) => ({
    start: member.start + start,
    end: member.start + end,
    text,
  }));
  return { wantsUsage, edits: wantsUsage && present.length === 1 ? [] : edits };
}
