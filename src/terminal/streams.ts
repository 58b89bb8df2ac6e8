import type { Readable, Writable } from 'node:stream';

/** A stream that is written to, and what is known of the terminal behind it. */
export type Output = Writable & { isTTY?: boolean | undefined; columns?: number | undefined };

/** A stream that is read, in raw mode where it is a terminal. */
export type Input = Readable & {
  isTTY?: boolean | undefined;
  setRawMode?: ((raw: boolean) => unknown) | undefined;
};
