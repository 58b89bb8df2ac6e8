import { notFound } from '../errors.ts';
import { listEnvelope } from '../gateway/answer/json-list.ts';
import { complete } from '../gateway/complete.ts';
import type { Exchange } from '../gateway/context/exchange.ts';
import type { Gateway } from '../gateway/context/gateway.ts';
import { nameAt } from '../gateway/intake/addressed-message.ts';
import { costsOf } from '../gateway/pass-through/endpoints.ts';
import { type GoogleCall, knownPath } from '../gateway/pass-through/google-call.ts';
import { passThrough } from '../gateway/pass-through/pass-through.ts';
import { isGoogleEmbedding } from '../providers/registry.ts';
import { geminiWire } from '../wire/apis/gemini.ts';
import { geminiEmbeddingsWire, withEmbedCall } from '../wire/apis/gemini-embeddings.ts';
import { withCall } from '../wire/request/gemini-body.ts';
import { type Handler, queryOf, type RouteTable } from './routes.ts';

/**
 * The routes of Gemini's API: https://ai.google.dev/api. Names of models may have slashes, and the AI SDK leaves `models/` out
 * before those that do. google-genai for Python has used v1 since its version 3.
 */
export function geminiRoutes(gateway: Gateway): RouteTable {
  const answer: Handler = (exchange, { call = '' }) => answerCall(gateway, exchange, call);
  return {
    'POST /v1beta/{call...}': answer,
    'POST /v1/models/{call...}': answer,
    'GET /v1beta/{call...}': answer,
    'PATCH /v1beta/{call...}': answer,
    'DELETE /v1beta/{call...}': answer,
    ...vertexCaches(),
    ...ofVertex((exchange, { publisher = '', call = '' }) => {
      const at = Math.max(call.lastIndexOf(':'), 0);
      const name = call.slice(0, at);
      const model = nameAt(gateway, 'vertex', publisher === 'google' ? name : `${publisher}/${name}`);
      return answerCall(gateway, exchange, model + call.slice(at));
    }),
  };
}

/**
 * Gemini as clients of Vertex AI ask for it, in a project or by a key alone. Google's client makes the publisher of what
 * stands before a slash in a model's name, such as `sandbox/free`.
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference,
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/start/express-mode/overview
 */
const ofVertex = (handler: Handler): RouteTable =>
  Object.fromEntries(
    ['v1', 'v1beta1'].flatMap((version) =>
      ['', '/projects/{project}/locations/{location}'].map((place) => [
        `POST /${version}${place}/publishers/{publisher}/models/{call...}`,
        handler,
      ]),
    ),
  );

/**
 * Caches of Vertex AI, which cost by the hour, and name a project and a model by paths of their own:
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/context-cache/context-cache-overview
 */
const vertexCaches = (): RouteTable =>
  Object.fromEntries(
    [
      'v1/projects/{project}/locations/{location}',
      'v1beta1/projects/{project}/locations/{location}',
      'v1beta1',
    ].map((place) => [`POST /${place}/cachedContents`, refuseCaches]),
  );

const refuseCaches: Handler = async () => {
  throw notFound(
    "gw does not pass on Vertex AI's caches, which cost by the hour: its Gemini reads a prompt's beginning from its cache without them, and the provider gemini has caches at /v1beta/cachedContents",
    'unknown_endpoint',
  );
};

/** Objects that the API stores, whose names may be followed by what is asked of them: `batches/b1:cancel`. */
const STORED = /^(?:files|cachedContents|batches)(?:\/|$)/;

/** `call` is a model's name with what is asked of it: `gemini-3-pro:generateContent`. */
async function answerCall(gateway: Gateway, exchange: Exchange, call: string): Promise<void> {
  const google = STORED.test(call) ? { model: '', method: '' } : callOf(call);
  const { model, method } = google;
  const isStream = method === 'streamGenerateContent';
  const { method: asked = 'GET' } = exchange.request;
  if (asked === 'POST' && embeds(google))
    return complete(gateway, geminiEmbeddingsWire, exchange, (body) =>
      withEmbedCall(body, { model, isStream: false }),
    );
  if (asked === 'POST' && (isStream || method === 'generateContent')) {
    if (isStream && queryOf(exchange.target.query).alt !== 'sse') exchange.envelope = listEnvelope();
    return complete(gateway, geminiWire, exchange, (body) => withCall(body, { model, isStream }));
  }
  if (costsOf({ name: '', wire: 'gemini' }, asked, knownPath(google, `/${call}`)) === undefined)
    throw notFound(
      `gw has no ${asked} ${call.slice(0, 64)} of Gemini's API: it has generateContent, streamGenerateContent, embedContent, batchEmbedContents, predict for embeddings, countTokens, batchGenerateContent, and cachedContents, files and batches by their names`,
      'unknown_endpoint',
    );
  return passThrough(gateway, exchange, { google });
}

/** Vertex AI's older embeddings are predictions, as are pictures and films. */
const embeds = ({ model, method }: GoogleCall): boolean =>
  method === 'embedContent' ||
  method === 'batchEmbedContents' ||
  (method === 'predict' && isGoogleEmbedding(model));

function callOf(call: string): GoogleCall {
  const at = call.lastIndexOf(':');
  if (at <= 0) return { model: '', method: '' };
  return { model: call.slice(0, at).replace(/^models\//, ''), method: call.slice(at + 1) };
}
