import type { Readable, Writable } from 'node:stream';

/** An output stream, with the properties of the terminal behind it. */
export type Output = Writable & { isTTY?: boolean | undefined; columns?: number | undefined };

/** An input stream, with raw mode if it is a terminal. */
export type Input = Readable & {
  isTTY?: boolean | undefined;
  setRawMode?: ((raw: boolean) => unknown) | undefined;
};
