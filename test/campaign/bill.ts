import type { Reading } from './generous-reading.ts';
import { dearestOf, priceOf } from './price-list.ts';

/** Kinds of provider, by the names that gw knows them by; `mock` is a host that gw knows nothing of. */
export const KINDS = ['openai', 'anthropic', 'openrouter', 'mistral', 'mock'] as const;
export type Kind = (typeof KINDS)[number];

/** What a provider charges for a call. */
export interface Bill {
  model: string;
  inputTokens: number;
  outputTokens: number;
  /** A type for each call of a tool that the provider runs. */
  toolCalls: string[];
  nanoUsd: number;
  /** Of that, what the answer reports. */
  reportedNanoUsd: number;
}

const READ =
  /^\/(files|uploads|batches|responses|chat|conversations|fine_tuning|vector_stores|assistants|threads|evals|containers|videos|skills|models|messages|agents|libraries|batch)(\/|$)/;
const STOPS =
  /^\/(batches|uploads|responses|messages\/batches|batch\/jobs|fine_tuning\/jobs)\/[^/]+\/cancel$/;
const COUNTS = /^\/(messages\/count_tokens|responses\/input_tokens)$/;
const UPLOADS = /^\/(files|uploads(\/[^/]+\/(parts|complete))?)$/;
const OPENAI_ONLY = /^\/(moderations|conversations(\/[^/]+(\/items)?)?|chat\/completions\/[^/]+)$/;

/** Whether a call costs nothing by its provider's document. */
export function isFree(kind: Kind, { method, path }: Reading): boolean {
  if (/^(GET|HEAD|DELETE)$/.test(method)) return READ.test(path);
  if (method === 'OPTIONS') return true;
  return (
    STOPS.test(path) ||
    COUNTS.test(path) ||
    UPLOADS.test(path) ||
    (kind === 'openai' && OPENAI_ONLY.test(path))
  );
}

const IMAGE_TOKENS = 3_000;
const DOCUMENT_TOKENS = 50_000;
/** The output of a call that sets no limit. */
const DEFAULT_OUTPUT = 4_000;
const NANO = 1_000_000_000;

/** The tokens of the input, as a count of it tells them. */
export const inputOf = ({ text, images, documents, stored }: Reading): number =>
  Math.ceil(text / 4) + images * IMAGE_TOKENS + (documents + stored) * DOCUMENT_TOKENS;

/** Charges the most that a call lets a provider do: its dearest model, all of its output, every tool as often as it may. */
export function billOf(kind: Kind, reading: Reading): Bill {
  const model = dearestOf(reading.models);
  if (isFree(kind, reading))
    return { model, inputTokens: 0, outputTokens: 0, toolCalls: [], nanoUsd: 0, reportedNanoUsd: 0 };
  const price = priceOf(model);
  // A host of the user's own, which charges for nothing.
  const isOwn = kind === 'mock' && price.output === 0;
  const { toolCalls, feesUsd } = isOwn ? NO_TOOLS : toolsOf(kind, reading);
  const inputTokens = inputOf(reading) * (1 + toolCalls.length);
  const limit = reading.outputTokens ?? Math.max(DEFAULT_OUTPUT, reading.reasoningTokens);
  const reasoning = reading.reasoningTokens > limit ? reading.reasoningTokens : 0;
  const outputTokens = /embeddings/.test(reading.path) ? 0 : (limit + reasoning) * reading.choices;
  const tokensUsd = (inputTokens * price.input + outputTokens * price.output) / 1e6;
  const oddUsd = isOwn ? 0 : reading.odd.length;
  const nanoUsd = Math.floor((tokensUsd * reading.tierFactor + feesUsd + oddUsd) * NANO);
  const reportedNanoUsd = Math.floor(tokensUsd * NANO);
  return { model, inputTokens, outputTokens, toolCalls, nanoUsd, reportedNanoUsd };
}

/** Fees for each call, and for each request; what is neither costs a dollar. */
const PER_CALL: readonly [RegExp, number][] = [
  [/^web_search/, 0.01],
  [/^(web_fetch|mcp)/, 0],
  [/^file_search$/, 0.0025],
  [/^image_generation$/, 0.4],
];
const PER_REQUEST: readonly [RegExp, number][] = [
  // Five minutes of a container, the least that one is billed.
  [/^(code_interpreter|shell)$/, 0.03 / 4],
  [/^code_execution/, 0.05 / 12],
  [/^websearchoptions$/, 0.025],
  // A stored prompt costs what its tools do.
  [/^prompt$/, 0],
];
const DEFAULT_CALLS = 10;
const NO_TOOLS = { toolCalls: [], feesUsd: 0 };
const OCR_USD = 2;

function toolsOf(kind: Kind, { tools, maxToolCalls, models, documents }: Reading) {
  let feesUsd = 0;
  const toolCalls: string[] = [];
  for (const { type, times } of tools) {
    const fee = PER_CALL.find(([name]) => name.test(type))?.[1];
    if (fee === undefined) {
      if (type === 'code_interpreter') toolCalls.push(type);
      feesUsd += PER_REQUEST.find(([name]) => name.test(type))?.[1] ?? 1;
      continue;
    }
    // A limit of all calls together: the first tool has all of them.
    const calls = maxToolCalls === undefined ? (times ?? DEFAULT_CALLS) : maxToolCalls - toolCalls.length;
    for (let i = 0; i < calls; i++)
      toolCalls.push(/^(web_search|image_generation|file_search|web_fetch|mcp)/.exec(type)?.[0] ?? type);
    feesUsd += fee * Math.max(0, calls);
  }
  if (models.some((model) => /:online\b/.test(model))) feesUsd += 0.02;
  if (models.some((model) => model.includes('@preset/'))) feesUsd += 1;
  if (kind === 'openrouter') feesUsd += OCR_USD * documents;
  return { toolCalls, feesUsd };
}
