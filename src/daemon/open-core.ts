import type { Calendar } from '../calendar.ts';
import { type Clock, systemClock } from '../clock.ts';
import type { Compressor } from '../compression/compressor.ts';
import { readSecrets } from '../config/secrets.ts';
import type { ScalarKey } from '../config/settings.ts';
import { orElse } from '../errors.ts';
import { newId, type Random, systemRandom } from '../ids.ts';
import type { Paths } from '../paths.ts';
import { type Sandbox, startSandbox } from '../providers/sandbox.ts';
import type { Subscriptions } from '../providers/subscriptions.ts';
import { proxySecrets } from '../proxy-address.ts';
import { createSecretStore, type SecretStore } from '../redact.ts';
import type { Listener } from '../server/listen.ts';
import { type Archive, createArchive } from '../store/archive/archive.ts';
import { deadRuns, endRun } from '../store/budgets/runs.ts';
import { type Checkpoints, createCheckpoints } from '../store/checkpoints/checkpoints.ts';
import { deadDaemons, orphanedSlots, registerDaemon, unregisterDaemon } from '../store/database/daemons.ts';
import { createFileWatch, type FileWatch, lostDatabase } from '../store/database/file-watch.ts';
import { type Db, openDatabase } from '../store/database/open.ts';
import { latestTime } from '../store/database/set-back.ts';
import { createLedger, type Ledger } from '../store/ledger/ledger.ts';
import { createKeptAnswers, type KeptAnswers } from '../store/requests/kept-answers.ts';
import { createKeptBodies, type KeptBodies } from '../store/requests/kept-bodies.ts';
import { readMembership } from '../store/team/membership.ts';
import type { TeamAuthority } from '../team/authority.ts';
import { createDemands, type Demands } from '../team/demands.ts';
import { createTeamClock, type TeamClock } from '../team/team-clock.ts';
import { type Configuration, createConfiguration, type LiveConfiguration } from './configuration.ts';
import type { Logger } from './log.ts';

export interface BootOptions {
  paths: Paths;
  env: Record<string, string | undefined>;
  flags?: Partial<Record<ScalarKey, unknown>>;
  log: Logger;
  /** Collects the secrets to redact. */
  secrets?: SecretStore;
  clock?: Clock;
  random?: Random;
  compressor?: Compressor | undefined;
  /** A listener that is already open at the configured address. */
  listener?: Listener | undefined;
  /** Rewrites the commands in a message to the name under which gw was started. */
  pasteable?: ((text: string) => string) | undefined;
  /** Called if the open database files were replaced or removed, with what was found. */
  onDatabaseLost?: (found: string) => void;
  /** Services for clients' own logins; tests pass their own. */
  subscriptions?: Subscriptions | undefined;
  /** Opens the team's authority; tests pass their own. */
  openTeam?: ((url: string) => Promise<TeamAuthority>) | undefined;
}

/** Base of the daemon's other parts: database, configuration, ledger. */
export interface Core {
  instanceId: string;
  /** UTC milliseconds. */
  startedAt: number;
  /** Latest time recorded by an earlier process on this database, UTC milliseconds. */
  clockWas: number;
  paths: Paths;
  clock: Clock;
  random: Random;
  log: Logger;
  warn: (message: string) => void;
  secrets: SecretStore;
  db: Db;
  files: FileWatch;
  /** Number of this daemon's row in the database; its request ids and holds carry it. */
  slot: number;
  sandbox: Sandbox;
  configuration: LiveConfiguration;
  calendar: () => Calendar;
  ledger: Ledger;
  team: { clock: TeamClock; demands: Demands };
  archive: Archive;
  checkpoints: Checkpoints;
  keptBodies: KeptBodies;
  keptAnswers: KeptAnswers;
  /** Closes the holds of dead daemons, and ends runs whose `gw run` died. */
  recover: () => Promise<void>;
}

/** Maximum time that a statement may block the event loop; the ledger retries without blocking. */
const BUSY_TIMEOUT_MS = 20;

/** Opens the database, loads the configuration and recovers the ledger. Undoes everything if it fails. */
export async function openCore(options: BootOptions): Promise<Core> {
  const undo: (() => unknown)[] = [];
  try {
    return await open(options, undo);
  } catch (error) {
    for (const close of undo.reverse()) await close();
    throw error;
  }
}

/** Appends functions to `undo` that close the parts, in the order in which they were opened. */
async function open(options: BootOptions, undo: (() => unknown)[]): Promise<Core> {
  const { paths, env, flags = {}, log, clock = systemClock, random = systemRandom } = options;
  const { secrets = createSecretStore() } = options;
  const instanceId = newId('gw', random);
  const startedAt = clock.now();
  const warn = (message: string) => log.warn(message);

  const db = await openDatabase(paths.database, {
    busyTimeoutMs: BUSY_TIMEOUT_MS,
    lockPath: paths.lock,
  });
  undo.push(() => db.close());
  const clockWas = latestTime(db);
  const own = { instanceId, lockPath: paths.lock };
  const slot = registerDaemon(db, { ...own, pid: process.pid, startedAt });
  undo.push(() => unregisterDaemon(db, instanceId));
  const files = createFileWatch({
    db,
    path: paths.database,
    onLost(found) {
      log.error({ database: paths.database }, lostDatabase(found).message);
      options.onDatabaseLost?.(found);
    },
  });
  undo.push(files.close);
  const sandbox = await startSandbox();
  undo.push(sandbox.close);
  const configuration = await createConfiguration({
    file: paths.config,
    credentialsFile: paths.credentials,
    pricesFile: paths.prices,
    env,
    flags,
    db,
    sandbox,
    now: () => clock.now(),
  });
  const learnSecrets = () => secrets.set(knownSecrets(configuration.current(), { db, paths, env }));
  learnSecrets();
  configuration.onChange(learnSecrets);
  const calendar = () => configuration.current().calendar;

  const teamClock = createTeamClock(clock, readMembership(db)?.offsetMs);
  const team = { clock: teamClock, demands: createDemands(clock, teamClock) };
  const fault = files.fault;
  const ledger = createLedger({ db, clock, calendar, slot, random, fault, team: team.demands });
  const checkpoints = createCheckpoints({ db, path: paths.database, pause: ledger.pause, clock, warn });
  undo.push(checkpoints.close);
  ledger.onCommit(checkpoints.committed);
  const archive = createArchive(db);
  const kept = openKept({ paths, db, configuration, clock, warn }, undo);
  const recover = async () => {
    await closeDeadHolds({ db, ledger, log }, own);
    await endDeadRuns({ db, ledger, clock, log });
  };
  await recover();
  await ledger.roll();

  const store = { db, files, slot, ledger, team, archive, checkpoints, ...kept, recover };
  return {
    instanceId,
    startedAt,
    clockWas,
    paths,
    clock,
    random,
    log,
    warn,
    secrets,
    sandbox,
    configuration,
    calendar,
    ...store,
  };
}

/** What is kept of requests in files. */
function openKept(
  { paths, db, configuration, clock, warn }: Pick<Core, 'paths' | 'db' | 'configuration' | 'clock' | 'warn'>,
  undo: (() => unknown)[],
) {
  const keptBodies = createKeptBodies({
    folder: paths.bodies,
    db,
    now: () => clock.now(),
    isOn: () => configuration.current().settings['requests.keep_bodies'] === 'on',
    warn,
  });
  configuration.onChange(({ settings }) => {
    if (settings['requests.keep_bodies'] === 'off') void keptBodies.sweep();
  });
  void keptBodies.sweep();
  undo.push(keptBodies.settled);
  const keptAnswers = createKeptAnswers({
    folder: paths.replays,
    now: () => clock.now(),
    maxMb: () => configuration.current().settings['replay.max_mb'],
    warn,
  });
  undo.push(keptAnswers.settled);
  return { keptBodies, keptAnswers };
}

/** Revokes the keys and removes the budgets of runs whose `gw run` was killed. */
async function endDeadRuns({ db, ledger, clock, log }: Pick<Core, 'db' | 'ledger' | 'clock' | 'log'>) {
  for (const run of deadRuns(db)) {
    await ledger.write(() => endRun(db, run, clock.now()));
    log.warn({ run }, 'ended a run that was killed');
  }
}

/**
 * Closes the holds of dead daemons, in full and flagged as estimated: their requests may have been billed. Skips this
 * daemon, `own`.
 */
async function closeDeadHolds(
  { db, ledger, log }: Pick<Core, 'db' | 'ledger' | 'log'>,
  own: { instanceId: string; lockPath: string },
): Promise<void> {
  const close = async (slot: number, instanceId?: string) => {
    const holds = await ledger.closeHolds(slot, instanceId);
    if (holds > 0) log.warn({ slot, holds }, 'closed the holds of a daemon that died');
  };
  for (const { slot, instanceId } of deadDaemons(db, own)) {
    await close(slot, instanceId);
    unregisterDaemon(db, instanceId);
  }
  for (const slot of orphanedSlots(db)) await close(slot);
}

/** Shorter keys are placeholders for local servers, such as `ollama`: words that error messages may contain. */
const MIN_KEY_LENGTH = 8;

/**
 * Secrets that gw must never write: keys of providers and of gw's own CLI, passwords of proxies, secrets of webhooks.
 */
function knownSecrets(
  { registry, settings }: Pick<Configuration, 'registry' | 'settings'>,
  { db, paths, env }: Pick<Core, 'db' | 'paths'> & Pick<BootOptions, 'env'>,
): string[] {
  const keys = [...registry.providers.values()].flatMap(({ authHeaders }) =>
    authHeaders.filter((_, i) => i % 2 === 1),
  );
  const webhooks = db
    .prepare<[], string>(
      'SELECT secret FROM webhook_endpoints UNION SELECT old_secret FROM webhook_endpoints WHERE old_secret IS NOT NULL',
    )
    .pluck()
    .all();
  const proxies = [
    settings['proxy.url'],
    ...[...registry.providers.values()].map(({ ownProxy }) => ownProxy?.address),
    ...['HTTP_PROXY', 'HTTPS_PROXY'].flatMap((name) => [env[name], env[name.toLowerCase()]]),
  ].flatMap((address) => (address ? proxySecrets(address) : []));
  // Commands that need the file report its error.
  const cliKeys = Object.values(orElse(() => readSecrets(paths.cliKeys), {}));
  return [...keys, ...proxies, ...webhooks, ...cliKeys].filter(({ length }) => length >= MIN_KEY_LENGTH);
}
