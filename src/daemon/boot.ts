import { readFileSync } from 'node:fs';
import { createAttribution } from '../attribution/attribution.ts';
import { type Clock, systemClock } from '../clock.ts';
import { type Compressor, createCompressor } from '../compression/compressor.ts';
import { retentionMs } from '../config/retention.ts';
import type { ScalarKey } from '../config/settings.ts';
import { messageOf } from '../errors.ts';
import type { Gateway } from '../gateway/context/gateway.ts';
import { createAccountSurcharges } from '../gateway/state/account-surcharges.ts';
import { createAdmissionQueue } from '../gateway/state/admission-queue.ts';
import { createAuthenticator } from '../gateway/state/authenticate.ts';
import { createBodyMemory } from '../gateway/state/body-memory.ts';
import { createLessons } from '../gateway/state/labels.ts';
import { createLearners } from '../gateway/state/learner-store.ts';
import { createResolver } from '../gateway/state/resolve.ts';
import { createResponsesSupport } from '../gateway/state/responses-support.ts';
import { createRouter, type Router } from '../gateway/state/router.ts';
import { createSettleRetry } from '../gateway/state/settle-retry.ts';
import { createTiers } from '../gateway/state/tiers.ts';
import { createUpstreamPools } from '../gateway/state/upstream-pools.ts';
import { createRequestIds, newId, type Random, systemRandom } from '../ids.ts';
import type { Paths } from '../paths.ts';
import { worstCase } from '../pricing/cost.ts';
import { fetchModels } from '../providers/fetch-models.ts';
import { createModelLists } from '../providers/model-lists.ts';
import { startSandbox } from '../providers/sandbox.ts';
import { createApi } from '../server/api.ts';
import { type Listener, listen } from '../server/listen.ts';
import { createBudgetLookup, createCallerLookup, createProjectLookup } from '../store/accounts/callers.ts';
import { type Checkpoints, createCheckpoints } from '../store/checkpoints/checkpoints.ts';
import { lastRequestId, registerDaemon, unregisterDaemon } from '../store/database/daemons.ts';
import { openDatabase } from '../store/database/open.ts';
import { createPruning } from '../store/database/retention.ts';
import { inTransaction } from '../store/database/write.ts';
import { createLedger, type Ledger } from '../store/ledger/ledger.ts';
import { createRouterStateStore } from '../store/router/router-state.ts';
import { recentTierScores } from '../store/router/tier-scores.ts';
import { createOutbox } from '../store/webhooks/outbox.ts';
import { modelsOf } from '../tiering/tier-models.ts';
import { createTokenCounter } from '../tokens/counter.ts';
import { createItemMemory } from '../translation/responses-over-chat/item-memory.ts';
import { addressPolicy } from '../webhooks/address-check.ts';
import { createDispatcher } from '../webhooks/dispatcher.ts';
import { createSend } from '../webhooks/send.ts';
import { createWebhookService } from '../webhooks/service.ts';
import { createConfiguration } from './configuration.ts';
import { JUDGE_EVERY_MS, judgeOptimizer } from './judge-optimizer.ts';
import type { Logger } from './log.ts';
import { startMaintenance } from './maintain.ts';
import { recover, repeat } from './recover.ts';

export interface BootOptions {
  paths: Paths;
  env: Record<string, string | undefined>;
  flags?: Partial<Record<ScalarKey, unknown>>;
  log: Logger;
  clock?: Clock;
  random?: Random;
  compressor?: Compressor;
  /** Gives the commands in a message the name that gw is run by here. */
  pasteable?: ((text: string) => string) | undefined;
}

/** A gateway that answers. */
export interface Daemon {
  instanceId: string;
  port: number;
  host: string;
  startedAt: number;
  /** Lets running requests end, up to the time limit; then cuts them, settles, and closes everything. */
  stop(options?: { graceMs?: number }): Promise<void>;
}

/** Targets are compared by what this costs there. */
const MUCH_USE = { inputTokens: 1_000_000, outputTokens: 1_000_000, choices: 1 };
/** A statement may block the event loop no longer than this; the ledger retries without blocking. */
const BUSY_TIMEOUT_MS = 20;
/** So much a kill forgets of them. */
const SAVE_CONVERSATIONS_EVERY_MS = 60_000;
/** When the daemon has started and has time for what the first long prompt will need. */
const WARM_UP_AFTER_MS = 500;
const DEFAULT_GRACE_MS = 25_000;
/** An hour's usage is summed so long after it: by then nearly all of its requests have ended. */
const LATE_MS = 10 * 60_000;

export const VERSION: string = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
).version;

/** The composition root: everything that the daemon is made of is put together here, and taken apart in `stop`. */
export async function boot(options: BootOptions): Promise<Daemon> {
  const { paths, env, flags = {}, log, clock = systemClock, random = systemRandom } = options;
  const instanceId = newId('gw', random);
  const startedAt = clock.now();
  const db = await openDatabase(paths.database, { busyTimeoutMs: BUSY_TIMEOUT_MS });
  const own = { instanceId, lockPath: paths.lock };
  const slot = registerDaemon(db, { ...own, pid: process.pid, startedAt });
  const sandbox = await startSandbox();

  const configuration = await createConfiguration({
    file: paths.config,
    credentialsFile: paths.credentials,
    env,
    flags,
    db,
    sandbox,
    now: () => clock.now(),
    onChange: ({ problems }) => {
      authenticator.forget();
      resolver.forget();
      tiers.forget();
      for (const problem of problems) log.warn(problem);
    },
  });
  const { current } = configuration;
  const calendar = () => current().calendar;
  let onEvents = () => {};
  const ledger: Ledger = createLedger({
    db,
    clock,
    calendar,
    slot,
    random,
    onEvents: () => onEvents(),
    onCommit: () => checkpoints.committed(),
  });
  const checkpoints: Checkpoints = createCheckpoints({
    db,
    path: paths.database,
    pause: ledger.pause,
    clock,
    warn: (message) => log.warn(message),
  });
  const recovery = () =>
    recover({
      db,
      ledger,
      own,
      onClosed: (closed) => log.warn(closed, 'closed the holds of a daemon that died'),
    });
  const onJobError = (error: unknown) => log.error({ error: messageOf(error) }, 'a background job failed');
  const guarded = (job: () => Promise<void>) => () => job().catch(onJobError);
  await recovery();
  await ledger.roll();

  const lists = createModelLists(() => current().registry.providers.values(), fetchModels, clock);
  const authenticator = createAuthenticator(createCallerLookup(db));
  const resolver = createResolver({
    providers: () => current().registry.providers,
    aliases: () => current().settings.aliases,
    lists,
    priceOf: ({ provider, model }) => {
      const card = current().catalog.find(provider.name, model, clock.now());
      return card && worstCase(MUCH_USE, card);
    },
  });
  const tiers = createTiers({ settings: () => current().settings, resolver, known: recentTierScores(db) });
  const learners = createLearners({
    home: paths.home,
    clock,
    models: () => modelsOf(current().settings.tiers),
    warn: (message) => log.warn(message),
  });
  const routerState = createRouterStateStore(db);
  const saveHealth = () => routerState.save('health', router.health.snapshot(), clock.now());
  /** The write that is due, if conversations went on since the last. */
  const conversationsDue = () => {
    const snapshot = router.conversationsToSave();
    return snapshot && (() => routerState.save('conversations', snapshot, clock.now()));
  };
  const router: Router = createRouter({
    clock,
    random,
    known: { health: routerState.read('health'), conversations: routerState.read('conversations') },
    // Nothing waits for it, and a database that can't be written is told elsewhere.
    save: () => void ledger.write(saveHealth).catch(() => {}),
  });
  const upstreams = createUpstreamPools(() => ({
    connectTimeoutMs: current().settings['upstream.connect_timeout_ms'],
    firstByteTimeoutMs: current().settings['upstream.first_byte_timeout_ms'],
    idleTimeoutMs: current().settings['upstream.idle_timeout_ms'],
  }));
  const settleRetry = createSettleRetry(ledger, clock);
  const tokens = createTokenCounter();
  const compressor = options.compressor ?? createCompressor({ clock, warn: (message) => log.warn(message) });
  const attribution = createAttribution({ enabled: () => current().settings.attribution === 'on', clock });
  const gateway: Gateway = {
    clock,
    calendar,
    nextId: createRequestIds(slot, () => clock.now(), lastRequestId(db)),
    settings: () => current().settings,
    authenticator,
    findProject: createProjectLookup(db),
    hasBudget: createBudgetLookup(db),
    attribution,
    repoBudgets: () => current().repoBudgets,
    providers: () => current().registry.providers,
    resolver,
    router,
    tiers,
    learners,
    lessons: createLessons(learners),
    catalog: () => current().catalog,
    ledger,
    settleRetry,
    queue: createAdmissionQueue(ledger, clock),
    accountSurcharges: createAccountSurcharges(),
    bodies: createBodyMemory(() => current().settings['limits.max_memory_bytes']),
    tokens,
    compressor,
    upstreams,
    responsesSupport: createResponsesSupport(clock.now),
    memory: createItemMemory(),
    warn: (message) => log.warn(message),
    pasteable: options.pasteable ?? ((text) => text),
  };

  const { host, port } = current().settings;
  const policy = () => addressPolicy({ host, port: listener?.port ?? port });
  const send = createSend({ policy, clock });
  const dispatcher = createDispatcher({
    outbox: createOutbox(db, ledger.write),
    send,
    clock,
    random,
    calendar,
    warn: (message) => log.warn(message),
  });
  const webhooks = createWebhookService({
    db,
    write: ledger.write,
    clock,
    calendar,
    send,
    policy,
    random,
    wake: dispatcher.wake,
  });
  let listener: Listener | undefined;
  const health = () => ({
    status: 'ok',
    version: VERSION,
    instance_id: instanceId,
    pid: process.pid,
    port: listener?.port ?? port,
    started_at: new Date(startedAt).toISOString(),
    home: paths.home,
  });
  const api = createApi({
    gateway,
    db,
    lists,
    webhooks,
    boundTo: host,
    refresh: configuration.refresh,
    reload: configuration.reload,
    health,
    onInternalError: (error, request) =>
      log.error(
        { error: error instanceof Error ? error.stack : String(error), url: request.url },
        'request failed',
      ),
  });
  for (const problem of current().problems) log.warn(problem);
  const judging = {
    db,
    write: ledger.write,
    file: paths.config,
    settings: gateway.settings,
    reload: configuration.reload,
    now: () => clock.now(),
    warn: gateway.warn,
  };
  const stops = [
    clock.after(WARM_UP_AFTER_MS, compressor.warmUp),
    repeat(clock, guarded(recovery)),
    repeat(
      clock,
      guarded(() => ledger.roll()),
    ),
    repeat(
      clock,
      guarded(() => judgeOptimizer(judging)),
      JUDGE_EVERY_MS,
    ),
    repeat(
      clock,
      guarded(async () => {
        const save = conversationsDue();
        if (save) await ledger.write(save);
      }),
      SAVE_CONVERSATIONS_EVERY_MS,
    ),
  ];

  const pruning = createPruning(db);
  const prune = (kind: 'requests' | 'deliveries' | 'events') => async () => {
    const keepMs = retentionMs(current().settings['retention.requests']);
    return keepMs !== undefined && ledger.write(() => pruning[kind](clock.now(), keepMs));
  };
  const stopMaintenance = startMaintenance({
    clock,
    steps: [
      async () => {
        // Without requests nobody else looks whether records are to be kept longer now.
        await configuration.refresh();
        return false;
      },
      () => ledger.sumNextHour(clock.now() - LATE_MS),
      prune('requests'),
      prune('deliveries'),
      prune('events'),
      () => ledger.write(() => pruning.minutes(clock.now())),
    ],
    onError: onJobError,
  });

  async function close(): Promise<void> {
    for (const stop of stops) stop();
    await stopMaintenance();
    await dispatcher.stop();
    await upstreams.close();
    await sandbox.close();
    await tokens.close();
    await compressor.close();
    await attribution.close();
    await learners.close();
    await checkpoints.close();
    if ((await settleRetry.retry()) > 0)
      log.error('requests could not be settled; their holds close at the next start');
    try {
      inTransaction(db, () => {
        saveHealth();
        conversationsDue()?.();
      });
    } catch (error) {
      log.warn(`the state of the providers could not be kept: ${messageOf(error)}`);
    }
    unregisterDaemon(db, instanceId);
    db.pragma('wal_checkpoint(TRUNCATE)');
    db.close();
  }

  try {
    listener = await listen({ host, port, ...api });
  } catch (error) {
    await close();
    throw error;
  }
  const listening = listener;
  dispatcher.start();
  onEvents = dispatcher.wake;
  return {
    instanceId,
    port: listening.port,
    host,
    startedAt,
    async stop({ graceMs = DEFAULT_GRACE_MS } = {}) {
      const drained = listening.close();
      const cancel = clock.after(graceMs, () => listening.cut());
      await drained;
      cancel();
      await api.whenIdle();
      await close();
    },
  };
}
