import { FLAGS, type RequestRecord, type StageTimings } from '../../store/ledger/record.ts';
import { NO_USAGE } from '../../usage.ts';
import type { Target } from '../state/resolver.ts';
import type { Exchange } from './exchange.ts';
import type { AnyRequestContext } from './request-context.ts';

/** Completes a request's record. Fields are listed one by one: spreads took a tenth of a request's CPU time. */
export function recordOf(
  context: AnyRequestContext,
  target: Target | undefined,
  fields: RecordFields,
  now: number,
): RequestRecord {
  const { exchange, request, session } = context;
  const record: RequestRecord = {
    id: exchange.id,
    projectId: context.project.id,
    keyId: context.caller.keyId,
    endpoint: context.wire.endpoint,
    provider: target === undefined ? '' : target.provider.name,
    model: target === undefined ? request.model : target.model,
    askedModel: request.model,
    status: fields.status,
    outcome: fields.outcome,
    flags: (fields.flags ?? 0) | requestFlags(context),
    usage: fields.usage ?? NO_USAGE,
    costNanoUsd: fields.costNanoUsd ?? 0,
    // Without billed input nothing was saved.
    savedTokens: fields.usage && fields.usage.inputTokens > 0 ? context.savedTokens : 0,
    savedNanoUsd: fields.savedNanoUsd ?? 0,
    durationMs: now - exchange.startedAt,
    firstByteMs: fields.firstByteMs ?? null,
    requestBytes: request.bytes.length,
    origin: context.origin,
    trace: exchange.trace,
    agent: session.agent || undefined,
    agentVersion: session.agentVersion || undefined,
    session: session.sessionId || undefined,
    labels: context.options.labels,
    need: fields.need,
    lowered: fields.lowered,
    timings: timingsOf(exchange),
    upstreamMessageId: fields.upstreamMessageId,
    upstreamRequestId: fields.upstreamRequestId,
    missed: fields.missed,
  };
  if (fields.detail) record.detail = fields.detail;
  if (context.fallback)
    record.detail = {
      ...record.detail,
      fallback_from: context.fallback.from,
      fallback_budget: context.fallback.budget.name,
    };
  if (context.optimized?.trial) record.trial = context.optimized.trial;
  return record;
}

function timingsOf({ startedAt, bodyAt, compressedAt, heldAt, sentAt }: Exchange): StageTimings {
  return {
    body: bodyAt === undefined ? undefined : bodyAt - startedAt,
    compressed: compressedAt === undefined ? undefined : compressedAt - startedAt,
    held: heldAt === undefined ? undefined : heldAt - startedAt,
    sent: sentAt === undefined ? undefined : sentAt - startedAt,
  };
}

function requestFlags({ request, options, optimized, fallback }: AnyRequestContext): number {
  return (
    (optimized?.flags ?? 0) |
    (request.stream ? FLAGS.stream : 0) |
    (options.optimize === false || options.optimize === 'off' ? FLAGS.noOptimize : 0) |
    (options.route === false ? FLAGS.noRoute : 0) |
    (fallback ? FLAGS.fallback : 0)
  );
}

/** The fields of a record that depend on how the request ended. */
export type RecordFields = Pick<RequestRecord, 'status' | 'outcome'> &
  Partial<
    Pick<
      RequestRecord,
      | 'flags'
      | 'usage'
      | 'costNanoUsd'
      | 'savedNanoUsd'
      | 'firstByteMs'
      | 'need'
      | 'lowered'
      | 'upstreamMessageId'
      | 'upstreamRequestId'
      | 'missed'
    >
  > & {
    detail?: RequestRecord['detail'] | undefined;
  };
