import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../src/json/object.ts';
import { PICO_USD } from './forward-all.ts';
import type { Forwarded, OwnReading, Reading } from './reading.ts';

/** The endpoints that gw has stages for, with the fields that limit their output. */
const STAGES: Readonly<Record<string, readonly string[]>> = {
  'chat/completions': ['max_tokens', 'max_completion_tokens'],
  completions: ['max_tokens'],
  responses: ['max_output_tokens'],
  'responses/compact': [],
  messages: ['max_tokens'],
  embeddings: [],
};
/** The endpoint of each API that gw can translate into. */
const TRANSLATED: Readonly<Record<string, string>> = {
  claude: 'messages',
  mock: 'chat/completions',
  openai: 'chat/completions',
};
const WITHOUT_BODY = new Set(['GET', 'HEAD', 'DELETE']);

/** What a request means to a server and did not mean to gw, a sentence each. */
export function differences(forwarded: Forwarded, own: OwnReading, reading: Reading): string[] {
  if (reading.route === null) return [];
  return [
    ...targetDifferences(forwarded, own, reading),
    ...(WITHOUT_BODY.has(reading.method) ? [] : modelDifferences(own, reading)),
    ...fieldDifferences(own, reading),
    ...costDifferences(own, reading),
    ...treeDifferences(forwarded, reading),
  ];
}

const pathOf = ({ target }: Forwarded): string => target.split('?')[0] ?? '';
const endpointOf = ({ route }: Reading): string => (route ?? '').replace('/v1/', '');

function targetDifferences(forwarded: Forwarded, own: OwnReading, reading: Reading): string[] {
  const found: string[] = [];
  const endpoint = endpointOf(reading);
  if (reading.method !== forwarded.method) found.push(`the method is ${reading.method}`);
  if (reading.path !== pathOf(forwarded)) found.push(`the path is ${reading.path}`);
  // What gw knows no endpoint for may cost anything to it, but has to be no stage's.
  const isUnknown =
    endpoint.toLowerCase() !== own.endpoint && /\{id\}/.test(own.endpoint) && !(endpoint in STAGES);
  const isTranslated = own.endpoint in STAGES && TRANSLATED[own.provider] === endpoint;
  if (endpoint !== own.endpoint && !isUnknown && !isTranslated)
    found.push(`the endpoint is ${endpoint || 'none'}, not ${own.endpoint}`);
  return found;
}

/** The models that a server may take from its readings. */
function modelsIn({ values }: Reading): unknown[] {
  return (values.model ?? []).filter((model) => model !== '' && model !== null);
}

function modelDifferences(own: OwnReading, reading: Reading): string[] {
  // Where gw reads no model it doesn't go by one: only a key of certain models is at stake.
  const mayUse = (model: unknown) =>
    own.model === '' && !own.isLimited
      ? true
      : model === own.model || model === `${own.provider}/${own.model}`;
  const isCheap = (model: unknown) => /^(\w+\/)?cheap$/.test(String(model));
  // Lists of models are refused at stages, and for keys of certain models; elsewhere the owner has allowed any cost.
  const isListed = own.isLimited || endpointOf(reading) in STAGES;
  const others = (isListed ? (reading.values.models ?? []).flat() : []).filter((model) => !isCheap(model));
  return [
    ...modelsIn(reading).filter((model) => !mayUse(model) || (own.isLimited && !isCheap(model))),
    ...others,
  ].map((model) => `the model is ${JSON.stringify(model)}, not ${JSON.stringify(own.model)}`);
}

const isTrue = (value: unknown): boolean =>
  !['false', '0', '', 'null', '[]'].includes(String(value).toLowerCase());

function fieldDifferences(own: OwnReading, reading: Reading): string[] {
  if (!(endpointOf(reading) in STAGES)) return [];
  const { stream = [], background = [] } = reading.values;
  return [
    ...(own.endpoint === 'embeddings' ? [] : stream)
      .filter((value) => isTrue(value) !== own.stream)
      .map((value) => `stream is ${JSON.stringify(value)}`),
    ...(own.endpoint.startsWith('responses') ? background : [])
      .filter(isTrue)
      .map((value) => `background is ${JSON.stringify(value)}`),
  ];
}

/** The most that a server may bill for the output is no more than gw held. */
function costDifferences(own: OwnReading, reading: Reading): string[] {
  const limits = STAGES[endpointOf(reading)] ?? [];
  if (limits.length === 0 || !isObject(reading.tree)) return [];
  const most = (names: readonly string[], otherwise: number) =>
    Math.max(...names.flatMap((name) => reading.values[name] ?? []).map(Number), otherwise);
  const tokens =
    most(limits, Number.NEGATIVE_INFINITY) *
    most(endpointOf(reading).endsWith('completions') ? ['n', 'best_of'] : [], 1);
  if (tokens < 0) return ['the output has no limit'];
  const price = Math.max(
    ...modelsIn(reading).map((model) => PICO_USD[String(model).replace(/^\w+\//, '')] ?? 0),
  );
  const costNanoUsd = (tokens * price) / 1_000;
  if (costNanoUsd <= own.holdNanoUsd) return [];
  return [`it may cost ${costNanoUsd} nano-USD, and ${own.holdNanoUsd} were held`];
}

/** The JSON that everybody reads is one tree. gw reads none, and goes by none, under another content type. */
function treeDifferences({ body, type }: Forwarded, { tree, typed }: Reading): string[] {
  if (!isObject(tree) || !/^[\w.-]+\/(?:[\w.-]+\+)?json\b/i.test(type)) return [];
  const expected = parsed(body);
  const found: string[] = [];
  if (!isDeepStrictEqual(plain(tree), expected)) found.push(`the JSON is ${JSON.stringify(tree)}`);
  const odd = typed === undefined ? undefined : oddPlace(plain(typed), expected, '');
  if (odd !== undefined) found.push(`${odd} is read into a field`);
  return found;
}

function parsed(body: Buffer): unknown {
  try {
    return plain(JSON.parse(body.toString().replace(/^\ufeff/, '')));
  } catch {
    return undefined;
  }
}

/** A value without what decoders write in different ways: half surrogate pairs, bytes that are not UTF-8, minus zero. */
function plain(value: unknown): unknown {
  const text = JSON.stringify(value).replace(/\\ud[89a-f][\da-f]{2}/gi, '\ufffd');
  return JSON.parse(text.replace(/\ufffd+/g, '\ufffd').replace(/-0(?=[,}\]])/g, '0'));
}

/** The first place of `typed` that `tree` has not, or not so. */
function oddPlace(typed: unknown, tree: unknown, path: string): string | undefined {
  if (Array.isArray(typed) && Array.isArray(tree)) {
    for (const [i, each] of typed.entries()) {
      const odd = oddPlace(each, tree[i], `${path}[${i}]`);
      if (odd !== undefined) return odd;
    }
    return undefined;
  }
  if (isObject(typed) && isObject(tree)) {
    for (const [key, each] of Object.entries(typed)) {
      const odd = oddPlace(each, tree[key], `${path}.${key}`);
      if (odd !== undefined) return odd;
    }
    return undefined;
  }
  // A field that is null keeps the zero of its type.
  return isDeepStrictEqual(typed, tree) ||
    (isObject(typed) && Object.keys(typed).length === 0 && tree === null)
    ? undefined
    : path;
}
