import type { Caller } from '../store/callers.ts';
import type { RequestHead } from '../store/ledger/holds.ts';
import { FLAGS, type RequestRecord } from '../store/ledger/record.ts';
import { NO_USAGE } from '../usage.ts';
import type { Exchange } from './exchange.ts';
import type { Target } from './resolve.ts';
import type { ProjectRef } from './select-project.ts';
import type { ServiceOptions } from './service-options.ts';
import type { Wire, WireRequest } from './wire/wire.ts';

/** A request on its way through the stages: what is known once it has been read. */
export interface Job {
  exchange: Exchange;
  caller: Caller;
  project: ProjectRef;
  wire: Wire;
  asked: WireRequest;
  options: ServiceOptions;
}

/** The part of the record that is known before anything is sent. */
export function headOf(job: Job, target: Target | undefined): RequestHead {
  return {
    id: job.exchange.id,
    projectId: job.project.id,
    keyId: job.caller.keyId,
    endpoint: job.wire.endpoint,
    provider: target?.provider.name ?? '',
    model: target?.model ?? job.asked.model,
    askedModel: job.asked.model,
    stream: job.asked.stream,
  };
}

/** How a request ended, to be completed into its record. */
export type Ending = Pick<RequestRecord, 'status' | 'outcome'> &
  Partial<Pick<RequestRecord, 'flags' | 'usage' | 'costNanoUsd' | 'firstByteMs' | 'detail'>>;

export function recordOf(job: Job, target: Target | undefined, ending: Ending, now: number): RequestRecord {
  const { detail } = ending;
  return {
    ...headOf(job, target),
    status: ending.status,
    outcome: ending.outcome,
    flags: (ending.flags ?? 0) | requestFlags(job),
    usage: ending.usage ?? NO_USAGE,
    costNanoUsd: ending.costNanoUsd ?? 0,
    savedTokens: 0,
    savedNanoUsd: 0,
    durationMs: now - job.exchange.startedAt,
    firstByteMs: ending.firstByteMs ?? null,
    ...(detail ? { detail } : {}),
  };
}

function requestFlags({ asked, options }: Job): number {
  return (
    (asked.stream ? FLAGS.stream : 0) |
    (options.optimize === false || options.optimize === 'off' ? FLAGS.noOptimize : 0) |
    (options.route === false ? FLAGS.noRoute : 0)
  );
}
