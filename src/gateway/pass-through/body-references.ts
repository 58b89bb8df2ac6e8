import type { IncomingHttpHeaders } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { MAX_FIELDS, tooManyFields } from '../../wire/request/form.ts';
import { MAY_NAME, referencesIn, referencesInText } from '../objects/references.ts';
import type { References } from '../state/access/stored-objects.ts';

/**
 * The ids in a body: in JSON, in the fields of forms, and in files with requests for a batch. Lets others have their turn
 * after every `SLICE` characters of such a file.
 */
export async function bodyReferences(bytes: Buffer, headers: IncomingHttpHeaders): Promise<References> {
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
async function referencesInForm(text: string, boundary: string): Promise<References> {
  // With the text before the first field and behind the last.
  const parts = text.split(`--${boundary}`, MAX_FIELDS + 3);
  if (parts.length > MAX_FIELDS + 2) throw tooManyFields();
  const found: Found = { named: new Set(), seen: new Set() };
  for (const part of parts) {
    const headEnd = part.indexOf('\r\n\r\n');
    if (headEnd < 0) continue;
    const head = part.slice(0, headEnd);
    const content = part.slice(headEnd + 4).replace(/\r\n$/, '');
    if (/\bfilename\*?=/i.test(head)) {
      await addLines(found, content);
      continue;
    }
    const name = /\bname="?([^";\r\n]*)/i.exec(head)?.[1]?.replace(/\[\]$/, '') ?? '';
    add(found, referencesIn({ [name]: content }));
    add(found, referencesInText(content));
  }
  return found;
}

type Found = Record<keyof References, Set<string>>;

function add(to: Found, { named, seen }: References): void {
  for (const id of named) to.named.add(id);
  for (const id of seen) to.seen.add(id);
}

/** Python's parser takes UTF-16 and UTF-32 for JSON too, whose zero bytes are left out here. No other text has any. */
function withoutZeros(text: string): string {
  return text.slice(0, 64).includes('\0') ? text.replaceAll('\0', '') : text;
}

/**
 * The ids in the lines of JSONL (https://platform.openai.com/docs/guides/batch), whatever stands before its first object.
 * A binary file has no such lines.
 */
async function addLines(found: Found, text: string): Promise<void> {
  const lines = withoutZeros(text);
  let since = 0;
  for (let start = 0; start < lines.length; ) {
    const newline = lines.indexOf('\n', start);
    const end = newline < 0 ? lines.length : newline;
    const line = lines.slice(start, end);
    if (line.includes('{') && MAY_NAME.test(line)) add(found, referencesInText(line));
    start = end + 1;
    if (start - since < SLICE) continue;
    since = start;
    await setImmediate();
  }
}

/** Characters of lines whose ids are found in about 10 ms. */
const SLICE = 65_536;
