import { isObject } from '../../json/object.ts';
import { parseObject } from '../../wire/answer/events.ts';
import { readForm } from '../../wire/request/form.ts';

/** The fields of a request for media, of a JSON body or a form. */
export interface MediaRequest {
  /** The text of a field, empty if it is missing. */
  text(name: string): string;
  /** The number of elements of a list, 0 if it is none. */
  count(name: string): number;
  /** The files of a form. */
  files: readonly Buffer[];
}

/** Parsing a longer body would delay other requests. */
const MAX_JSON_BYTES = 4 * 1024 * 1024;

/** Undefined for a body that servers may read in different ways. */
export function readMediaRequest(bytes: Buffer, contentType: string): MediaRequest | undefined {
  return /^multipart\/form-data/i.test(contentType)
    ? readMediaForm(bytes, contentType)
    : readMediaJson(bytes);
}

function readMediaForm(bytes: Buffer, contentType: string): MediaRequest | undefined {
  const fields = readForm(bytes, contentType);
  if (!fields) return undefined;
  const texts = fields.filter(({ isFile }) => !isFile);
  const names = texts.map(({ name }) => name.toLowerCase()).filter((name) => !name.endsWith('[]'));
  if (new Set(names).size < names.length) return undefined;
  return {
    text(name) {
      const field = texts.find((each) => each.name === name);
      return field ? bytes.toString('utf8', field.start, field.end) : '';
    },
    count: (name) => fields.filter((each) => each.name === name || each.name === `${name}[]`).length,
    files: fields.filter(({ isFile }) => isFile).map(({ start, end }) => bytes.subarray(start, end)),
  };
}

function readMediaJson(bytes: Buffer): MediaRequest | undefined {
  const body = bytes.length > MAX_JSON_BYTES ? undefined : parseObject(bytes.toString('utf8'));
  if (!body) return undefined;
  return {
    text(name) {
      const value = body[name];
      return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
    },
    count(name) {
      const value = body[name];
      return Array.isArray(value) ? value.length : isObject(value) || typeof value === 'string' ? 1 : 0;
    },
    files: [],
  };
}
