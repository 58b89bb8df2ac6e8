import type { IncomingMessage } from 'node:http';
import { removeMember } from '../../json/edit.ts';
import { readValue, scanObject } from '../../json/scan.ts';
import { readFields } from './fields.ts';
import { TEXT_ONLY } from './non-text-input.ts';
import { readServiceObject } from './service-options.ts';
import type { WireRequest } from './wire-request.ts';

/** A request of which gw reads the model, if it names one; `modelAt` is where. */
export interface LooseRequest extends WireRequest {
  modelAt?: { start: number; end: number; quoted: boolean };
}

const KNOWN = new Set(['model', 'stream', 'service']);

/** Reads what little there is to read of any body: not whether it is one that an endpoint takes. Throws GwError 400 for a bad `service`. */
export function readLoosely(bytes: Buffer, { headers }: IncomingMessage): LooseRequest {
  const type = headers['content-type'] ?? '';
  if (/^multipart\/form-data/i.test(type)) return fromForm(bytes);
  return /json\b/i.test(type) ? (fromJson(bytes) ?? bareRequest(bytes)) : bareRequest(bytes);
}

/** A request of which nothing is known but its bytes. */
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

function fromJson(bytes: Buffer): LooseRequest | undefined {
  let members: ReturnType<typeof scanObject>;
  try {
    members = scanObject(bytes);
  } catch {
    return undefined;
  }
  const fields = readFields(bytes, members, KNOWN);
  const request: LooseRequest = { ...bareRequest(bytes), members, stream: fields.read('stream') === true };
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

const MODEL_PART = Buffer.from('name="model"');
const STREAM_PART = Buffer.from('name="stream"');

function fromForm(bytes: Buffer): LooseRequest {
  const model = partAt(bytes, MODEL_PART);
  const stream = partAt(bytes, STREAM_PART);
  const text = (at: { start: number; end: number }) => bytes.toString('utf8', at.start, at.end);
  const request: LooseRequest = {
    ...bareRequest(bytes),
    stream: stream !== undefined && text(stream) === 'true',
  };
  return model ? { ...request, model: text(model), modelAt: { ...model, quoted: false } } : request;
}

/** The value of a form's field, which ends with its line. */
function partAt(bytes: Buffer, mark: Buffer): { start: number; end: number } | undefined {
  const at = bytes.indexOf(mark);
  const headersEnd = at < 0 ? -1 : bytes.indexOf('\r\n\r\n', at);
  const end = headersEnd < 0 ? -1 : bytes.indexOf('\r\n', headersEnd + 4);
  return end < 0 ? undefined : { start: headersEnd + 4, end };
}
