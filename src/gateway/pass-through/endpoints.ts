import { isObject } from '../../json/object.ts';
import type { Provider } from '../../providers/registry.ts';
import { dataIn, describeError, parseObject } from '../../wire/answer/events.ts';
import type { InspectedEvents } from '../../wire/answer/inspected-events.ts';
import { addUsage, usageMember } from '../../wire/answer/usage.ts';
import type { PassThroughWire } from '../../wire/wire.ts';

/**
 * What a call of an endpoint costs. `nothing`: its provider doesn't bill it; `stored`: it reads, stops or removes what was
 * billed when it was made, and may report that once more; `unknown`: what its answer reports, if it reports anything.
 */
export type Costs = 'nothing' | 'stored' | 'unknown';

/** Endpoints by what they cost: methods, a path after `/v1` with `{}` for any one segment, and `{...}` for any rest. */
type Endpoints = Readonly<Record<Costs, readonly string[]>>;

/**
 * OpenAI's API, as its own and other servers have it: https://platform.openai.com/docs/api-reference. What generates is
 * billed, and so is what is kept for later use, such as vector stores and containers.
 */
const COMMON: Endpoints = {
  nothing: ['POST /files', 'POST /uploads', 'POST /uploads/{}/parts', 'POST /uploads/{}/complete'],
  stored: [
    'GET,DELETE /files/{...}',
    'GET,DELETE /uploads/{...}',
    'POST /uploads/{}/cancel',
    'GET,DELETE /batches/{...}',
    'POST /batches/{}/cancel',
    'GET,DELETE /responses/{...}',
    'POST /responses/{}/cancel',
    'GET,DELETE /chat/completions/{...}',
    'GET,DELETE /conversations/{...}',
    'GET,DELETE /fine_tuning/{...}',
    'POST /fine_tuning/jobs/{}/cancel',
    'POST /fine_tuning/jobs/{}/pause',
    'GET,DELETE /vector_stores/{...}',
    'POST /vector_stores/{}/file_batches/{}/cancel',
    'GET,DELETE /assistants/{...}',
    'GET,DELETE /threads/{...}',
    'POST /threads/{}/runs/{}/cancel',
    'GET,DELETE /evals/{...}',
    'GET,DELETE /containers/{...}',
    'GET,DELETE /videos/{...}',
    'GET,DELETE /skills/{...}',
    'GET,DELETE /models/{...}',
  ],
  unknown: [
    'POST /moderations',
    'POST /responses/input_tokens',
    'POST /conversations/{...}',
    'POST /images/{...}',
    'POST /audio/{...}',
    'POST /videos/{...}',
    'POST /batches',
    'POST /fine_tuning/{...}',
    'POST /vector_stores/{...}',
    'POST /assistants/{...}',
    'POST /threads/{...}',
    'POST /evals/{...}',
    'POST /containers/{...}',
    'POST /skills/{...}',
    'POST /realtime/{...}',
    'POST /chat/completions/{}',
    'POST /rerank',
    'POST /score',
    'POST /tokenize',
  ],
};

/** OpenAI doesn't bill these; others may, or generate at the same path. */
const OPENAI: Endpoints = {
  ...COMMON,
  nothing: [
    'POST /moderations',
    'POST /responses/input_tokens',
    'POST /conversations',
    'POST /conversations/{}',
    'POST /conversations/{}/items',
    'POST /chat/completions/{}',
    ...COMMON.nothing,
  ],
};

/** https://platform.claude.com/docs/en/api/overview */
const ANTHROPIC: Endpoints = {
  nothing: ['POST /messages/count_tokens', 'POST /files'],
  stored: [
    'GET,DELETE /messages/batches/{...}',
    'POST /messages/batches/{}/cancel',
    'GET,DELETE /files/{...}',
    'GET,DELETE /skills/{...}',
    'GET,DELETE /models/{...}',
  ],
  unknown: ['POST /messages/batches', 'POST /skills/{...}', 'POST /complete'],
};

/** Conversations and moderations generate and are billed: https://docs.mistral.ai/api */
const MISTRAL: Endpoints = {
  nothing: ['POST /files'],
  stored: [
    'GET,DELETE /files/{...}',
    'GET,DELETE /conversations/{...}',
    'GET,DELETE /agents/{...}',
    'GET,DELETE /fine_tuning/{...}',
    'POST /fine_tuning/jobs/{}/cancel',
    'GET,DELETE /batch/{...}',
    'POST /batch/jobs/{}/cancel',
    'GET,DELETE /libraries/{...}',
    'GET,DELETE /models/{...}',
  ],
  unknown: [
    'POST /moderations',
    'POST /chat/moderations',
    'POST /classifications',
    'POST /chat/classifications',
    'POST /conversations/{...}',
    'POST,PATCH /agents/{...}',
    'POST /fim/completions',
    'POST /ocr',
    'POST /audio/{...}',
    'POST /fine_tuning/{...}',
    'POST /batch/jobs',
    'POST,PUT /libraries/{...}',
  ],
};

/** https://ai.google.dev/api. A cache costs by the hour as long as it lives: https://ai.google.dev/gemini-api/docs/pricing */
const GEMINI: Endpoints = {
  nothing: ['POST /models:countTokens'],
  stored: [
    'GET /models/{...}',
    'GET,DELETE /files/{...}',
    'GET,DELETE /cachedContents/{...}',
    'GET,DELETE /batches/{...}',
    'POST /batches/{}',
  ],
  unknown: ['POST /models:batchGenerateContent', 'POST /cachedContents', 'PATCH /cachedContents/{}'],
};

const BY_WIRE: Readonly<Record<string, Endpoints>> = { anthropic: ANTHROPIC, gemini: GEMINI };
const BY_PROVIDER: Readonly<Record<string, Endpoints>> = { openai: OPENAI, azure: OPENAI, mistral: MISTRAL };

/** Cost class of a call by the provider's document; undefined for an endpoint that gw doesn't know. */
export function costsOf(
  { name, wire }: Pick<Provider, 'name' | 'wire'>,
  method: string,
  path: string,
): Costs | undefined {
  const endpoints = BY_WIRE[wire] ?? BY_PROVIDER[name] ?? COMMON;
  const asked = method === 'HEAD' ? 'GET' : method;
  return (['nothing', 'stored', 'unknown'] as const).find((costs) =>
    endpoints[costs].some((endpoint) => isCall(endpoint, asked, path)),
  );
}

/** Endpoints whose calls generate once, so that a price for each request is all that they cost. */
const GENERATE_ONCE: ReadonlySet<string> = new Set([
  ...['/images/generations', '/images/edits', '/images/variations', '/videos', '/ocr', '/rerank', '/score'],
  ...['/audio/speech', '/audio/transcriptions', '/audio/translations', '/moderations', '/classifications'],
]);

/** Whether a price for each request bounds what a call costs. */
export function generatesOnce(method: string, path: string): boolean {
  return method === 'POST' && GENERATE_ONCE.has(path);
}

function isCall(endpoint: string, method: string, path: string): boolean {
  const [methods = '', pattern = ''] = endpoint.split(' ');
  if (!methods.split(',').includes(method)) return false;
  const [known, asked] = [pattern.split('/'), path.split('/')];
  const isOpen = known.at(-1) === '{...}';
  if (isOpen) known.pop();
  return (
    (isOpen ? asked.length >= known.length : asked.length === known.length) &&
    known.every((segment, i) => segment === asked[i] || (segment === '{}' && asked[i] !== ''))
  );
}

/** Reads answers of any API: takes usage from where APIs commonly report it, and never counts tokens itself. */
export function passThroughWire(endpoint: string, costs: Costs): PassThroughWire {
  const isStored = costs === 'stored';
  return {
    endpoint,
    unreported: costs === 'unknown' ? 'unmetered' : 'free',
    // Fetching something again, such as a stored answer, is free: it was billed when it was generated.
    usageOf: isStored ? () => undefined : usageMember,
    inspect: isStored ? (events) => ({ pass: events }) : inspectAnyEvents,
    textOf: () => [],
  };
}

const USAGE = Buffer.from('"usage"');
const ERROR = Buffer.from('"error"');

function inspectAnyEvents(events: Buffer): InspectedEvents {
  const result: InspectedEvents = { pass: events };
  if (events.indexOf(USAGE) < 0 && events.indexOf(ERROR) < 0) return result;
  for (const data of dataIn(events)) {
    const value = parseObject(data);
    const usage = value?.usage ?? (isObject(value?.response) ? value.response.usage : undefined);
    if (isObject(usage)) result.usage = addUsage(result.usage, usage);
    if (isObject(value?.error)) result.error = describeError(value.error);
  }
  return result;
}
