import type { IncomingHttpHeaders } from 'node:http';
import { MAX_FIELDS, tooManyFields } from '../../wire/request/form.ts';
import { MAY_NAME, referencesIn, referencesInText } from '../objects/references.ts';
import type { References } from '../state/access/stored-objects.ts';

/** The ids in a body: in JSON, in the fields of forms, and in files with requests for a batch. */
export function bodyReferences(bytes: Buffer, headers: IncomingHttpHeaders): References {
  if (bytes.length === 0) return NONE;
  const type = headers['content-type'] ?? '';
  const boundary = /^multipart\/form-data.*?boundary="?([^";]+)/is.exec(type)?.[1];
  const text = withoutZeros(bytes.toString('utf8'));
  if (boundary !== undefined) return referencesInForm(text, boundary);
  if (/^application\/x-www-form-urlencoded/i.test(type))
    return referencesIn(Object.fromEntries(new URLSearchParams(text)));
  return referencesInText(text);
}

const NONE: References = { named: new Set(), seen: new Set() };

/** The ids in the fields of a form, and in the lines of files that hold requests. */
function referencesInForm(text: string, boundary: string): References {
  // With the text before the first field and behind the last.
  const parts = text.split(`--${boundary}`, MAX_FIELDS + 3);
  if (parts.length > MAX_FIELDS + 2) throw tooManyFields();
  const all = parts.flatMap((part) => {
    const headEnd = part.indexOf('\r\n\r\n');
    if (headEnd < 0) return [];
    const head = part.slice(0, headEnd);
    const content = part.slice(headEnd + 4).replace(/\r\n$/, '');
    if (/\bfilename\*?=/i.test(head)) return referencesInLines(content);
    const name = /\bname="?([^";\r\n]*)/i.exec(head)?.[1]?.replace(/\[\]$/, '') ?? '';
    return [referencesIn({ [name]: content }), referencesInText(content)];
  });
  return {
    named: new Set(all.flatMap(({ named }) => [...named])),
    seen: new Set(all.flatMap(({ seen }) => [...seen])),
  };
}

/** Python's parser takes UTF-16 and UTF-32 for JSON too, whose zero bytes are left out here. No other text has any. */
function withoutZeros(text: string): string {
  return text.slice(0, 64).includes('\0') ? text.replaceAll('\0', '') : text;
}

/**
 * The ids in the lines of JSONL (https://platform.openai.com/docs/guides/batch), whatever stands before its first object.
 * A binary file has no such lines.
 */
function referencesInLines(text: string): References[] {
  return withoutZeros(text)
    .split('\n')
    .filter((line) => line.includes('{') && MAY_NAME.test(line))
    .map(referencesInText);
}
