import { badRequest } from '../../errors.ts';
import { type Edit, insertMember, removeMember, replaceValue } from '../../json/edit.ts';
import type { Member } from '../../json/scan.ts';
import { type Fields, memberOf, readFields, scanBody } from './fields.ts';
import { type NonTextInput, type NonTextWords, nonTextReaders, TEXT_ONLY } from './non-text-input.ts';
import { readServerTools, type ToolShape } from './server-tools.ts';
import { readServiceObject } from './service-options.ts';
import { askForUsage } from './stream-usage.ts';
import { SURCHARGE_FIELDS, surchargesOf } from './surcharges.ts';
import type { WireRequest } from './wire-request.ts';

const MAX_OUTPUT_TOKENS = 100_000_000;
const MAX_MODEL_NAME = 500;

/** What there is to read in a request besides `model`, `stream` and `service`, which all have. */
export interface RequestShape {
  /** The fields that limit the output; the first is the one to write where the request has none. */
  limits: readonly string[];
  /** Further fields that `check` and `choices` read. */
  reads?: readonly string[];
  /** Throws GwError 400 with `param`. */
  check?(fields: Fields, bytes: Buffer): void;
  /** How many answers are asked for; one if it is left out. */
  choices?(fields: Fields): number;
  /** What tells input that the request only points at. */
  nonText?: NonTextWords;
  /** Fields that tell as much by being there. */
  stored?: readonly string[];
  tools?: ToolShape;
  /** Output that may be billed beyond the limit. */
  beyondLimit?(fields: Fields): number | undefined;
  /** What the model may think by a limit of its own. */
  reasoningBudget?(fields: Fields): number;
  /** A stream reports its usage only if `stream_options` asks for it. */
  asksForUsage?: boolean;
}

/** The reader of one wire's requests: a few facts, and the edits to make; all other bytes stay as they came. */
export function createParser(shape: RequestShape): (bytes: Buffer) => WireRequest {
  const known = new Set([
    'model',
    'stream',
    'stream_options',
    'service',
    ...SURCHARGE_FIELDS,
    ...shape.limits,
    ...(shape.reads ?? []),
    ...(shape.stored ?? []),
    ...(shape.tools ? ['tools', ...Object.keys(shape.tools.fields ?? {})] : []),
    ...(shape.tools?.limitField ? [shape.tools.limitField] : []),
  ]);
  const newReader = shape.nonText && nonTextReaders(shape.nonText);
  const stored = shape.stored ?? [];
  return (bytes) => {
    const reader = newReader?.();
    const members = scanBody(bytes, reader?.see);
    checkKeys(members, known);
    const fields = readFields(bytes, members, known);
    const model = readModel(fields);
    shape.check?.(fields, bytes);
    const stream = fields.boolean('stream') ?? false;
    const usage = stream && shape.asksForUsage ? askForUsage(bytes, members, fields) : undefined;
    const limit = largestOf(fields, shape.limits);
    const service = fields.find('service');
    const edits = usage?.edits ?? [];
    const hasOddType = reader?.hasOddType() ?? false;
    return {
      bytes,
      members,
      model,
      stream,
      options: readServiceObject(fields.read('service')),
      maxOutputTokens: limit,
      choices: shape.choices?.(fields) ?? 1,
      beyondLimit: shape.beyondLimit?.(fields),
      reasoningTokens: shape.reasoningBudget?.(fields),
      surcharges: surchargesOf(fields),
      serverTools: shape.tools && readServerTools(shape.tools, { bytes, members, fields, hasOddType }),
      wantsUsage: usage?.wantsUsage ?? !shape.asksForUsage,
      nonText: withStored(reader?.nonText() ?? TEXT_ONLY, fields, stored),
      edits: service ? [removeMember(members, service), ...edits] : edits,
    };
  };
}

/** A field in other letters is the field to some providers (Go's decoder takes any case) and nothing to others. */
function checkKeys(members: readonly Member[], known: ReadonlySet<string>): void {
  for (const { key } of members) {
    if (!ODD_LETTERS.test(key)) continue;
    // By way of capitals, since those of ſ and K are S and K.
    const meant = key.replaceAll(BAD_BYTES, '').toUpperCase().toLowerCase();
    if (known.has(meant)) {
      throw badRequest(`"${key}" may be taken for "${meant}": write it so`, meant, 'ambiguous_parameter');
    }
  }
}

const ODD_LETTERS = /[^a-z\d_]/;
/** What stands for bytes that are no UTF-8; some decoders drop them. */
const BAD_BYTES = '\ufffd';

function withStored(nonText: NonTextInput, fields: Fields, stored: readonly string[]): NonTextInput {
  const isStored = stored.some((key) => fields.read(key) !== undefined);
  return isStored ? { ...nonText, context: true } : nonText;
}

function readModel(fields: Fields): string {
  const model = fields.read('model');
  if (model === undefined)
    throw badRequest(
      '"model" is missing: say which model is to answer',
      'model',
      'missing_required_parameter',
    );
  if (typeof model !== 'string' || model === '' || model.length > MAX_MODEL_NAME) {
    throw badRequest('"model" must be the name of a model', 'model', 'invalid_type');
  }
  return model;
}

function largestOf(fields: Fields, limits: readonly string[]): number | undefined {
  let largest: number | undefined;
  for (const key of limits) {
    const value = fields.integer(key, 1, MAX_OUTPUT_TOKENS);
    if (value !== undefined && (largest === undefined || value > largest)) largest = value;
  }
  return largest;
}

/** The edit that puts another model name into a request. */
export function renameModel({ members }: WireRequest, model: string): Edit {
  return replaceValue(memberOf(members, 'model'), JSON.stringify(model));
}

/** The edits that set every output limit that the request has, or else write `field`. */
export function writeLimit(
  { members }: WireRequest,
  limits: readonly string[],
  field: string,
  tokens: number,
): Edit[] {
  const written = members.filter(({ key }) => limits.includes(key));
  if (written.length > 0) return written.map((member) => replaceValue(member, String(tokens)));
  return [insertMember(members, field, String(tokens))];
}
