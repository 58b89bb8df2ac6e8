import { createAttribution } from '../attribution/attribution.ts';
import { createCompressor } from '../compression/compressor.ts';
import { createCachedPrompts } from '../gateway/context/cached-prompts.ts';
import type { Gateway } from '../gateway/context/gateway.ts';
import { createApprovals } from '../gateway/state/access/approvals.ts';
import { createCredentials } from '../gateway/state/access/credentials.ts';
import { createKeyRates } from '../gateway/state/access/key-rates.ts';
import { createRunningCalls } from '../gateway/state/access/running-calls.ts';
import { createStoredObjects } from '../gateway/state/access/stored-objects.ts';
import { createAccountSurcharges } from '../gateway/state/account-surcharges.ts';
import { createAdmissionQueue } from '../gateway/state/admission-queue.ts';
import { createAuthenticator } from '../gateway/state/authenticator.ts';
import { createBodyMemory } from '../gateway/state/body-memory.ts';
import { createBoundTrust } from '../gateway/state/bound-trust.ts';
import { createContainerSessions } from '../gateway/state/container-sessions.ts';
import { createContinuedResponses } from '../gateway/state/continued-responses.ts';
import { createPromptBases } from '../gateway/state/prompt-bases.ts';
import { createProviderManners } from '../gateway/state/provider-manners.ts';
import { createReplays } from '../gateway/state/replays.ts';
import { createResolver, type Target } from '../gateway/state/resolver.ts';
import { createResponsesSupport } from '../gateway/state/responses-support.ts';
import type { Router } from '../gateway/state/router.ts';
import { createRunaways } from '../gateway/state/runaways.ts';
import { createSettleRetry } from '../gateway/state/settle-retry.ts';
import type { PlanLimits } from '../gateway/state/subscriptions/plan-limits.ts';
import { createTiers } from '../gateway/state/tiers.ts';
import { createUpstreamPools } from '../gateway/state/upstream-pools.ts';
import { createInputCounter } from '../gateway/upstream/input-counter.ts';
import { createRecentTexts } from '../json/recent-texts.ts';
import { worstCase } from '../pricing/cost.ts';
import { learntDeployments } from '../pricing/deployments.ts';
import { createAzureDeployments } from '../providers/clouds/azure/deployments.ts';
import type { ModelLists } from '../providers/model-lists.ts';
import { SUBSCRIPTIONS } from '../providers/subscriptions.ts';
import {
  createAnyBudgetLookup,
  createBudgetLookup,
  createCallerLookup,
  createProjectLookup,
} from '../store/accounts/callers.ts';
import { distrustBound, readDistrustedBounds } from '../store/budgets/distrusted-bounds.ts';
import { createStoredIds } from '../store/database/daemons.ts';
import { bumpConfigurationEpoch } from '../store/database/write.ts';
import { createBatchFiles } from '../store/requests/batch-files.ts';
import { createCarriedTurns } from '../store/requests/carried-turns.ts';
import { createRouterStateStore, recentTierScores } from '../store/router/router-state.ts';
import { createKeysChecked } from '../store/team/keys.ts';
import { createTokenCounter } from '../tokens/counter.ts';
import { createItemMemories } from '../translation/carry/item-memory.ts';
import type { Configuration } from './configuration.ts';
import type { BootOptions, Core } from './open-core.ts';

export interface BuildGatewayOptions
  extends Core,
    Pick<BootOptions, 'compressor' | 'pasteable' | 'subscriptions'> {
  lists: ModelLists;
  router: Router;
}

/** Usage with which prices of targets are compared. */
const COMPARED_USAGE = { inputTokens: 1_000_000, outputTokens: 1_000_000, choices: 1 };

/** No request waits for a turn to be written. */
function buildMemory({ db, ledger, clock }: BuildGatewayOptions) {
  const turns = createCarriedTurns(db);
  return createItemMemories(undefined, {
    hasAny: turns.hasAny,
    load: (projectId, id) => turns.load(projectId, id, clock.now()),
    save: (projectId, id, text) =>
      void ledger.write(() => turns.save(projectId, id, clock.now(), text)).catch(() => {}),
  });
}

function buildManners({ db, ledger, clock }: BuildGatewayOptions) {
  const store = createRouterStateStore(db);
  const save = () => store.save('manners', manners.snapshot(), clock.now());
  const manners = createProviderManners({
    now: clock.now,
    saved: store.read('manners'),
    // No request waits for this write; an unwritable database is reported elsewhere.
    onChange: () => void ledger.write(save).catch(() => {}),
  });
  return manners;
}

function buildAzureDeployments({ db, ledger, configuration, clock }: BuildGatewayOptions) {
  const { read, save } = createRouterStateStore(db);
  return createAzureDeployments({
    saved: learntDeployments(read('deployments')),
    now: () => clock.now(),
    onChange(learnt) {
      const saved = ledger.write(() => {
        save('deployments', learnt, clock.now());
        bumpConfigurationEpoch(db);
      });
      // As above. A daemon does not see its own changes.
      void saved.then(configuration.reload).catch(() => {});
    },
  });
}

function buildQueue({ db, ledger, clock }: BuildGatewayOptions) {
  const { save } = createRouterStateStore(db);
  // As above.
  return createAdmissionQueue(
    ledger,
    clock,
    (waiting) => void ledger.write(() => save('waiting', waiting, clock.now())).catch(() => {}),
  );
}

function buildBoundTrust({ db, ledger, clock, warn }: BuildGatewayOptions) {
  return createBoundTrust({
    read: () => readDistrustedBounds(db, clock.now()),
    save: (bound) =>
      ledger.write(() => {
        distrustBound(db, bound);
        bumpConfigurationEpoch(db);
      }),
    now: () => clock.now(),
    warn,
  });
}

/** Loads and creates the windows of subscriptions with the first request that brings a login. */
function planLimitsOf({
  db,
  ledger,
  configuration,
  clock,
  warn,
}: BuildGatewayOptions): Gateway['planLimits'] {
  let created: Promise<PlanLimits> | undefined;
  const create = async () => {
    const { createPlanLimits } = await import('../gateway/state/subscriptions/plan-limits.ts');
    const settings = () => configuration.current().settings;
    const limits = createPlanLimits({ db, ledger, settings, now: () => clock.now(), warn });
    configuration.onChange(limits.reload);
    return limits;
  };
  return () => {
    created ??= create();
    return created;
  };
}

/** Creates the gateway: all dependencies of the request stages. */
export function buildGateway(options: BuildGatewayOptions): Gateway {
  const { db, ledger, slot, configuration, lists, router, clock, calendar, warn } = options;
  const { current } = configuration;
  const settings = () => current().settings;
  const providers = () => current().registry.providers;

  const teamKeys = { checkedAt: createKeysChecked(db), cacheMs: () => settings()['team.key_cache_ms'] };
  const authenticator = createAuthenticator(createCallerLookup(db), () => clock.now(), teamKeys);
  const resolver = createResolver({
    providers,
    aliases: () => settings().aliases,
    lists,
    priceOf: (target) => comparablePrice(target, current(), clock.now()),
  });
  const tiers = createTiers({ settings, resolver, savedScores: recentTierScores(db) });
  const boundTrust = buildBoundTrust(options);
  const objects = createStoredObjects({ db, ledger, now: () => clock.now(), warn });
  const runaways = createRunaways({ db, ledger, now: () => Math.trunc(clock.now()), warn });
  const runningCalls = createRunningCalls(current().projectCuts);
  configuration.onChange(({ projectCuts }) => {
    runningCalls.apply(projectCuts);
    authenticator.forget();
    objects.reload();
    resolver.forget();
    tiers.forget();
    boundTrust.reload();
    runaways.reload();
  });
  const upstreams = createUpstreamPools({ options: () => upstreamOptions(current()), clock });
  const promptBases = createPromptBases(clock);

  return {
    clock,
    calendar,
    nextId: createStoredIds(db, { slot, now: () => clock.now(), onOthersWrote: ledger.onOthersWrote }),
    settings,
    authenticator,
    keyRates: createKeyRates(() => clock.monotonic()),
    findProject: createProjectLookup(db),
    hasBudget: createBudgetLookup(db),
    hasBudgets: createAnyBudgetLookup(db),
    attribution: createAttribution({ enabled: () => settings().attribution === 'on', clock }),
    budgetScopes: () => current().budgetScopes,
    providers,
    subscriptions: options.subscriptions ?? SUBSCRIPTIONS,
    planLimits: planLimitsOf(options),
    resolver,
    router,
    tiers,
    catalog: () => current().catalog,
    ledger,
    settleRetry: createSettleRetry(ledger, clock, warn),
    queue: buildQueue(options),
    approvals: createApprovals(clock),
    accountSurcharges: createAccountSurcharges(clock.now),
    containers: createContainerSessions(clock.now),
    boundTrust,
    inputCounter: createInputCounter({ clock, upstreams, boundTrust, promptBases }),
    bodies: createBodyMemory(() => settings()['limits.max_memory_bytes'], clock),
    promptBases,
    recentPrompts: createRecentTexts(),
    recentBodies: createRecentTexts(),
    recentTranslations: createRecentTexts(),
    cachedPrompts: createCachedPrompts(),
    continuedResponses: createContinuedResponses(clock),
    tokens: createTokenCounter(),
    compressor: options.compressor ?? createCompressor({ clock, warn }),
    upstreams,
    runningCalls,
    responsesSupport: createResponsesSupport(clock.now),
    manners: buildManners(options),
    azureDeployments: buildAzureDeployments(options),
    memory: buildMemory(options),
    objects,
    batchFiles: createBatchFiles({ db, write: ledger.writeApart, now: () => clock.now() }),
    runaways,
    keptBodies: options.keptBodies,
    replays: createReplays(options.keptAnswers, () => clock.now()),
    credentials: createCredentials(),
    redact: options.secrets.redact,
    warn,
    pasteable: options.pasteable ?? ((text) => text),
  };
}

/** Cost of COMPARED_USAGE at a target, in nano-USD; undefined if the price is unknown. */
function comparablePrice({ provider, model }: Target, { catalog }: Configuration, now: number) {
  const card = catalog.find(provider.name, model, now);
  return card && worstCase(COMPARED_USAGE, card);
}

function upstreamOptions({ settings, network }: Configuration) {
  return {
    network,
    connectTimeoutMs: settings['upstream.connect_timeout_ms'],
    firstByteTimeoutMs: settings['upstream.first_byte_timeout_ms'],
    idleTimeoutMs: settings['upstream.idle_timeout_ms'],
  };
}
