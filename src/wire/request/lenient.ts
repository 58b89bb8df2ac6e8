import type { IncomingMessage } from 'node:http';
import { badRequest } from '../../errors.ts';
import { removeMember } from '../../json/edit.ts';
import { readValue, scanObject } from '../../json/scan.ts';
import { readFields } from './fields.ts';
import { type FormField, readForm } from './form.ts';
import { modelsInForm } from './named-models.ts';
import { TEXT_ONLY } from './non-text-input.ts';
import { readServiceObject } from './service-options.ts';
import type { WireRequest } from './wire-request.ts';

/** A request whose model gw knows if the body names one; `modelAt` is its byte range. */
export interface LooseRequest extends WireRequest {
  modelAt?: { start: number; end: number; quoted: boolean };
}

const FIELD_NAMES = new Set(['model', 'stream', 'service', 'n']);
const MAX_PICTURES = 1_000;

/** The number of pictures that a field asks for. */
function pictures(n: unknown): number {
  const count = Number(n ?? 1);
  return Number.isInteger(count) ? Math.min(Math.max(count, 1), MAX_PICTURES) : 1;
}

/** Reads model, `stream` and `service` from any kind of body. Throws GwError 400 for an invalid `service`. */
export function readLoosely(bytes: Buffer, { headers }: IncomingMessage): LooseRequest {
  const type = headers['content-type'] ?? '';
  if (/^multipart\/form-data/i.test(type)) return readFormRequest(bytes, type);
  return /json\b/i.test(type) ? (readJson(bytes) ?? bareRequest(bytes)) : bareRequest(bytes);
}

/** A request of which gw knows only the bytes. */
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

function readJson(bytes: Buffer): LooseRequest | undefined {
  let members: ReturnType<typeof scanObject>;
  try {
    members = scanObject(bytes);
  } catch {
    return undefined;
  }
  const fields = readFields(bytes, members, FIELD_NAMES);
  const request: LooseRequest = {
    ...bareRequest(bytes),
    members,
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

/** A form that servers could read differently names no model. Throws GwError 400 for a field that stands twice. */
function readFormRequest(bytes: Buffer, type: string): LooseRequest {
  const fields = readForm(bytes, type);
  if (!fields) return bareRequest(bytes);
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
