import type { Socket } from 'node:net';

const HEAD = Buffer.from('HTTP/1.1 100');
/** `HTTP/1.0 100`: some servers answer so. */
const VERSION_AT = 7;
const END = Buffer.from('\r\n\r\n');
/** A longer head is left to the parser, which refuses it. */
const MAX_HEAD_BYTES = 16_384;

/**
 * Drops the `100 Continue` that a server may send unasked before its answer, as any client has to
 * (https://www.rfc-editor.org/rfc/rfc9110#section-15.2): undici takes it for a bad response.
 */
export function skipContinue(socket: Socket): void {
  const read = socket.read.bind(socket);
  const write = socket.write;
  /** The next bytes begin an answer. */
  let isAtHead = true;
  let held: Buffer | undefined;
  socket.write = function (this: Socket, ...args: unknown[]) {
    isAtHead = true;
    return Reflect.apply(write, this, args);
  } as typeof socket.write;
  socket.read = (size?: number) => {
    if (!isAtHead || size !== undefined) return read(size);
    for (;;) {
      const chunk: Buffer | null = read();
      if (chunk === null) return null;
      const bytes: Buffer = held ? Buffer.concat([held, chunk]) : chunk;
      held = undefined;
      const rest = afterContinue(bytes);
      if (rest === undefined && bytes.length < MAX_HEAD_BYTES) {
        held = bytes;
        continue;
      }
      if (rest?.length === 0) continue;
      isAtHead = false;
      return rest ?? bytes;
    }
  };
}

/** The bytes behind all informational heads of status 100; undefined if more bytes have to tell. */
function afterContinue(bytes: Buffer): Buffer | undefined {
  let rest = bytes;
  for (;;) {
    const length = Math.min(rest.length, HEAD.length);
    for (let i = 0; i < length; i++) if (rest[i] !== HEAD[i] && i !== VERSION_AT) return rest;
    if (rest.length === 0) return rest;
    const end = rest.length < HEAD.length ? -1 : rest.indexOf(END);
    if (end < 0) return undefined;
    rest = rest.subarray(end + END.length);
  }
}
