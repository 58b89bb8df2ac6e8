import type { IncomingHttpHeaders } from 'node:http';

/** The values of a body that may name objects: of JSON, of forms, and of the requests in a file of a batch. */
export function bodyValues(bytes: Buffer, headers: IncomingHttpHeaders): unknown {
  if (bytes.length === 0) return undefined;
  const type = headers['content-type'] ?? '';
  const boundary = /^multipart\/form-data.*?boundary="?([^";]+)/is.exec(type)?.[1];
  if (boundary !== undefined) return formValues(bytes, boundary);
  const text = bytes.toString('utf8').replace(/^\ufeff/, '');
  if (/^application\/x-www-form-urlencoded/i.test(type)) return Object.fromEntries(new URLSearchParams(text));
  return parse(text) ?? linesOf(text);
}

/** The fields of a form, and the lines of files that hold requests. */
function formValues(bytes: Buffer, boundary: string): unknown[] {
  return bytes
    .toString('utf8')
    .split(`--${boundary}`)
    .flatMap((part) => {
      const headEnd = part.indexOf('\r\n\r\n');
      if (headEnd < 0) return [];
      const head = part.slice(0, headEnd);
      const content = part.slice(headEnd + 4).replace(/\r\n$/, '');
      if (/\bfilename\*?=/i.test(head)) return linesOf(content);
      const name = /\bname="?([^";\r\n]*)/i.exec(head)?.[1]?.replace(/\[\]$/, '') ?? '';
      return [{ [name]: parse(content) ?? content }];
    });
}

/** What a line must have to name an object. */
const MAY_REFER = /_id|conversation|container|"prompt"|item_reference|\\u00/;

/** The lines of JSONL that may name objects. https://platform.openai.com/docs/guides/batch */
function linesOf(text: string): unknown[] {
  if (!/^\s*\{/.test(text.slice(0, 1_000))) return [];
  return text
    .split('\n')
    .filter((line) => MAY_REFER.test(line))
    .map(parse);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
