import { isObject } from '../../json/object.ts';
import type { Provider } from '../../providers/registry.ts';
import { parseObject } from '../../wire/answer/events.ts';

/** Which providers have chat completions and no responses, as their answers have told. */
export interface ResponsesSupport {
  isMissing(provider: Provider): boolean;
  /** It has answered a chat completion, where it had none of a response. */
  markMissing(provider: Provider): void;
  /** It has answered a response: what it refuses from now on is the request. */
  markSupported(provider: Provider): void;
  /** Whether it has been seen to answer responses. */
  isSupported(provider: Provider): boolean;
}

/** A provider may have been updated since, or was only broken. */
const REMEMBERED_MS = 10 * 60_000;

export function createResponsesSupport(now: () => number): ResponsesSupport {
  const until = new Map<string, number>();
  const others = new Set<string>();
  return {
    isMissing: (provider) => now() < (until.get(addressOf(provider)) ?? 0),
    markMissing: (provider) => void until.set(addressOf(provider), now() + REMEMBERED_MS),
    markSupported: (provider) => void others.add(addressOf(provider)),
    isSupported: (provider) => others.has(addressOf(provider)),
  };
}

function addressOf({ origin, basePath }: Provider): string {
  return origin + basePath;
}

/** "Not Found", "404 page not found", "File Not Found": all there is to say of a path. */
const NOTHING_HERE = /^\W*(404\W+)?((page|file|path|route|resource|endpoint|url) )?not found\W*$/i;
/** "Invalid URL (POST /v1/responses)", "Unknown request URL", "no Route matched". */
const NAMES_PATH = /\/responses\b|\b(url|route|path|endpoint)\b/i;

/**
 * Whether an error means that there is no such endpoint. A 404 may also be about the model, an earlier response or an
 * item that the request names; those say so in JSON.
 */
export function meansNoEndpoint(status: number, body: string): boolean {
  if (status === 405 || status === 501) return true;
  if (status !== 404) return false;
  const answer = parseObject(body);
  if (!answer) return true;
  const { error } = answer;
  const said = String((isObject(error) ? error.message : error) ?? answer.detail ?? answer.message ?? '');
  return NOTHING_HERE.test(said) || NAMES_PATH.test(said);
}
