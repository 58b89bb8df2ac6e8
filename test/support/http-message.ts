import { type Inbox, PeerGone } from './inbox.ts';

/** The head of an HTTP/1.1 message (RFC 9112), with names, order and repeats as they came. */
export interface Head {
  /** The request line or status line. */
  firstLine: string;
  headers: [name: string, value: string][];
  raw: Buffer;
}

/** The values of a header, joined as RFC 9110 5.3 allows; undefined when it is absent. */
export function headerOf(head: Head, name: string): string | undefined {
  const values = head.headers.filter(([key]) => key.toLowerCase() === name).map(([, value]) => value);
  return values.length > 0 ? values.join(', ') : undefined;
}

export async function readHead(inbox: Inbox): Promise<Head> {
  const raw = await inbox.takeThrough('\r\n\r\n');
  const [firstLine = '', ...lines] = raw.toString('latin1').trimEnd().split('\r\n');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  return { firstLine, headers, raw };
}

/** The body's bytes as they come, free of their framing; throws when the peer ends before the framing does. */
export async function* readBody(inbox: Inbox, head: Head, unframed: 'empty' | 'until close') {
  const length = headerOf(head, 'content-length');
  if (headerOf(head, 'transfer-encoding')?.toLowerCase() === 'chunked') yield* readChunked(inbox);
  else if (length !== undefined) yield* readCounted(inbox, Number(length));
  else if (unframed === 'until close') yield* readToEnd(inbox);
}

async function* readCounted(inbox: Inbox, count: number) {
  for (let left = count; left > 0; ) {
    const bytes = await inbox.takeSome(left);
    if (bytes.length === 0) throw new PeerGone(`the peer ended with ${left} bytes of ${count} to come`);
    left -= bytes.length;
    yield bytes;
  }
}

async function* readChunked(inbox: Inbox) {
  for (;;) {
    const size = Number.parseInt((await inbox.takeThrough('\r\n')).toString('latin1'), 16);
    if (Number.isNaN(size)) throw new Error('a chunk begins with no size');
    if (size === 0) break;
    yield* readCounted(inbox, size);
    await inbox.take(2);
  }
  while ((await inbox.takeThrough('\r\n')).length > 2);
}

async function* readToEnd(inbox: Inbox) {
  for (;;) {
    const bytes = await inbox.takeSome(Number.POSITIVE_INFINITY);
    if (bytes.length === 0) return;
    yield bytes;
  }
}

/** The bytes of one chunk of `transfer-encoding: chunked`; an empty one ends the body. */
export function chunkBytes(payload: Buffer | string): Buffer {
  const bytes = Buffer.from(payload);
  const size = bytes.length.toString(16);
  return Buffer.concat([Buffer.from(`${size}\r\n`), bytes, Buffer.from('\r\n')]);
}

/** The bytes of a head: the line, the headers, the empty line. */
export function headBytes(firstLine: string, headers: Record<string, string>): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${firstLine}\r\n${lines.join('')}\r\n`, 'latin1');
}
