/** A field of a form, and the byte range of its value. */
export interface FormField {
  name: string;
  isFile: boolean;
  start: number;
  end: number;
}

const HEADERS_END = Buffer.from('\r\n\r\n');
/** `form-data` and its parameters, each a token or a quoted string without escapes, which servers read differently. */
const DISPOSITION =
  /^content-disposition:[ \t]*form-data((?:[ \t]*;[ \t]*[\w*-]+=(?:"[^"\\]*"|[^\s";\\]+))+)[ \t]*$/i;
const PARAMETER = /;[ \t]*([\w*-]{1,40})=(?:"([^"\\]*)"|([^\s";\\]+))/g;

/**
 * The fields of a `multipart/form-data` body (RFC 7578; RFC 2046, 5.1), in their order. Undefined for one that servers
 * could read differently: text before the first field or behind the last, escapes in names, a header twice.
 */
export function readForm(bytes: Buffer, contentType: string): FormField[] | undefined {
  const [, quoted, plain] =
    /;[ \t]*boundary=(?:"([^"\\]+)"|([^\s";]+))[ \t]*(?:;|$)/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return undefined;
  const first = Buffer.from(`--${boundary}\r\n`);
  const next = Buffer.from(`\r\n--${boundary}`);
  if (!bytes.subarray(0, first.length).equals(first)) return undefined;
  const fields: FormField[] = [];
  for (let at = first.length; ; ) {
    const headersEnd = bytes.indexOf(HEADERS_END, at);
    const end = bytes.indexOf(next, headersEnd + 2);
    if (headersEnd < 0 || end < 0) return undefined;
    const start = headersEnd + HEADERS_END.length;
    const named = nameIn(bytes.toString('latin1', at, headersEnd));
    if (!named || end < start) return undefined;
    fields.push({ ...named, start, end });
    const after = bytes.toString('latin1', end + next.length, end + next.length + 5);
    if (after === '--' || after === '--\r\n') return fields;
    if (!after.startsWith('\r\n')) return undefined;
    at = end + next.length + 2;
  }
}

function nameIn(headers: string): Pick<FormField, 'name' | 'isFile'> | undefined {
  const dispositions = headers.split('\r\n').filter((line) => /^content-disposition/i.test(line));
  const [, parameters = ''] = DISPOSITION.exec(dispositions[0] ?? '') ?? [];
  const found = new Map<string, string>();
  for (const [, key = '', quoted, plain] of parameters.matchAll(PARAMETER)) {
    if (found.has(key.toLowerCase())) return undefined;
    found.set(key.toLowerCase(), quoted ?? plain ?? '');
  }
  const name = found.get('name');
  if (dispositions.length !== 1 || name === undefined || found.has('name*')) return undefined;
  return {
    name: Buffer.from(name, 'latin1').toString('utf8'),
    isFile: found.has('filename') || found.has('filename*'),
  };
}
