import { connect } from 'node:net';
import type { Sending } from './requests.ts';

/** What a client got on its connection. */
export interface Received {
  bytes: Buffer;
  /** How it ended: gw closed it, the client broke it off, or gw left it open. */
  end: 'closed' | 'hung up' | 'stuck';
}

/** A client that gets nothing for so long says that it sends no more (FIN). */
const PATIENCE_MS = 80;
/** How long gw may take to end a connection. Its tokenizer counts for one request after the other. */
export const BOUND_MS = 60_000;
const TICKS = 10;

/**
 * A timer by the event loop's own time: a process that the machine doesn't run for a while has missed one of its ticks,
 * and not what has come in the meantime.
 */
function afterTicks(ms: number, run: () => void): { refresh(): void; cancel(): void } {
  let left = TICKS;
  const timer = setInterval(() => {
    if (--left > 0) return;
    clearInterval(timer);
    run();
  }, ms / TICKS);
  return {
    refresh: () => {
      left = TICKS;
    },
    cancel: () => clearInterval(timer),
  };
}

/** Sends the pieces on a connection of their own, each in a write and a turn of its own. */
export function converse(
  port: number,
  { pieces, hangsUp }: Sending,
  patienceMs = PATIENCE_MS,
): Promise<Received> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    const parts: Buffer[] = [];
    let end: Received['end'] = 'closed';
    const done = () => {
      timer.cancel();
      bound.cancel();
      resolve({ bytes: Buffer.concat(parts), end });
    };
    const timer = afterTicks(patienceMs, () => socket.end());
    const bound = afterTicks(BOUND_MS, () => {
      end = 'stuck';
      socket.destroy();
    });
    socket.on('data', (part: Buffer) => {
      parts.push(part);
      timer.refresh();
    });
    // gw may close before it has read everything; the end counts, not the error.
    socket.on('error', () => {});
    socket.on('close', done);
    let next = 0;
    const write = () => {
      const piece = pieces[next++];
      if (socket.destroyed) return;
      if (piece) {
        socket.write(piece);
        setImmediate(write);
      } else if (hangsUp) {
        end = 'hung up';
        socket.resetAndDestroy();
      }
    };
    socket.once('connect', write);
  });
}

export interface Answer {
  status: number;
  headers: ReadonlyMap<string, string>;
  body: Buffer;
  complete: boolean;
}

/**
 * Splits what came into answers by their framing; throws where the bytes are no HTTP. If one of the requests may have been
 * HEAD, a body that looks like the next answer is taken for that.
 */
export function answersIn(bytes: Buffer, mayBeHead: boolean): Answer[] {
  const answers: Answer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const headEnd = bytes.indexOf('\r\n\r\n', at);
    if (headEnd < 0) break;
    const [first = '', ...lines] = bytes.toString('latin1', at, headEnd).split('\r\n');
    const [, code] = /^HTTP\/1\.1 (\d{3})( |$)/.exec(first) ?? [];
    if (code === undefined) throw new Error(`no answer begins with ${JSON.stringify(first.slice(0, 80))}`);
    const headers = new Map(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    );
    at = headEnd + 4;
    const status = Number(code);
    if (status < 200) continue;
    const { body, next, complete } = bodyAt(bytes, at, { headers, status, mayBeHead });
    answers.push({ status, headers, body, complete });
    at = next;
  }
  return answers;
}

function bodyAt(
  bytes: Buffer,
  from: number,
  { headers, status, mayBeHead }: Pick<Answer, 'headers' | 'status'> & { mayBeHead: boolean },
) {
  const length = headers.get('content-length');
  if (status === 204 || status === 304) return { body: Buffer.alloc(0), next: from, complete: true };
  if (headers.get('transfer-encoding') !== 'chunked') {
    const rest = bytes.subarray(from);
    // The answer to HEAD has a length and no body: the next answer begins, or nothing comes.
    const isBodiless =
      rest.length === 0 || (mayBeHead && rest.subarray(0, 9).toString('latin1') === 'HTTP/1.1 ');
    const end = isBodiless ? from : length === undefined ? bytes.length : from + Number(length);
    return { body: bytes.subarray(from, end), next: end, complete: end <= bytes.length };
  }
  const parts: Buffer[] = [];
  for (let at = from; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = lineEnd < 0 ? Number.NaN : Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (lineEnd < 0 || Number.isNaN(size))
      return { body: Buffer.concat(parts), next: bytes.length, complete: false };
    if (size === 0) return { body: Buffer.concat(parts), next: lineEnd + 4, complete: true };
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 4 + size;
  }
}
