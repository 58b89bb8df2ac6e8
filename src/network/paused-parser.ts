import type { Socket } from 'node:net';
import { parserKey } from './undici.ts';

/** What undici's parser of HTTP/1 has of use here. */
interface Parser {
  paused: boolean;
  /** Null once it is destroyed. */
  ptr: number | null;
  llhttp: { llhttp_resume(ptr: number): void };
  execute(chunk: Buffer): void;
}

const NOTHING = Buffer.alloc(0);
/** Once for the body, once for the end of the message; then nothing is left to pause at. */
const MOST_PAUSES = 3;

/**
 * Lets the parser of an answer go on when its connection ends while a slow client has paused it: undici 7 ends the
 * process there (https://github.com/nodejs/undici/issues/5360, mended in undici 8, which needs Node 22). Call it before
 * undici has the socket, so that its listeners come second.
 */
export function resumeAtEnd(socket: Socket): void {
  const resume = () => {
    const parser = (socket as unknown as Record<symbol, Parser | null | undefined>)[parserKey];
    for (let i = 0; i < MOST_PAUSES && parser?.paused && parser.ptr !== null; i++) {
      parser.llhttp.llhttp_resume(parser.ptr);
      parser.paused = false;
      if (i < MOST_PAUSES - 1) parser.execute(NOTHING);
    }
  };
  for (const event of ['end', 'error', 'close']) socket.on(event, resume);
}
