import type { RequestRecord } from '../../store/ledger/record.ts';
import { FLAGS } from '../../store/ledger/record.ts';
import { NO_USAGE } from '../../usage.ts';
import type { Target } from '../state/resolve.ts';
import type { Job } from './request-context.ts';

/** The whole record. Written out field by field: spreading objects here was a tenth of a request's cost. */
export function recordOf(job: Job, target: Target | undefined, ending: Ending, now: number): RequestRecord {
  const { exchange, asked } = job;
  const record: RequestRecord = {
    id: exchange.id,
    projectId: job.project.id,
    keyId: job.caller.keyId,
    endpoint: job.wire.endpoint,
    provider: target === undefined ? '' : target.provider.name,
    model: target === undefined ? asked.model : target.model,
    askedModel: asked.model,
    status: ending.status,
    outcome: ending.outcome,
    flags: (ending.flags ?? 0) | requestFlags(job),
    usage: ending.usage ?? NO_USAGE,
    costNanoUsd: ending.costNanoUsd ?? 0,
    // What nobody was billed for saved nothing.
    savedTokens: ending.usage && ending.usage.inputTokens > 0 ? job.savedTokens : 0,
    savedNanoUsd: ending.savedNanoUsd ?? 0,
    durationMs: now - exchange.startedAt,
    firstByteMs: ending.firstByteMs ?? null,
    origin: job.origin,
  };
  if (ending.detail) record.detail = ending.detail;
  if (job.optimized?.trial) record.trial = job.optimized.trial;
  return record;
}

function requestFlags({ asked, options, optimized }: Job): number {
  return (
    (optimized?.flags ?? 0) |
    (asked.stream ? FLAGS.stream : 0) |
    (options.optimize === false || options.optimize === 'off' ? FLAGS.noOptimize : 0) |
    (options.route === false ? FLAGS.noRoute : 0)
  );
}

/** How a request ended, to be completed into its record. */
export type Ending = Pick<RequestRecord, 'status' | 'outcome'> &
  Partial<Pick<RequestRecord, 'flags' | 'usage' | 'costNanoUsd' | 'savedNanoUsd' | 'firstByteMs'>> & {
    detail?: RequestRecord['detail'] | undefined;
  };
