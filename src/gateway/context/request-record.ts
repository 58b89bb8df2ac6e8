import type { RequestRecord } from '../../store/ledger/record.ts';
import { FLAGS } from '../../store/ledger/record.ts';
import { NO_USAGE } from '../../usage.ts';
import type { Target } from '../state/resolve.ts';
import type { AnyRequestContext } from './request-context.ts';

/** The whole record. Written out field by field: spreading objects here was a tenth of a request's cost. */
export function recordOf(
  context: AnyRequestContext,
  target: Target | undefined,
  ending: RecordFields,
  now: number,
): RequestRecord {
  const { exchange, request } = context;
  const record: RequestRecord = {
    id: exchange.id,
    projectId: context.project.id,
    keyId: context.caller.keyId,
    endpoint: context.wire.endpoint,
    provider: target === undefined ? '' : target.provider.name,
    model: target === undefined ? request.model : target.model,
    askedModel: request.model,
    status: ending.status,
    outcome: ending.outcome,
    flags: (ending.flags ?? 0) | requestFlags(context),
    usage: ending.usage ?? NO_USAGE,
    costNanoUsd: ending.costNanoUsd ?? 0,
    // What nobody was billed for saved nothing.
    savedTokens: ending.usage && ending.usage.inputTokens > 0 ? context.savedTokens : 0,
    savedNanoUsd: ending.savedNanoUsd ?? 0,
    durationMs: now - exchange.startedAt,
    firstByteMs: ending.firstByteMs ?? null,
    origin: context.origin,
  };
  if (ending.detail) record.detail = ending.detail;
  if (context.optimized?.trial) record.trial = context.optimized.trial;
  return record;
}

function requestFlags({ request, options, optimized }: AnyRequestContext): number {
  return (
    (optimized?.flags ?? 0) |
    (request.stream ? FLAGS.stream : 0) |
    (options.optimize === false || options.optimize === 'off' ? FLAGS.noOptimize : 0) |
    (options.route === false ? FLAGS.noRoute : 0)
  );
}

/** How a request ended, to be completed into its record. */
export type RecordFields = Pick<RequestRecord, 'status' | 'outcome'> &
  Partial<Pick<RequestRecord, 'flags' | 'usage' | 'costNanoUsd' | 'savedNanoUsd' | 'firstByteMs'>> & {
    detail?: RequestRecord['detail'] | undefined;
  };
