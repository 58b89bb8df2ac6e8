import { fields, first } from '../../pricing/payload-fields.ts';
import { FLAGS } from '../../store/ledger/record.ts';
import type { JobEnd, RunningJob } from '../../store/ledger/settlement.ts';
import { NO_USAGE } from '../../usage.ts';
import { parseObject } from '../../wire/answer/events.ts';
import type { AttemptResult, DirectAttempt } from '../attempt/attempt.ts';
import type { Settlement } from '../attempt/settle.ts';
import type { Gateway } from '../context/gateway.ts';
import { queueKeyOf } from '../context/request-context.ts';
import { recordOf } from '../context/request-record.ts';
import type { Target } from '../state/resolver.ts';
import { type BatchPriceParts, billOfSum } from './batch-cost.ts';
import { BatchResults } from './batch-results.ts';

const DAY_MS = 24 * 3_600_000;

/**
 * Where jobs are started, and for how long they are held. A film is made within minutes, and its provider forgets it within
 * days. A batch has a day, and its results can be fetched for weeks.
 */
const HELD_MS: Readonly<Record<string, number>> = {
  '/videos': DAY_MS,
  '/batches': 7 * DAY_MS,
  '/messages/batches': 7 * DAY_MS,
};
const JOB_PATH = /^(\/videos|\/batches|\/messages\/batches)(?:\/([\w.-]{1,200})(\/content|\/results)?)?$/;
const FILE_PATH = /^\/files\/([\w.-]{1,200})\/content$/;

/** Ids are stored. */
const MAX_ID = 200;

export interface Call {
  method: string;
  /** After `/v1`. */
  path: string;
}

/** What the input of a batch is known to be, for its record and its bill. */
export interface BatchFigures {
  requests: number;
  /** Bound of the longest one's input. */
  longest_input_tokens: number;
}

/**
 * Leaves a request's hold to the job that its answer has started: `https://platform.openai.com/docs/api-reference/videos`,
 * `.../batch`, `https://platform.claude.com/docs/en/api/creating-message-batches`. Undefined for any other answer, which is
 * to be settled.
 */
export async function holdForJob(
  { clock, ledger }: Pick<Gateway, 'clock' | 'ledger'>,
  { method, path }: Call,
  { context, target, admitted }: DirectAttempt,
  result: AttemptResult,
  batch: BatchFigures | undefined,
): Promise<Settlement | undefined> {
  const heldMs = method === 'POST' ? HELD_MS[path] : undefined;
  if (heldMs === undefined || (path === '/videos' && !admitted.quote.media?.isPrice)) return undefined;
  const answer = answerOf(result);
  const { id } = answer;
  if (typeof id !== 'string' || id.length > MAX_ID || !isRunning(answer)) return undefined;
  const { exchange } = context;
  const { firstByteAt } = result.relay;
  const {
    flags,
    firstByteMs,
    requestBytes = 0,
    timings,
    upstreamRequestId,
  } = recordOf(
    context,
    target,
    {
      status: 200,
      outcome: 'ok',
      firstByteMs: firstByteAt === undefined ? null : firstByteAt - exchange.startedAt,
      upstreamRequestId: result.upstreamRequestId || undefined,
    },
    clock.monotonic(),
  );
  // Its search has mostly ended by now.
  const { process, repo } = context.origin;
  const origin = { process, repo };
  const record = { flags, firstByteMs, requestBytes, timings, upstreamRequestId, origin };
  const job = {
    requestId: exchange.id,
    provider: target.provider.name,
    jobId: id,
    expiresAt: clock.now() + heldMs,
    record: batch ? { ...record, detail: { batch } } : record,
  };
  // A storage that fails here takes the settlement later.
  if (!(await ledger.beginJob(job).catch(() => false))) return undefined;
  exchange.recorded = true;
  return { usage: NO_USAGE, flags: 0, outcome: 'ok', costNanoUsd: 0 };
}

const RUNNING: ReadonlySet<unknown> = new Set([
  ...['queued', 'in_progress', 'validating', 'finalizing', 'cancelling', 'canceling'],
]);

/** OpenAI names the state `status`, Anthropic `processing_status`. */
const stateOf = ({ status, processing_status: state }: Record<string, unknown>) => state ?? status;
const isRunning = (job: Record<string, unknown>): boolean => RUNNING.has(stateOf(job));

type JobParts = Pick<Gateway, 'budgetScopes' | 'ledger' | 'queue'> & BatchPriceParts;

/** The results that a call fetches, of a batch that has not been booked. Undefined for any other call. */
export interface FetchedResults {
  job: RunningJob;
  reader: BatchResults;
}

/** Finds the batch whose results a call fetches. */
export async function resultsOf(
  gateway: Pick<JobParts, 'ledger'> & BatchPriceParts,
  { method, path }: Call,
  { provider }: Target,
): Promise<FetchedResults | undefined> {
  if (method !== 'GET') return undefined;
  const [, kind, id = '', part] = JOB_PATH.exec(path) ?? [];
  const [, fileId] = FILE_PATH.exec(path) ?? [];
  const isBatch = kind === '/messages/batches' && part === '/results';
  if (!isBatch && fileId === undefined) return undefined;
  const { ledger } = gateway;
  const job = await (fileId === undefined
    ? ledger.findJob(provider.name, id, 'job')
    : ledger.findJob(provider.name, fileId, 'result'));
  return job && { job, reader: new BatchResults(gateway, { provider, model: job.model }) };
}

/** Books the jobs whose end an answer shows: at what the provider reports, what was held for it, or nothing if it has failed. */
export async function endJobs(
  gateway: JobParts,
  call: Call,
  { context, target }: DirectAttempt,
  result: AttemptResult,
  results: FetchedResults | undefined,
): Promise<void> {
  if (result.relay.status !== 200) return;
  const provider = target.provider.name;
  for (const { id, end } of await endsIn(gateway, call, target, result, results)) {
    // The job's time ends it too, if the storage fails now.
    const ended = await gateway.ledger.endJob(provider, id, end).catch(() => false);
    if (ended) gateway.queue.wake(queueKeyOf(context, gateway.budgetScopes(), target));
  }
}

interface FoundEnd {
  id: string;
  end: JobEnd;
}

async function endsIn(
  gateway: JobParts,
  { method, path }: Call,
  target: Target,
  result: AttemptResult,
  results: FetchedResults | undefined,
): Promise<FoundEnd[]> {
  if (results) {
    const bill = result.end.kind === 'complete' ? results.reader.end() : undefined;
    return bill
      ? [{ id: results.job.jobId, end: billed(gateway, target, results.job, 'completed', bill) }]
      : [];
  }
  const [, kind, id, part] = (method === 'GET' && JOB_PATH.exec(path)) || [];
  if (kind === undefined) return [];
  // There is nothing to fetch before a film is done.
  if (part !== undefined) return id && kind === '/videos' ? [{ id, end: { how: 'completed' } }] : [];
  const answer = answerOf(result);
  const ends: FoundEnd[] = [];
  for (const each of Array.isArray(answer.data) ? answer.data.map(fields) : [answer]) {
    if (typeof each.id !== 'string' || (id !== undefined && each.id !== id)) continue;
    const end = kind === '/videos' ? endOfFilm(each) : await endOfBatch(gateway, target, each.id, each);
    if (end) ends.push({ id: each.id, end });
  }
  return ends;
}

function endOfFilm({ status }: Record<string, unknown>): JobEnd | undefined {
  return status === 'completed' || status === 'failed' ? { how: status } : undefined;
}

const ENDED: Readonly<Record<string, JobEnd['how']>> = {
  completed: 'completed',
  ended: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
  expired: 'expired',
};

/**
 * The end of a batch that its object shows. Undefined while it runs, and where only its results tell what it costs: their
 * file is noted, so that they are read when they are fetched.
 */
async function endOfBatch(
  gateway: JobParts,
  target: Target,
  id: string,
  batch: Record<string, unknown>,
): Promise<JobEnd | undefined> {
  const how = ENDED[String(stateOf(batch))];
  const job = how && (await gateway.ledger.findJob(target.provider.name, id, 'job'));
  if (!how || !job) return undefined;
  if (isEmpty(how, batch)) return { how, costNanoUsd: 0 };
  const figures = job.record.detail?.batch as BatchFigures | undefined;
  const model = job.model || String(batch.model ?? '');
  const longest = figures?.longest_input_tokens ?? Number.MAX_SAFE_INTEGER;
  const bill = billOfSum(gateway, { ...target, model }, batch.usage, longest);
  if (bill) return billed(gateway, target, job, how, bill);
  const { output_file_id: file } = batch;
  if (typeof file === 'string' && file.length <= MAX_ID)
    await gateway.ledger.noteResult(target.provider.name, id, file).catch(() => {});
  return undefined;
}

/** Whether no request of a batch was answered. The counts of one that has just ended may still all be 0. */
function isEmpty(
  how: JobEnd['how'],
  { request_counts, output_file_id: file }: Record<string, unknown>,
): boolean {
  const counts = fields(request_counts);
  if (first(counts.completed, counts.succeeded) > 0 || typeof file === 'string') return false;
  return how !== 'completed' || Object.values(counts).some((count) => first(count) > 0);
}

function billed(
  gateway: Pick<Gateway, 'boundTrust'>,
  { provider }: Target,
  job: RunningJob,
  how: JobEnd['how'],
  { usage, costNanoUsd, flags }: { usage: JobEnd['usage'] & {}; costNanoUsd: number; flags: number },
): JobEnd {
  // Without a bound, the smallest amount is held.
  const isUnderheld = costNanoUsd > job.held && job.held > 1;
  if (isUnderheld) gateway.boundTrust.distrust({ provider, model: job.model }, 'output', job.requestId);
  return { how, usage, costNanoUsd, flags: flags | (isUnderheld ? FLAGS.underheld : 0) };
}

function answerOf({ relay }: AttemptResult): Record<string, unknown> {
  const bytes = relay.status < 300 ? relay.unsent : undefined;
  return (bytes && parseObject(bytes.toString('utf8'))) ?? {};
}
