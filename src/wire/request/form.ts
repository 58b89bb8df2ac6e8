import { badRequest, type GwError } from '../../errors.ts';

/** A field of a form, and the byte range of its value. */
export interface FormField {
  name: string;
  isFile: boolean;
  start: number;
  end: number;
}

const HEADERS_END = Buffer.from('\r\n\r\n');
/** Parameters of a header, each a token or a quoted string without escapes, which servers read differently. */
const PARAMETERS = /^(?:[ \t]*;[ \t]*[\w*-]+=(?:"[^"\\]*"|[^\s";\\]+))+[ \t]*$/;
const PARAMETER = /;[ \t]*([\w*-]{1,40})=(?:"([^"\\]*)"|([^\s";\\]+))/g;
const TYPE = /^multipart\/form-data/i;
const DISPOSITION = /^content-disposition:[ \t]*form-data/i;

/** As many as servers take: https://starlette.dev/requests/#request-files */
export const MAX_FIELDS = 1_000;

/** 400 for a form of more fields: each takes its time. */
export function tooManyFields(): GwError {
  return badRequest(
    `the form has more than ${MAX_FIELDS} fields. Send it in parts`,
    undefined,
    'too_many_fields',
  );
}

/**
 * The fields of a `multipart/form-data` body (RFC 7578; RFC 2046, 5.1), in their order. Undefined for one that servers
 * could read differently: text before the first field or behind the last, escapes in names, a header or a parameter twice,
 * a field in an encoding or a charset of its own. Throws GwError 400 above `MAX_FIELDS`.
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
    const named = nameIn(bytes.toString('latin1', at, headersEnd));
    if (!named || end < start) return undefined;
    if (fields.length === MAX_FIELDS) throw tooManyFields();
    fields.push({ ...named, start, end });
    const after = bytes.toString('latin1', end + next.length, end + next.length + 5);
    if (after === '--' || after === '--\r\n') return fields;
    if (!after.startsWith('\r\n')) return undefined;
    at = end + next.length + 2;
  }
}

/** The parameters of a header by their names in small letters; undefined for those that servers read differently. */
function parametersOf(text: string): Map<string, string> | undefined {
  if (!PARAMETERS.test(text)) return undefined;
  const found = new Map<string, string>();
  for (const [, key = '', quoted, plain] of text.matchAll(PARAMETER)) {
    const name = key.toLowerCase();
    if (found.has(name) || name === 'name*' || name.startsWith('boundary*')) return undefined;
    found.set(name, quoted ?? plain ?? '');
  }
  return found;
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
/** Charsets in which the name of a model has the same bytes. */
const LIKE_UTF_8 = /^(?:utf-?8|us-ascii|iso-8859-1)$/i;
const isPlainCharset = (charset: string | undefined, plain: RegExp) =>
  charset === undefined || plain.test(charset);

/** Whether a header says that the value is encoded: Go decodes `quoted-printable`, other servers decode charsets. */
function isEncoded(line: string): boolean {
  const [, name = '', value = ''] = /^(content-[\w-]+)[ \t]*:(.*)$/i.exec(line) ?? [];
  if (/^content-transfer-encoding$/i.test(name)) return !/^[ \t]*(?:7bit|8bit|binary)[ \t]*$/i.test(value);
  const charset = /charset[^=]*=[ \t]*"?([^";]*)/i.exec(value)?.[1]?.trim();
  return /^content-type$/i.test(name) && !isPlainCharset(charset, LIKE_UTF_8);
}
