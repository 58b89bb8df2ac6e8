import type { IncomingMessage } from 'node:http';
import { badRequest } from '../../errors.ts';
import { OPEN_BRACKET, type Range } from '../../json/bytes.ts';
import { removeMember } from '../../json/edit.ts';
import { foldKey } from '../../json/key-watch.ts';
import { readValue, skipSpace } from '../../json/scan.ts';
import { readFields } from './fields.ts';
import { type FormField, readForm } from './form.ts';
import { modelsInForm } from './named-models.ts';
import { TEXT_ONLY } from './non-text-input.ts';
import { type BodyScan, scanBody } from './scan/body-scan.ts';
import { readServiceObject } from './service-options.ts';
import type { WireRequest } from './wire-request.ts';

/** A request of any content type. `modelAt` is the byte range of its model, if the body names one. */
export interface LooseRequest extends WireRequest {
  modelAt?: Range & { quoted: boolean };
}

const FIELD_NAMES = new Set(['model', 'stream', 'service', 'n']);
const MAX_PICTURES = 1_000;

/** The requested number of images. */
function pictures(n: unknown): number {
  const count = typeof n === 'number' || typeof n === 'string' ? Number(n) : 1;
  return Number.isInteger(count) ? Math.min(Math.max(count, 1), MAX_PICTURES) : 1;
}

/**
 * Reads `model`, `stream` and `service` from any kind of body. `scan` is the scan of the same bytes, or null if they
 * are not a JSON object. Throws GwError 400 for an invalid `service`.
 */
export function readLoosely(
  bytes: Buffer,
  { headers }: Pick<IncomingMessage, 'headers'>,
  scan?: BodyScan | null,
): LooseRequest {
  const type = headers['content-type'] ?? '';
  if (/^multipart\/form-data/i.test(type)) return readFormRequest(bytes, type);
  if (!/json\b/i.test(type)) return bareRequest(bytes);
  const bodyScan = scan === undefined ? scanJson(bytes) : scan;
  return bodyScan ? readJson(bytes, bodyScan) : { ...bareRequest(bytes), isBroken: isBroken(bytes, type) };
}

/** A request known only by its bytes. */
export function bareRequest(bytes: Buffer): WireRequest {
  return {
    bytes,
    members: [],
    model: '',
    stream: false,
    options: {},
    maxOutputTokens: undefined,
    choices: 1,
    wantsUsage: true,
    nonText: TEXT_ONLY,
    edits: [],
  };
}

/** Whether a body announced as JSON is not an object. Lists and empty bodies are exempt: they have no fields. */
function isBroken(bytes: Buffer, type: string): boolean {
  const first = bytes[skipSpace(bytes, 0)];
  return first !== undefined && first !== OPEN_BRACKET && /^[\w.-]+\/(?:[\w.-]+\+)?json\b/i.test(type);
}

function scanJson(bytes: Buffer): BodyScan | null {
  try {
    return scanBody(bytes, undefined);
  } catch {
    return null;
  }
}

function readJson(bytes: Buffer, { members, mayMislead }: BodyScan): LooseRequest {
  const fields = readFields(bytes, members, FIELD_NAMES);
  const request: LooseRequest = {
    ...bareRequest(bytes),
    members,
    mayMislead,
    stream: fields.read('stream') === true,
    choices: pictures(fields.read('n')),
  };
  const service = fields.find('service');
  if (service) {
    request.options = readServiceObject(readValue(bytes, service));
    request.edits.push(removeMember(members, service));
  }
  const model = fields.find('model');
  const name = fields.read('model');
  if (!model || typeof name !== 'string') return request;
  return { ...request, model: name, modelAt: { start: model.start, end: model.end, quoted: true } };
}

/**
 * Reads a form. Forms that servers may read differently name no model. Throws GwError 400 for duplicate fields, and for
 * names that some servers would read as one of gw's fields: in another case, or as a list.
 */
function readFormRequest(bytes: Buffer, type: string): LooseRequest {
  const fields = readForm(bytes, type);
  if (!fields) return bareRequest(bytes);
  for (const { name } of fields) {
    const plain = foldKey(name.replace(/\[.*/, '').trim());
    if (plain !== name && FIELD_NAMES.has(plain))
      throw badRequest(
        `"${name}" could be read as "${plain}": write "${plain}"`,
        plain,
        'ambiguous_parameter',
      );
  }
  const find = (name: string) => {
    const [field, second] = fields.filter((each) => each.name === name);
    if (!second) return field?.isFile ? undefined : field;
    throw badRequest(`"${name}" appears twice in the form: remove one`, name, 'duplicate_parameter');
  };
  const [model, stream, n] = [find('model'), find('stream'), find('n')];
  const text = (at: FormField) => bytes.toString('utf8', at.start, at.end);
  const request: LooseRequest = {
    ...bareRequest(bytes),
    stream: stream !== undefined && text(stream) === 'true',
    choices: pictures(n && text(n)),
    named: () => modelsInForm(bytes, fields),
  };
  return model
    ? { ...request, model: text(model), modelAt: { start: model.start, end: model.end, quoted: false } }
    : request;
}
