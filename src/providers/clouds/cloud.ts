import type { ProviderSettings } from '../../config/settings.ts';

/** A request on its way to a cloud. */
export interface CloudRequest {
  method: string;
  /** Scheme, host and port. */
  origin: string;
  path: string;
  /** Alternating names and values. */
  headers: string[];
  body: Buffer | null;
}

/** Makes the headers that authenticate a request, from credentials that expire. */
export interface Signer {
  /** Alternating names and values. Throws an Error whose message says how to renew the credentials. */
  sign(request: CloudRequest): Promise<string[]>;
  /** Whether an answer says that the credentials of these headers have expired. If so, the next `sign` gets others. */
  hasExpired(status: number, body: string, signed: readonly string[]): boolean;
  /** When the credentials expire, UTC milliseconds; undefined if they don't, or before their first use. */
  expiresAt(): number | undefined;
}

/** Reads an answer in a cloud's frames as server-sent events. */
export interface FrameReader {
  /** The events in the bytes so far. Throws on bytes that are no frames. */
  read(chunk: Buffer): Buffer;
}

/** Leaves out the betas that a cloud refuses, which clients of Anthropic's own API send. */
export interface BetaFilter {
  /** The request without what was refused for its model before. */
  withoutRefused(request: CloudRequest): CloudRequest;
  /** The request without what an answer refuses; undefined if that is something else, or nothing is left to leave out. */
  afterRefusal(status: number, body: string, request: CloudRequest): CloudRequest | undefined;
}

/** What a cloud puts around a known API: address, fields of the body, authentication, frames. */
export interface Cloud {
  /**
   * Whether it counts the tokens of a messages request; undefined to go by the provider's preset. Clients, whose counts
   * must not fail, are not passed on to one that counts for some models only.
   */
  countsInput?: boolean | 'for holds';
  /** The API of its errors. */
  wire: 'openai' | 'anthropic' | 'gemini';
  /** The request in the cloud's envelope. */
  wrap?(request: CloudRequest): CloudRequest;
  /** For Claude: betas of Anthropic's own API that the cloud refuses. */
  betas?: BetaFilter;
  /** Absent for a key in a header. */
  signer?: Signer;
  /** For answers of the type `application/vnd.amazon.eventstream`. */
  openFrames?(): Promise<FrameReader>;
}

export interface CloudOptions {
  settings: ProviderSettings;
  /** A key that needs no signature; undefined for the cloud's own credentials. */
  key: string | undefined;
}

export interface Address {
  baseUrl: string;
  cloud: Cloud;
}

/** How an account at a cloud is reached: most models by OpenAI's API, Claude by Anthropic's, Gemini by Google's. */
export interface CloudAccount extends Address {
  claude?: Address;
  gemini?: Address;
  /** Where its own credentials come from, for display. */
  keySource: string | undefined;
}
