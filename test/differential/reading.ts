/** What a server read in a request. */
export interface Reading {
  method: string;
  /** Decoded, as its router compares it. */
  path: string;
  /** The pattern that the path matched; null for none. */
  route: string | null;
  /** Every value that an application can get of a field: from the query, a form or a JSON body. */
  values: Readonly<Record<string, readonly unknown[]>>;
  /** The JSON body; null without one. */
  tree: unknown;
  /** A JSON body as read into fields of fixed names. */
  typed?: unknown;
}

/** What gw read in a request, by its record. */
export interface OwnReading {
  endpoint: string;
  provider: string;
  model: string;
  stream: boolean;
  holdNanoUsd: number;
  /** The key may use the cheap models alone. */
  isLimited: boolean;
}

/** A request as gw sent it to a provider. */
export interface Forwarded {
  /** The name under which its client sent it. */
  name: string;
  method: string;
  /** With the query. */
  target: string;
  type: string;
  body: Buffer;
  /** The very bytes. */
  bytes: Buffer;
}
