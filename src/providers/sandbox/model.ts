import { GwError, notFound } from '../../errors.ts';

export interface SandboxModel {
  id: string;
  /** Number of sentences after the quote. */
  sentences: number;
  /** Factor for the delay between words. Above 1, a non-streamed answer takes as long as a stream. */
  slowness: number;
  /** Always answers with this error. */
  error?: () => GwError;
  /** Drops the connection in the middle of the answer. */
  cuts?: boolean;
}

/** Maximum output of a choice, regardless of the request's limit. */
export const MAX_OUTPUT_TOKENS = 16_384;

const PREFIX = 'sandbox/';
const SHORT = { sentences: 3, slowness: 1 };

/** The models that `GET /v1/models` lists. */
const LISTED_MODELS: readonly SandboxModel[] = [
  { id: 'sandbox/echo', ...SHORT },
  { id: 'sandbox/large', ...SHORT, sentences: 40 },
  { id: 'sandbox/free', ...SHORT },
];

/** Models for testing a client's error handling. */
const FAULTY_MODELS: readonly SandboxModel[] = [
  { id: 'sandbox/slow', ...SHORT, slowness: 10 },
  { id: 'sandbox/cut', ...SHORT, cuts: true },
  { id: 'sandbox/error-500', ...SHORT, error: serverError },
  { id: 'sandbox/error-429', ...SHORT, error: rateLimitError },
];

/** Finds a model by name, with or without `sandbox/`. Throws 404. */
export function findModel(name: string): SandboxModel {
  const models = [...LISTED_MODELS, ...FAULTY_MODELS];
  const id = name.startsWith(PREFIX) ? name : PREFIX + name;
  const model = models.find((candidate) => candidate.id === id);
  if (model) return model;
  const ids = models.map((candidate) => candidate.id).join(', ');
  throw notFound(`The sandbox has no model '${name}'. It has ${ids}.`, 'model_not_found', 'model');
}

/** OpenAI's `GET /v1/models`. */
export function modelList() {
  const created = Date.UTC(2026, 0, 1) / 1000;
  const data = LISTED_MODELS.map(({ id }) => ({ id, object: 'model', created, owned_by: 'gw' }));
  return { object: 'list', data };
}

function serverError(): GwError {
  return new GwError('The model sandbox/error-500 always fails.', {
    status: 500,
    type: 'api_error',
    code: 'server_error',
  });
}

function rateLimitError(): GwError {
  return new GwError('The model sandbox/error-429 is always over its limit. Try again in 1 second.', {
    status: 429,
    type: 'rate_limit_error',
    code: 'rate_limit_exceeded',
    headers: { 'retry-after': '1' },
  });
}
