import type { IncomingMessage } from 'node:http';
import type { GwError } from '../errors.ts';
import { googleError } from '../wire/answer/google-error.ts';

const GEMINI_PATH = /^(?:\/+v1)*\/+v1(?:beta\/|\/models\/[^?]*:\w+(?:\?|$))/;

/** Vertex AI's, but for Claude, whose errors are Anthropic's. */
const VERTEX_PATH =
  /^\/v1(?:beta1)?\/(?:projects\/[^/?]+\/locations\/|publishers\/|cachedContents\b)(?![^?]*awPredict)/;

/** Whether the client uses Gemini's API and so expects its errors. */
export const speaksGoogle = ({ url = '' }: IncomingMessage): boolean =>
  GEMINI_PATH.test(url) || VERTEX_PATH.test(url);

/** An error in Google's shape: gw's code is its reason, and gw's fields are its metadata. */
export function googleErrorBody({ message, status, code, fields }: GwError) {
  // Google's metadata are texts.
  const textOf = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : `${value}`);
  const metadata = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, textOf(value)]));
  const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code, domain: 'gw', metadata };
  return { error: { ...googleError(message, status), details: [info] } };
}
