import { isObject } from '../../json/object.ts';
import type { Provider } from '../../providers/registry.ts';
import { parseObject } from '../../wire/answer/events.ts';

/** Which providers have the Responses API and which have only chat completions, learnt from their answers. */
export type ResponsesSupport = ReturnType<typeof createResponsesSupport>;

/** How long `isMissing` lasts: the provider may be updated, or was only broken. */
const MISSING_MS = 10 * 60_000;

export function createResponsesSupport(now: () => number) {
  const missingUntil = new Map<string, number>();
  const supporting = new Set<string>();
  return {
    isMissing: (provider: Provider): boolean =>
      provider.dialect?.lacksResponses === true || now() < (missingUntil.get(addressOf(provider)) ?? 0),
    /** The provider has answered a chat completion after it refused the response. */
    markMissing: (provider: Provider) => void missingUntil.set(addressOf(provider), now() + MISSING_MS),
    /** The provider has answered a response, so whatever it refuses from now on is the request itself. */
    markSupported: (provider: Provider) => void supporting.add(addressOf(provider)),
    isSupported: (provider: Provider): boolean => supporting.has(addressOf(provider)),
  };
}

function addressOf({ origin, basePath }: Provider): string {
  return origin + basePath;
}

/** A message about the path alone: "Not Found", "404 page not found", "File Not Found". */
const NOTHING_HERE = /^\W*(404\W+)?((page|file|path|route|resource|endpoint|url) )?not found\W*$/i;
/** "Invalid URL (POST /v1/responses)", "Unknown request URL", "no Route matched". */
const NAMES_PATH = /\/responses\b|\b(url|route|path|endpoint)\b/i;

/**
 * Whether an error means that the endpoint doesn't exist. A 404 may also be about the model, an earlier response or an
 * item; such an error is JSON and says so.
 */
export function meansNoEndpoint(status: number, body: string): boolean {
  if (status === 405 || status === 501) return true;
  if (status !== 404) return false;
  const answer = parseObject(body);
  if (!answer) return true;
  const { error } = answer;
  const message = (isObject(error) ? error.message : error) ?? answer.detail ?? answer.message;
  return typeof message === 'string' && (NOTHING_HERE.test(message) || NAMES_PATH.test(message));
}
