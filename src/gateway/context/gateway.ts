import type { Attribution } from '../../attribution/attribution.ts';
import type { Calendar } from '../../calendar.ts';
import type { Clock } from '../../clock.ts';
import type { Compressor } from '../../compression/compressor.ts';
import type { Settings } from '../../config/settings.ts';
import type { RequestId } from '../../ids.ts';
import type { RecentTexts } from '../../json/recent-texts.ts';
import type { Catalog } from '../../pricing/catalog.ts';
import type { AzureDeployments } from '../../providers/clouds/azure/deployments.ts';
import type { Provider } from '../../providers/registry.ts';
import type { Subscriptions } from '../../providers/subscriptions.ts';
import type { Ledger } from '../../store/ledger/ledger.ts';
import type { BatchFiles } from '../../store/requests/batch-files.ts';
import type { KeptBodies } from '../../store/requests/kept-bodies.ts';
import type { TokenCounter } from '../../tokens/counter.ts';
import type { ItemMemories } from '../../translation/carry/item-memory.ts';
import type { PromptBlocks } from '../../wire/request/prompt-block.ts';
import type { ScannedBody } from '../../wire/request/scan/body-scan.ts';
import type { Approvals } from '../state/access/approvals.ts';
import type { Credentials } from '../state/access/credentials.ts';
import type { KeyRates } from '../state/access/key-rates.ts';
import type { RunningCalls } from '../state/access/running-calls.ts';
import type { StoredObjects } from '../state/access/stored-objects.ts';
import type { AccountSurcharges } from '../state/account-surcharges.ts';
import type { AdmissionQueue } from '../state/admission-queue.ts';
import type { Authenticator } from '../state/authenticator.ts';
import type { BodyMemory } from '../state/body-memory.ts';
import type { BoundTrust } from '../state/bound-trust.ts';
import type { ContainerSessions } from '../state/container-sessions.ts';
import type { ContinuedResponses } from '../state/continued-responses.ts';
import type { PromptBases } from '../state/prompt-bases.ts';
import type { ProviderManners } from '../state/provider-manners.ts';
import type { Replays } from '../state/replays.ts';
import type { Resolver, Target } from '../state/resolver.ts';
import type { ResponsesSupport } from '../state/responses-support.ts';
import type { Router } from '../state/router.ts';
import type { Runaways } from '../state/runaways.ts';
import type { SettleRetry } from '../state/settle-retry.ts';
import type { PlanLimits } from '../state/subscriptions/plan-limits.ts';
import type { Tiers } from '../state/tiers.ts';
import type { UpstreamPools } from '../state/upstream-pools.ts';
import type { CachedPrompts } from './cached-prompts.ts';
import type { BudgetScopes, FindProject, HasBudget, RequestContext } from './request-context.ts';
/** State shared by the stages of a request. A function returns a value that can change while gw runs. */
export interface Gateway {
  clock: Clock;
  nextId: () => RequestId;
  settings: () => Settings;
  authenticator: Authenticator;
  keyRates: KeyRates;
  findProject: FindProject;
  hasBudget: HasBudget;
  /** Whether there is a budget of any kind. */
  hasBudgets: () => boolean;
  attribution: Attribution;
  /** By what else than the project requests are counted. */
  budgetScopes: () => BudgetScopes;
  providers: () => ReadonlyMap<string, Provider>;
  /** The services that clients' own logins are for. */
  subscriptions: Subscriptions;
  /** Loads them with the first login. */
  planLimits: () => Promise<PlanLimits>;
  resolver: Resolver;
  router: Router;
  tiers: Tiers;
  catalog: () => Catalog;
  calendar: () => Calendar;
  ledger: Ledger;
  settleRetry: SettleRetry;
  queue: AdmissionQueue;
  approvals: Approvals;
  bodies: BodyMemory;
  promptBases: PromptBases;
  /** The last prompts that were split into blocks, as they were sent. */
  recentPrompts: RecentTexts<PromptBlocks>;
  /** The last bodies that clients sent. */
  recentBodies: RecentTexts<ScannedBody>;
  /** The last bodies that gw wrote in another API. */
  recentTranslations: RecentTexts<ScannedBody>;
  cachedPrompts: CachedPrompts;
  continuedResponses: ContinuedResponses;
  accountSurcharges: AccountSurcharges;
  containers: ContainerSessions;
  boundTrust: BoundTrust;
  inputCounter: InputCounter;
  tokens: TokenCounter;
  compressor: Compressor;
  upstreams: UpstreamPools;
  runningCalls: RunningCalls;
  responsesSupport: ResponsesSupport;
  manners: ProviderManners;
  azureDeployments: AzureDeployments;
  /** Items of translated answers, which clients refer to later. */
  memory: ItemMemories;
  objects: StoredObjects;
  batchFiles: BatchFiles;
  runaways: Runaways;
  keptBodies: KeptBodies;
  replays: Replays;
  credentials: Credentials;
  /** Takes the secrets that gw knows out of text of others. */
  redact: (text: string) => string;
  /** Logs a warning. */
  warn: (message: string) => void;
  /** Rewrites the commands in a message to the name that gw was started by. */
  pasteable: (text: string) => string;
}

/**
 * Bounds the input tokens of a request by the provider's own count. That is a round trip with the whole prompt, so it is
 * for requests that no other bound admits.
 */
export interface InputCounter {
  /** Whether the provider can be asked, and its count would cover all that the request is billed for. */
  mayAsk(context: RequestContext, target: Target): boolean;
  /** The bound that an earlier count of the same prompt gave; undefined if there was none within the hour. */
  recall(context: RequestContext, target: Target): number | undefined;
  /** Asks once for each prompt. Undefined if no count comes in time. */
  ask(context: RequestContext, target: Target): Promise<number | undefined>;
}
