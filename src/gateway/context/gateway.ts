import type { Attribution } from '../../attribution/attribution.ts';
import type { Calendar } from '../../calendar.ts';
import type { Clock } from '../../clock.ts';
import type { Compressor } from '../../compression/compressor.ts';
import type { Settings } from '../../config/settings.ts';
import type { RequestId } from '../../ids.ts';
import type { Catalog } from '../../pricing/catalog.ts';
import type { Provider } from '../../providers/registry.ts';
import type { Ledger } from '../../store/ledger/ledger.ts';
import type { TokenCounter } from '../../tokens/counter.ts';
import type { ItemMemory } from '../../translation/responses-over-chat/item-memory.ts';
import type { AccountSurcharges } from '../state/account-surcharges.ts';
import type { AdmissionQueue } from '../state/admission-queue.ts';
import type { Authenticator } from '../state/authenticate.ts';
import type { BodyMemory } from '../state/body-memory.ts';
import type { Labels } from '../state/labels.ts';
import type { Learners } from '../state/learner-store.ts';
import type { Resolver } from '../state/resolve.ts';
import type { ResponsesSupport } from '../state/responses-support.ts';
import type { Router } from '../state/router.ts';
import type { SettleRetry } from '../state/settle-retry.ts';
import type { Tiers } from '../state/tiers.ts';
import type { UpstreamPools } from '../state/upstream-pools.ts';
import type { FindProject, HasBudget } from './accounts.ts';

/** All that the stages of a request work with. What can change while gw runs is asked for anew each time. */
export interface Gateway {
  clock: Clock;
  nextId: () => RequestId;
  settings: () => Settings;
  authenticator: Authenticator;
  findProject: FindProject;
  hasBudget: HasBudget;
  attribution: Attribution;
  /** The projects with budgets of repositories: admission has to know where their requests come from. */
  repoBudgets: () => ReadonlySet<number>;
  providers: () => ReadonlyMap<string, Provider>;
  resolver: Resolver;
  router: Router;
  tiers: Tiers;
  learners: Learners;
  labels: Labels;
  catalog: () => Catalog;
  calendar: () => Calendar;
  ledger: Ledger;
  settleRetry: SettleRetry;
  queue: AdmissionQueue;
  bodies: BodyMemory;
  accountSurcharges: AccountSurcharges;
  tokens: TokenCounter;
  compressor: Compressor;
  upstreams: UpstreamPools;
  responsesSupport: ResponsesSupport;
  /** What was answered in translation, for clients that refer to it. */
  memory: ItemMemory;
  /** Tells whoever reads the log what a person should know. */
  warn: (message: string) => void;
  /** Gives the commands in a message the name that gw is run by here. */
  pasteable: (text: string) => string;
}
