import { badRequest, type GwError } from '../../errors.ts';
import type { Range } from '../../json/bytes.ts';

/** A form field and the byte range of its value. */
export interface FormField extends Range {
  name: string;
  isFile: boolean;
}

const HEADERS_END = Buffer.from('\r\n\r\n');
/** Header parameters, each a token or a quoted string without escapes, because servers decode escapes differently. */
const PARAMETERS = /^(?:[ \t]*;[ \t]*[\w*-]+=(?:"[^"\\]*"|[^\s";\\]+))+[ \t]*$/;
const PARAMETER = /;[ \t]*([\w*-]{1,40})=(?:"([^"\\]*)"|([^\s";\\]+))/g;
const TYPE = /^multipart\/form-data/i;
const DISPOSITION = /^content-disposition:[ \t]*form-data/i;

/** The limit of common servers: https://starlette.dev/requests/#request-files */
export const MAX_FIELDS = 1_000;

/** GwError 400 for a form with too many fields, which would take too long. */
export function tooManyFields(): GwError {
  return badRequest(
    `the form has more than ${MAX_FIELDS} fields. Send it in parts`,
    undefined,
    'too_many_fields',
  );
}

/**
 * The fields of a `multipart/form-data` body (RFC 7578; RFC 2046, 5.1), in order. Undefined for forms that servers may
 * read differently: text before the first field or after the last, escapes in names, duplicate headers or parameters,
 * and fields with their own encoding or charset. Throws GwError 400 above `MAX_FIELDS`.
 */
export function readForm(bytes: Buffer, contentType: string): FormField[] | undefined {
  const type = parametersOf(contentType.replace(TYPE, ''));
  const boundary = type?.get('boundary');
  if (boundary === undefined || !isPlainCharset(type?.get('charset'), UTF_8)) return undefined;
  const first = Buffer.from(`--${boundary}\r\n`, 'latin1');
  const next = Buffer.from(`\r\n--${boundary}`, 'latin1');
  if (!bytes.subarray(0, first.length).equals(first)) return undefined;
  const fields: FormField[] = [];
  for (let at = first.length; ; ) {
    const headersEnd = bytes.indexOf(HEADERS_END, at);
    const end = bytes.indexOf(next, headersEnd + 2);
    if (headersEnd < 0 || end < 0) return undefined;
    const start = headersEnd + HEADERS_END.length;
    const field = nameIn(bytes.toString('latin1', at, headersEnd));
    if (!field || end < start) return undefined;
    if (fields.length === MAX_FIELDS) throw tooManyFields();
    fields.push({ ...field, start, end });
    const after = bytes.toString('latin1', end + next.length, end + next.length + 5);
    if (after === '--' || after === '--\r\n') return fields;
    if (!after.startsWith('\r\n')) return undefined;
    at = end + next.length + 2;
  }
}

/** A header's parameters by lower-case name; undefined if servers may read them differently. */
function parametersOf(text: string): Map<string, string> | undefined {
  if (!PARAMETERS.test(text)) return undefined;
  const parameters = new Map<string, string>();
  for (const [, key = '', quoted, plain] of text.matchAll(PARAMETER)) {
    const name = key.toLowerCase();
    if (parameters.has(name) || name === 'name*' || name.startsWith('boundary*')) return undefined;
    parameters.set(name, quoted ?? plain ?? '');
  }
  return parameters;
}

function nameIn(headers: string): Pick<FormField, 'name' | 'isFile'> | undefined {
  const lines = headers.split('\r\n');
  const dispositions = lines.filter((line) => /^content-disposition/i.test(line));
  const [disposition = ''] = dispositions;
  if (dispositions.length !== 1 || !DISPOSITION.test(disposition) || lines.some(isEncoded)) return undefined;
  const parameters = parametersOf(disposition.replace(DISPOSITION, ''));
  const name = parameters?.get('name');
  if (!parameters || name === undefined) return undefined;
  return {
    name: Buffer.from(name, 'latin1').toString('utf8'),
    isFile: parameters.has('filename') || parameters.has('filename*'),
  };
}

const UTF_8 = /^utf-?8$/i;
/** Charsets that encode model names like UTF-8. */
const LIKE_UTF_8 = /^(?:utf-?8|us-ascii|iso-8859-1)$/i;
const isPlainCharset = (charset: string | undefined, plain: RegExp) =>
  charset === undefined || plain.test(charset);

/** Whether a header declares an encoded value: Go decodes `quoted-printable`, other servers decode charsets. */
function isEncoded(line: string): boolean {
  const [, name = '', value = ''] = /^(content-[\w-]+)[ \t]*:(.*)$/i.exec(line) ?? [];
  if (/^content-transfer-encoding$/i.test(name)) return !/^[ \t]*(?:7bit|8bit|binary)[ \t]*$/i.test(value);
  const charset = /charset[^=]*=[ \t]*"?([^";]*)/i.exec(value)?.[1]?.trim();
  return /^content-type$/i.test(name) && !isPlainCharset(charset, LIKE_UTF_8);
}
