import { badRequest, notFound } from '../errors.ts';
import { complete } from '../gateway/complete.ts';
import type { Exchange } from '../gateway/context/exchange.ts';
import type { Gateway } from '../gateway/context/gateway.ts';
import { geminiWire } from '../wire/apis/gemini.ts';
import { withCall } from '../wire/request/gemini-body.ts';
import { type Handler, queryOf, type RouteTable } from './routes.ts';

/**
 * The routes of Gemini's API: https://ai.google.dev/api. Names of models may have slashes, and the AI SDK leaves `models/` out
 * before those that do. google-genai for Python has used v1 since its version 3.
 */
export function geminiRoutes(gateway: Gateway): RouteTable {
  const answer: Handler = (exchange, { call = '' }) => generate(gateway, exchange, call);
  return { 'POST /v1beta/{call...}': answer, 'POST /v1/models/{call...}': answer };
}

/** `call` is a model's name with what is asked of it: `gemini-3-pro:generateContent`. */
async function generate(gateway: Gateway, exchange: Exchange, call: string): Promise<void> {
  const at = call.lastIndexOf(':');
  const model = call.slice(0, at).replace(/^models\//, '');
  const method = call.slice(at + 1);
  const isStream = method === 'streamGenerateContent';
  if (at <= 0 || (!isStream && method !== 'generateContent'))
    throw notFound(
      `gw has no method "${method.slice(0, 64)}" of Gemini's API: it has generateContent and streamGenerateContent`,
      'unknown_endpoint',
    );
  if (isStream && queryOf(exchange.target.query).alt !== 'sse')
    throw badRequest(
      'gw streams events alone, and no list: add ?alt=sse to the address',
      'alt',
      'unsupported_value',
    );
  await complete(gateway, geminiWire, exchange, (body) => withCall(body, { model, isStream }));
}
