import { statSync } from 'node:fs';
import type { Settings } from '../config/settings.ts';
import { readTls, speaksTls } from '../config/tls.ts';
import { messageOf } from '../errors.ts';
import type { Gateway } from '../gateway/context/gateway.ts';
import { startTelemetry } from '../metrics/telemetry.ts';
import { fetchModels } from '../providers/fetch-models.ts';
import { createModelLists, type FetchModels } from '../providers/model-lists.ts';
import { createApi } from '../server/api.ts';
import type { GuardOptions } from '../server/guard.ts';
import { createReports } from '../server/gw-api/reports.ts';
import { type Listener, listen } from '../server/listen.ts';
import { archiveAll } from '../store/archive/archive.ts';
import { createPolledConnections } from '../store/dashboard/polled-connections.ts';
import { unregisterDaemon } from '../store/database/daemons.ts';
import type { FileIdentity } from '../store/database/file-watch.ts';
import { inTransaction } from '../store/database/write.ts';
import { createOutbox } from '../store/webhooks/outbox.ts';
import { VERSION } from '../version.ts';
import { addressPolicy } from '../webhooks/address-check.ts';
import { createDispatcher } from '../webhooks/dispatcher.ts';
import { createSend } from '../webhooks/send.ts';
import { createWebhookService } from '../webhooks/service.ts';
import { buildGateway } from './build-gateway.ts';
import { startJobs } from './jobs.ts';
import { startLogWatch } from './log-watch.ts';
import { type BootOptions, type Core, openCore } from './open-core.ts';
import { createPersistentRouter } from './persistent-router.ts';
import { createTeamPart } from './team-part.ts';

export interface Daemon {
  instanceId: string;
  port: number;
  host: string;
  /** Whether it serves https. */
  tls: boolean;
  startedAt: number;
  /** Identity of the open database file. */
  databaseFile: FileIdentity;
  /** Waits up to the grace period for running requests, cuts the rest, settles them and closes everything. */
  stop(options?: { graceMs?: number; hasSuccessor?: boolean }): Promise<void>;
}

const DEFAULT_GRACE_MS = 25_000;

/** The composition root: creates and starts the daemon's parts, lowest first. */
export async function boot(options: BootOptions): Promise<Daemon> {
  const core = await openCore(options);
  const { instanceId, startedAt, clock, db, ledger, configuration } = core;
  const { current, refresh, reload } = configuration;

  const fetchList: FetchModels = (provider) => fetchModels(provider, current().network);
  const lists = createModelLists(() => current().registry.providers.values(), fetchList, clock);
  const { router, saveConversations, saveState } = createPersistentRouter(core);
  const { compressor, pasteable, subscriptions } = options;
  const gateway = buildGateway({ ...core, lists, router, compressor, pasteable, subscriptions });
  const logProblems = () => current().problems.forEach(core.warn);
  configuration.onChange(logProblems);

  const { settings } = current();
  const { host, port } = settings;
  // Holds the configured port until the listener's port is known: 0 means any free port.
  const address = { host, port };
  const webhooks = buildWebhooks(core, address);
  const { closeReaders, ...readers } = createReaders(core);
  const { openTeam } = options;
  const team = createTeamPart({ ...core, openTeam, onAnswer: gateway.queue.wakeAll, send: webhooks.send });
  const api = createApi({
    gateway,
    teamUsage: team.usage,
    db,
    lists,
    webhooks: webhooks.service,
    guard: guardOf(host, () => current().settings),
    ...readers,
    registry: () => current().registry,
    random: core.random,
    home: core.paths.home,
    joinsTraces: settings['metrics.otlp_endpoint'] !== '',
    refresh,
    reload,
    health: () => healthOf(core, address.port),
    fault: core.files.fault,
    onInternalError: (error, { url }) => logFault(core, error, url),
  });
  logProblems();
  const checkCertificate = watchCertificate(core, settings, () => listener);
  const stopJobs = startJobs({
    ...core,
    gateway,
    saveConversations,
    checkCertificate,
  });
  const stopTelemetry = await startTelemetry({ ...core, endpoint: settings['metrics.otlp_endpoint'] });
  const stops = { stopJobs, stopLogWatch: startLogWatch(core, options.env), saveState, stopTelemetry };
  const parts = { ...core, ...stops, gateway, closeReaders, dispatcher: webhooks.dispatcher };
  const close = (isLeaving = false) => closeParts({ ...parts, stopTeam: () => team.stop({ isLeaving }) });

  const listener =
    options.listener ??
    (await listenOn(settings, clock.now()).catch(async (error) => {
      await close();
      throw error;
    }));
  address.port = listener.port;
  listener.serve(api);
  webhooks.dispatcher.start();
  ledger.onEvents(webhooks.dispatcher.wake);
  team.start();

  return {
    instanceId,
    port: listener.port,
    host,
    tls: speaksTls(settings),
    startedAt,
    databaseFile: core.files.identity,
    async stop({ graceMs = DEFAULT_GRACE_MS, hasSuccessor = false } = {}) {
      // The successor continues with this gateway's team money, so nothing is returned.
      if (hasSuccessor) await team.stop({ isLeaving: false });
      gateway.approvals.end();
      const drained = listener.close();
      const cancel = clock.after(graceMs, () => {
        gateway.upstreams.cut();
        listener.cut();
      });
      await drained;
      // Waits for answers that are read to the end although their client has gone.
      await api.whenIdle();
      cancel();
      await close(!hasSuccessor);
    },
  };
}

const guardOf = (boundTo: string, settings: () => Settings): GuardOptions => ({
  boundTo,
  allowedHosts: () => settings()['server.allowed_hosts'].names,
  allowedOrigins: () => settings()['server.allowed_origins'].origins,
});

function logFault({ log }: Core, error: unknown, url: string | undefined): void {
  const what = error instanceof Error ? error.stack : String(error);
  // Omits the query, in which some clients send their key.
  log.error({ error: what, url: url?.split('?')[0] }, 'request failed');
}

/** Listens at the configured address. Requests wait until the daemon serves them. */
export async function listenOn(settings: Settings, now: number): Promise<Listener> {
  const { host, port } = settings;
  return listen({ host, port, tls: readTls(settings, now) });
}

interface Parts extends Core {
  gateway: Gateway;
  closeReaders: () => Promise<void>;
  dispatcher: ReturnType<typeof buildWebhooks>['dispatcher'];
  stopJobs: () => Promise<void>;
  stopLogWatch: () => Promise<void>;
  saveState: () => void;
  /** Flushes to the collector. */
  stopTelemetry: () => Promise<void>;
  /** Returns the team's money once no request holds any. */
  stopTeam: () => Promise<void>;
}

/** Closes the parts of a daemon that no longer accepts requests. The database is last: the others may write to it. */
async function closeParts(parts: Parts): Promise<void> {
  const { db, gateway, log } = parts;
  parts.files.close();
  await parts.stopJobs();
  await parts.stopLogWatch();
  await parts.dispatcher.stop();
  await gateway.upstreams.close();
  await parts.sandbox.close();
  await gateway.tokens.close();
  await gateway.compressor.close();
  await gateway.attribution.close();
  await parts.closeReaders();
  await parts.checkpoints.close();
  await parts.keptBodies.settled();
  await parts.keptAnswers.settled();
  await parts.ledger.settled();
  if ((await gateway.settleRetry.retry()) > 0)
    log.error('requests could not be settled; their holds close at the next start');
  await parts.stopTeam();
  await parts.stopTelemetry();
  if (parts.files.fault()) {
    // Writes nothing more: the files at the path may belong to another database by now.
    db.close();
    return;
  }
  try {
    await archiveAll(parts);
    inTransaction(db, parts.saveState);
  } catch (error) {
    log.warn(`could not archive the last requests and save the state of the router: ${messageOf(error)}`);
  }
  unregisterDaemon(db, parts.instanceId);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
}

/** The body of `GET /health`: `open` is public, `closed` is only for callers with a key. */
function healthOf({ instanceId, startedAt, paths }: Core, port: number) {
  return {
    open: { status: 'ok', version: VERSION, instance_id: instanceId },
    closed: {
      pid: process.pid,
      port,
      started_at: new Date(startedAt).toISOString(),
      home: paths.home,
    },
  };
}

/**
 * Creates the dispatcher, which delivers events, and the service behind the webhook endpoints. `address` is gw's
 * listening address, read for each delivery.
 */
function buildWebhooks(core: Core, address: Readonly<{ host: string; port: number }>) {
  const { db, ledger, clock, random, calendar, configuration, warn } = core;
  const { write } = ledger;
  const policy = () => {
    const allowedHosts = configuration.current().settings['server.allowed_hosts'].names;
    return addressPolicy({ ...address, allowedHosts });
  };
  const send = createSend({ policy, network: () => configuration.current().network, clock });
  const outbox = createOutbox(db, write);
  const dispatcher = createDispatcher({ outbox, send, clock, random, calendar, warn });
  const { wake } = dispatcher;
  const service = createWebhookService({ db, write, clock, calendar, send, policy, random, wake });
  return { dispatcher, service, send };
}

/**
 * Returns a check for new certificate files. If the pair can't be used, for example because it is half replaced, the
 * previous one stays in force.
 */
function watchCertificate({ clock, log, warn }: Core, settings: Settings, listener: () => Listener) {
  const files = [settings['server.tls_cert'], settings['server.tls_key']].filter((file) => file !== '');
  const stamp = () =>
    files.map((file) => {
      const stat = statSync(file, { throwIfNoEntry: false });
      return stat && `${stat.ino} ${stat.mtimeMs} ${stat.size}`;
    });
  let last = String(stamp());
  return () => {
    const current = String(stamp());
    if (current === last) return;
    last = current;
    try {
      const tls = readTls(settings, clock.now());
      if (!tls) return;
      listener().renew(tls);
      log.info('the certificate was replaced');
    } catch (error) {
      warn(`the new certificate is not used: ${messageOf(error)}`);
    }
  };
}

/** What reads the records beside the ledger: connections for what is polled, and the thread for reports. */
function createReaders({ paths, clock }: Pick<Core, 'paths' | 'clock'>) {
  const polled = createPolledConnections(paths.database);
  const reports = createReports({ path: paths.database, clock });
  return {
    pollDb: polled.open,
    reports,
    async closeReaders() {
      await polled.close();
      await reports.close();
    },
  };
}
