import type { Saving } from '../../compression/compress-request.ts';
import type { Origin } from '../../origin.ts';
import type { Caller } from '../../store/accounts/callers.ts';
import { FLAGS, type RequestRecord, type Trial } from '../../store/ledger/record.ts';
import type { Translator } from '../../translation/translator.ts';
import { NO_USAGE } from '../../usage.ts';
import type { ServiceOptions } from '../../wire/request/service-options.ts';
import type { Wire, WireRequest } from '../../wire/wire.ts';
import type { ProjectRef } from '../intake/select-project.ts';
import type { TierChoice } from '../routing/choose-tier.ts';
import type { Conversation } from '../routing/identify-conversation.ts';
import type { Target } from '../state/resolve.ts';
import type { Exchange } from './exchange.ts';

/** A request on its way through the stages: what is known once it has been read. */
export interface Job {
  exchange: Exchange;
  caller: Caller;
  project: ProjectRef;
  origin: Origin;
  wire: Wire;
  asked: WireRequest;
  options: ServiceOptions;
  /** Left out where routing does not ask for it. */
  conversation?: Conversation | undefined;
  /** Left out where no tiers are configured for the model. */
  tier?: TierChoice;
  /** What the optimizer saved, an estimate. */
  savedTokens: number;
  /** What the optimizer did, where it had anything to do. */
  optimized?: Optimized;
  /** Turns the provider's answers into those of the client's wire, where that is another. */
  translator?: Translator;
}

export interface Optimized {
  /** For the record. */
  flags: number;
  savings: readonly Saving[];
  trial?: Trial | undefined;
}

/** How a request ended, to be completed into its record. */
export type Ending = Pick<RequestRecord, 'status' | 'outcome'> &
  Partial<Pick<RequestRecord, 'flags' | 'usage' | 'costNanoUsd' | 'savedNanoUsd' | 'firstByteMs'>> & {
    detail?: RequestRecord['detail'] | undefined;
  };

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

/** The line in which it waits for room: where repositories have budgets, one's wait is not that of the others. */
export function lineOf({ project, origin }: Job, repoBudgets: ReadonlySet<number>): number | string {
  return origin.repo !== '' && repoBudgets.has(project.id) ? `${project.id} ${origin.repo}` : project.id;
}

function requestFlags({ asked, options, optimized }: Job): number {
  return (
    (optimized?.flags ?? 0) |
    (asked.stream ? FLAGS.stream : 0) |
    (options.optimize === false || options.optimize === 'off' ? FLAGS.noOptimize : 0) |
    (options.route === false ? FLAGS.noRoute : 0)
  );
}
