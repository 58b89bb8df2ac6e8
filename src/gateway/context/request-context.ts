import type { Saving } from '../../compression/compress-request.ts';
import type { Origin } from '../../origin.ts';
import type { Caller } from '../../store/accounts/callers.ts';
import type { Trial } from '../../store/ledger/record.ts';
import type { Translator } from '../../translation/translator.ts';
import type { ServiceOptions } from '../../wire/request/service-options.ts';
import type { WireRequest } from '../../wire/request/wire-request.ts';
import type { AnswerWire, PassThroughWire, Wire } from '../../wire/wire.ts';
import type { ProjectRef } from './accounts.ts';
import type { Exchange } from './exchange.ts';
import type { TierChoice } from './tier-choice.ts';

/** A request on its way through the stages: what is known once it has been read. */
export interface RequestContext<W extends AnswerWire = Wire> {
  exchange: Exchange;
  caller: Caller;
  project: ProjectRef;
  origin: Origin;
  wire: W;
  request: WireRequest;
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

/** A request to any endpoint: one that gw reads, or one that it passes through. */
export type AnyRequestContext = RequestContext<Wire | PassThroughWire>;

export interface Optimized {
  /** For the record. */
  flags: number;
  savings: readonly Saving[];
  trial?: Trial | undefined;
}

/** The line in which it waits for room: where repositories have budgets, one's wait is not that of the others. */
export function queueKeyOf(
  { project, origin }: AnyRequestContext,
  repoBudgets: ReadonlySet<number>,
): number | string {
  return origin.repo !== '' && repoBudgets.has(project.id) ? `${project.id} ${origin.repo}` : project.id;
}

/** A request's conversation, as far as routing reads it. */
export interface Conversation {
  /** The same for all of its turns, and for no other project or model. */
  key: string;
  /** Nothing was answered in it yet, and nobody says that it goes on: where it goes is open. */
  isNew: boolean;
}
