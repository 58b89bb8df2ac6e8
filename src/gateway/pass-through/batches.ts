import { isObject } from '../../json/object.ts';
import { parseObject } from '../../wire/answer/events.ts';
import type { MediaCost } from '../admission/quote.ts';
import type { QuoteParts } from '../admission/quote-request.ts';
import type { AttemptResult, DirectAttempt } from '../attempt/attempt.ts';
import type { Gateway } from '../context/gateway.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import { checkBatchModels } from '../intake/receive.ts';
import type { Target } from '../state/resolver.ts';
import { type BatchBound, boundOfFile, boundOfRequests } from './batch-bound.ts';
import { costOfBound } from './batch-cost.ts';
import type { BatchFigures, Call } from './jobs.ts';

export type BatchParts = QuoteParts & Pick<Gateway, 'batchFiles' | 'budgetScopes'>;

/** A batch that a request starts: what it can cost at most, or why that is not known. */
export interface Batch {
  cost: MediaCost | undefined;
  unbounded: string | undefined;
  /** The model of all its requests; empty if they have several. */
  model: string;
  figures: BatchFigures;
}

/**
 * Reads the batch that a call starts: Anthropic's has its requests in the body, OpenAI's in a file that was uploaded before.
 * Undefined for any other call.
 */
export async function batchOf(
  gateway: BatchParts,
  context: AnyRequestContext,
  target: Target,
  { method, path }: Call,
): Promise<Batch | undefined> {
  if (method !== 'POST' || !(path === '/batches' || path === '/messages/batches')) return undefined;
  const { provider } = target;
  const bound =
    path === '/batches'
      ? fileBound(gateway, context, provider.name)
      : await boundOfRequests({ gateway, context, provider }, context.request.bytes);
  checkBatchModels(context.caller, bound);
  const { groups } = bound;
  const models = new Set(groups.map(({ model }) => model));
  const [model = ''] = models.size === 1 ? models : [];
  const isMixed = models.size > 1 && gateway.budgetScopes().clients.has(context.project.id);
  const cost = isMixed
    ? { unbounded: 'its requests name several models, which budgets may count apart: send a batch for each' }
    : costOfBound(gateway, provider, bound);
  return {
    cost: 'amount' in cost ? { amount: cost.amount, isPrice: false } : undefined,
    unbounded: 'unbounded' in cost ? cost.unbounded : undefined,
    model,
    figures: {
      requests: groups.reduce((sum, { requests }) => sum + requests, 0),
      longest_input_tokens: groups.reduce((most, { longest }) => Math.max(most, longest), 0),
    },
  };
}

const RESULTS_URL = /("results_url"\s*:\s*")https?:\/\/[^"]*(\/messages\/batches\/[\w.-]+\/results")/g;

/**
 * Leads clients to gw for the results of a batch: they call the address that the batch names, which is its provider's.
 * Undefined for calls whose answers are no batches of Anthropic's API.
 */
export function resultsAtGateway({ exchange }: AnyRequestContext, { path }: Call) {
  if (!/^\/messages\/batches(\/[\w.-]+(\/cancel)?)?$/.test(path)) return undefined;
  const { host, 'x-forwarded-proto': scheme } = exchange.request.headers;
  if (host === undefined) return undefined;
  const origin = `${scheme === 'https' ? 'https' : 'http'}://${host}`;
  return (body: Buffer) => Buffer.from(body.toString('utf8').replace(RESULTS_URL, `$1${origin}/v1$2`));
}

function fileBound({ batchFiles }: BatchParts, { request }: AnyRequestContext, provider: string): BatchBound {
  const { input_file_id: id } = parseObject(request.bytes.toString('utf8')) ?? {};
  const known = typeof id === 'string' ? batchFiles.find(provider, id) : undefined;
  if (known !== undefined) return JSON.parse(known);
  const name = typeof id === 'string' ? `"${id.slice(0, 100)}"` : 'that "input_file_id" names';
  return {
    groups: [],
    unbounded: `gw has not seen the file ${name}: upload it through gw, with the purpose "batch"`,
  };
}

/** Keeps what the requests in an uploaded file can use at most, before the client learns the file's id. */
export async function noteBatchFile(
  gateway: BatchParts,
  { method, path }: Call,
  { context, target }: DirectAttempt,
  { relay }: AttemptResult,
): Promise<void> {
  if (method !== 'POST' || path !== '/files' || relay.status !== 200 || !relay.unsent) return;
  const answer = parseObject(relay.unsent.toString('utf8'));
  if (!isObject(answer) || typeof answer.id !== 'string') return;
  const { bytes } = context.request;
  const type = context.exchange.request.headers['content-type'] ?? '';
  const bound = await boundOfFile({ gateway, context, provider: target.provider }, bytes, type);
  // Without it, the file is unknown.
  if (bound)
    await gateway.batchFiles.save(target.provider.name, answer.id, JSON.stringify(bound)).catch(() => {});
}
