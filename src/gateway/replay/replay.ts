import { formatRequestId } from '../../ids.ts';
import { FLAGS } from '../../store/ledger/record.ts';
import type { KeptAnswer } from '../../store/requests/kept-answers.ts';
import { ResponseWriter } from '../answer/response-writer.ts';
import { serviceHeaders } from '../answer/service-headers.ts';
import type { Attempt, AttemptResult } from '../attempt/attempt.ts';
import type { Settlement } from '../attempt/settle.ts';
import { ClientGone, type Exchange } from '../context/exchange.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import { recordOf } from '../context/request-record.ts';
import type { ReplayKey } from '../state/replays.ts';
import type { RoutedTarget } from '../state/resolver.ts';
import { AnswerCopy } from './answer-copy.ts';
import { replayKey } from './replay-key.ts';

type ReplayParts = Pick<Gateway, 'catalog' | 'clock' | 'ledger' | 'replays' | 'settings'>;

/**
 * Answers a request from disk, at no cost, if its answer is kept. If not, and it is to be kept, what the client is sent
 * is copied. The same request at the same time waits for this one. Undefined for a request that is not to be replayed.
 */
export function replay(
  gateway: ReplayParts,
  context: RequestContext,
  targets: readonly RoutedTarget[],
): Promise<boolean> | undefined {
  const key = replayKey(gateway, context, targets);
  return key && replayBy(gateway, context, targets, key);
}

async function replayBy(
  gateway: ReplayParts,
  context: RequestContext,
  targets: readonly RoutedTarget[],
  key: ReplayKey,
): Promise<boolean> {
  const { exchange } = context;
  const { answer, settle } = await gateway.replays.find(key);
  if (exchange.gone) {
    settle();
    throw new ClientGone();
  }
  const target = answer && targets.find((each) => isBy(answer, each));
  if (answer && target) {
    await send(gateway, context, target, answer);
    return true;
  }
  exchange.sent = new AnswerCopy(key, settle);
  return false;
}

const isBy = ({ provider, model }: KeptAnswer, target: RoutedTarget) =>
  target.provider.name === provider && target.model === model;

async function send(
  gateway: ReplayParts,
  context: RequestContext,
  target: RoutedTarget,
  { id: first, costNanoUsd, headers, body }: KeptAnswer,
): Promise<void> {
  const { exchange } = context;
  const fields = {
    status: 200,
    outcome: 'ok',
    flags: FLAGS.replayed,
    savedNanoUsd: costNanoUsd,
    detail: { replay_of: formatRequestId(first) },
  } as const;
  await gateway.ledger.record(recordOf(context, target, fields, gateway.clock.monotonic()));
  const own = serviceHeaders({
    id: exchange.id,
    model: target.model,
    provider: target.provider.name,
    route: 'replayed',
    savedTokens: 0,
    costNanoUsd: 0,
    remainingNanoUsd: null,
    replay: 'hit',
  });
  const client = new ResponseWriter(exchange, gateway.settings()['limits.client_idle_ms']);
  client.head(200, headers.concat(own));
  client.end(body);
}

/** Keeps the answer that has been delivered, if it may be replayed. */
export function keepAnswer(
  { clock }: Pick<Gateway, 'clock'>,
  attempt: Attempt,
  result: AttemptResult,
  { flags, outcome }: Settlement,
): void {
  const { exchange, fallback } = attempt.context;
  const copy = exchange.sent;
  if (!(copy instanceof AnswerCopy)) return;
  const isReliable = (flags & UNRELIABLE) === 0 && result.headers.maxOutputTokens === undefined;
  // A cheaper model's answer is none of the model that the request asks for.
  const isFirst = attempt.route !== undefined && attempt.route.history === undefined && !fallback;
  const hasFees = attempt.admitted.quote.tools !== undefined || result.relay.toolResults.count > 0;
  const body = outcome === 'ok' && isReliable && isFirst && !hasFees ? copy.body() : undefined;
  if (!body || REFUSED.test(body.toString('latin1'))) return;
  const { target } = attempt;
  const at = clock.now();
  copy.settle({
    id: exchange.id,
    provider: target.provider.name,
    model: target.model,
    at,
    until: at + copy.key.ttlMs,
    costNanoUsd: result.headers.costNanoUsd ?? 0,
    headers: lastingHeaders(copy.headers),
    body,
  });
}

/** Flags of answers whose cost is a guess, that were cut, or that another model gave. */
const UNRELIABLE = FLAGS.estimated | FLAGS.unmetered | FLAGS.overrun | FLAGS.other_model;

/** What answers have in which the model refused, was filtered, or is not done. Text inside of strings has its quotes escaped. */
const REFUSED =
  /"(?:finish_reason|stop_reason|reason)" ?: ?"(?:content_filter|refusal|pause_turn|error|abort|model_context_window_exceeded)"|"type" ?: ?"refusal"|"refusal" ?: ?"[^"]/;

/** Without gw's own headers and those that tell of the provider's state at the time. */
function lastingHeaders(headers: readonly string[]): string[] {
  const lasting: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const [name = '', value = ''] = headers.slice(i, i + 2);
    if (!MOMENTARY.test(name)) lasting.push(name, value);
  }
  return lasting;
}

const MOMENTARY = /^(?:x-service-.*|date|age|retry-after.*|.*ratelimit.*|access-control-.*)$/;

/** The end of any request: who waited for its answer goes on, if it wasn't kept. */
export function endReplay({ sent }: Pick<Exchange, 'sent'>): void {
  if (sent instanceof AnswerCopy) sent.settle();
}
