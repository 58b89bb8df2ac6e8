import type { JobEnd } from '../../store/ledger/settlement.ts';
import { NO_USAGE } from '../../usage.ts';
import { parseObject } from '../../wire/answer/events.ts';
import type { AttemptResult, DirectAttempt } from '../attempt/attempt.ts';
import type { Settlement } from '../attempt/settle.ts';
import type { Gateway } from '../context/gateway.ts';
import { queueKeyOf } from '../context/request-context.ts';

/** A film is made within minutes; its provider forgets it within days. */
const JOB_MS = 24 * 3_600_000;
/** Ids are stored. */
const MAX_ID = 200;

interface Call {
  method: string;
  /** After `/v1`. */
  path: string;
}

/**
 * Leaves a request's hold to the job that its answer has started: `https://platform.openai.com/docs/api-reference/videos`.
 * Undefined for any other answer, which is to be settled.
 */
export async function holdForJob(
  { clock, ledger }: Pick<Gateway, 'clock' | 'ledger'>,
  { method, path }: Call,
  { context, target, admitted }: DirectAttempt,
  result: AttemptResult,
): Promise<Settlement | undefined> {
  if (method !== 'POST' || path !== '/videos' || !admitted.quote.media?.isPrice) return undefined;
  const { id, status } = answerOf(result);
  if (typeof id !== 'string' || id.length > MAX_ID || (status !== 'queued' && status !== 'in_progress'))
    return undefined;
  const requestId = context.exchange.id;
  const job = { requestId, provider: target.provider.name, jobId: id, expiresAt: clock.now() + JOB_MS };
  // A storage that fails here takes the settlement later.
  if (!(await ledger.beginJob(job).catch(() => false))) return undefined;
  context.exchange.recorded = true;
  return { usage: NO_USAGE, flags: 0, outcome: 'ok' };
}

/** Books the job whose end an answer shows: the cost is what was held for it, or nothing if it has failed. */
export async function endJob(
  gateway: Pick<Gateway, 'budgetScopes' | 'ledger' | 'queue'>,
  call: Call,
  { context, target }: DirectAttempt,
  result: AttemptResult,
): Promise<void> {
  const end = endOf(call, result);
  if (!end) return;
  // The job's time ends it too, if the storage fails now.
  const ended = await gateway.ledger.endJob(target.provider.name, end.id, end.how).catch(() => false);
  if (ended) gateway.queue.wake(queueKeyOf(context, gateway.budgetScopes(), target));
}

const JOB_PATH = /^\/videos\/([\w.-]{1,200})(\/content)?$/;

function endOf({ method, path }: Call, result: AttemptResult): { id: string; how: JobEnd } | undefined {
  const [, id = '', content] = (method === 'GET' && JOB_PATH.exec(path)) || [];
  if (id === '' || result.relay.status !== 200) return undefined;
  // There is nothing to fetch before it is done.
  if (content) return { id, how: 'completed' };
  const answer = answerOf(result);
  const { status } = answer;
  return answer.id === id && (status === 'completed' || status === 'failed')
    ? { id, how: status }
    : undefined;
}

function answerOf({ relay }: AttemptResult): Record<string, unknown> {
  const bytes = relay.status < 300 ? relay.unsent : undefined;
  return (bytes && parseObject(bytes.toString('utf8'))) ?? {};
}
