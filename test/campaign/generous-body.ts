import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { isLooseObject, type Loose, type LooseObject, readLoosely } from './generous-json.ts';

/** What a server may take a request's body for: the members of JSON, fields of forms and lines, in whatever encoding. */
export function readBodies(body: Buffer, headers: readonly [name: string, value: string][]): LooseObject[] {
  if (body.length === 0) return [];
  const plain = decompressed(body, headers);
  return [...new Set(textsOf(plain, headers))].flatMap((text) => [...objectsIn(text), ...formIn(text)]);
}

function decompressed(body: Buffer, headers: readonly [string, string][]): Buffer {
  const names = headers
    .filter(([name]) => name === 'content-encoding')
    .flatMap(([, value]) => value.split(','));
  let plain = body;
  for (const name of names.reverse()) {
    const decode = DECODERS[name.trim().toLowerCase()];
    try {
      plain = decode?.(plain) ?? plain;
    } catch {
      return plain;
    }
  }
  return plain;
}

const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: (bytes) => gunzipSync(bytes),
  'x-gzip': (bytes) => gunzipSync(bytes),
  deflate: (bytes) => inflateSync(bytes),
  br: (bytes) => brotliDecompressSync(bytes),
};

/** The body in each encoding that it may be in: as it stands, without what is not UTF-8, and as UTF-16, UTF-32 and UTF-7. */
function textsOf(body: Buffer, headers: readonly [string, string][]): string[] {
  const text = body.toString('utf8');
  const texts = [text, text.replaceAll('\ufffd', ''), body.toString('latin1')];
  // Python's json.loads() goes by the zeros among the first four bytes.
  if (body.subarray(0, 4).includes(0) || (body[0] ?? 0) >= 0xfe) {
    texts.push(body.toString('utf16le'), text.replaceAll('\0', ''));
    if (body.length % 2 === 0) texts.push(Buffer.from(body).swap16().toString('utf16le'));
  }
  if (headers.some(([name, value]) => name === 'content-type' && /utf-?7/i.test(value)))
    texts.push(
      text.replace(/\+([\w/]*)-/g, (_, base64: string) =>
        base64 === '' ? '+' : Buffer.from(base64, 'base64').swap16().toString('utf16le'),
      ),
    );
  return texts;
}

const objectsIn = (text: string): LooseObject[] =>
  readLoosely(text)
    .flatMap((value) => (Array.isArray(value) ? value : [value]))
    .filter(isLooseObject);

/** The fields of a form, in parts or in one line. A value may be JSON itself. */
function formIn(text: string): LooseObject[] {
  const entries: LooseObject['entries'] = [];
  if (text.startsWith('--') || text.includes('form-data')) {
    for (const part of text.split(/\r?\n?--[^\r\n]*/)) {
      const [head = '', ...rest] = part.split(/\r?\n\r?\n/);
      const name = /name\*?="?([^";\r\n]*)/i.exec(head)?.[1];
      if (name !== undefined) entries.push([name.replace(/\[\]$/, ''), fieldValue(rest.join('\n\n').trim())]);
    }
  } else if (/^[^{[\s]*=/.test(text)) {
    for (const [name, value] of new URLSearchParams(text)) entries.push([name, fieldValue(value)]);
  }
  return entries.length > 0 ? [{ entries }] : [];
}

/** A field of a form, or a parameter of a query, as JSON where it looks like that. */
export function fieldValue(text: string): Loose {
  return /^[[{"]|^\d+$|^true$/.test(text) ? (readLoosely(text)[0] ?? text) : text;
}
