import { dirname, join } from 'node:path';
import { createCalendar } from '../calendar.ts';
import { readSecrets, TEAM_URL } from '../config/secrets.ts';
import { messageOf } from '../errors.ts';
import { SEARCH_MS } from '../store/archive/archive.ts';
import { acquireLock, type FileLock } from '../store/database/lock.ts';
import { createTeamLimits } from '../store/team/limits.ts';
import {
  type Membership,
  noTeam,
  noteFailure,
  readMembership,
  stopLeaving,
} from '../store/team/membership.ts';
import type { AskTeamUsage } from '../store/team/usage.ts';
import type { TeamAuthority } from '../team/authority.ts';
import type { CourierOutboxOptions } from '../team/courier-outbox.ts';
import { createDispatcher } from '../webhooks/dispatcher.ts';
import type { Send } from '../webhooks/send.ts';
import type { BootOptions, Core } from './open-core.ts';

/** The daemon's team functions, not loaded without a membership. */
export interface TeamPart {
  start(): void;
  /** Stops syncing. `isLeaving` returns all money to the team. */
  stop(options: { isLeaving: boolean }): Promise<void>;
  usage: AskTeamUsage;
}

export interface TeamPartOptions extends Core, Pick<BootOptions, 'openTeam'> {
  onAnswer: () => void;
  /** Delivers the team's events. */
  send: Send;
}

/** The running parts of a member. */
interface Member {
  stop(options: { isLeaving: boolean }): Promise<void>;
  /** Returns all money as requests end, then leaves. Throws if the team can't be reached. */
  leave(): Promise<void>;
}

const LOCK_EVERY_MS = 250;
const OPEN_EVERY_MS = 5_000;

/** Starts the sync agent when this gateway joins a team, and stops it when it leaves. */
export function createTeamPart(options: TeamPartOptions): TeamPart {
  const { db, clock, ledger, paths, log, configuration, openTeam = openPostgres } = options;
  const usage = createTeamUsage(options, openTeam);
  let leaving: Promise<void> | undefined;
  let agent: Promise<Member | undefined> | undefined;
  /** The agent's gateway id and whether it delivers events. */
  let identity: string | undefined;
  let ending: Promise<void> | undefined;
  let lock: FileLock | undefined;
  let cancelTry = () => {};
  let isStopped = true;

  /** Only one daemon per state directory syncs; the others spend from the same limits. */
  function begin(): void {
    cancelTry();
    if (isStopped || agent) return;
    const membership = readMembership(db);
    if (!membership) return;
    lock ??= acquireLock(join(dirname(paths.database), 'team.lock'));
    if (!lock) {
      cancelTry = clock.after(LOCK_EVERY_MS, begin);
      return;
    }
    identity = identityOf(membership);
    agent = open(options, membership).catch(tryAgain);
  }

  /** Retries later: the cause, such as an unreadable file or a copied state directory, may be fixed by then. */
  async function tryAgain(error: unknown): Promise<undefined> {
    const reason = messageOf(error);
    if (readMembership(db)?.failure !== reason) log.error({}, `can't sync with the team: ${reason}`);
    const { syncedAt = null, joinedAt = clock.now() } = readMembership(db) ?? {};
    await ledger.writeBudgets(() => noteFailure(db, reason, syncedAt ?? joinedAt)).catch(() => {});
    agent = undefined;
    cancelTry = clock.after(OPEN_EVERY_MS, begin);
  }

  function end(isLeaving: boolean): Promise<void> {
    ending ??= stopAgent(isLeaving).finally(() => {
      ending = undefined;
    });
    return ending;
  }

  async function stopAgent(isLeaving: boolean): Promise<void> {
    cancelTry();
    await (await agent)?.stop({ isLeaving });
    cancelTry();
    agent = undefined;
    lock?.release();
    lock = undefined;
  }

  async function leave(): Promise<void> {
    try {
      const leaver = await agent;
      if (!leaver) throw new Error(readMembership(db)?.failure ?? 'the team can not be asked');
      await leaver.leave();
      log.info({}, 'left the team');
    } catch (error) {
      // `gw team status` reports the failure; the gateway stays a member.
      log.warn({ error: messageOf(error) }, 'could not leave the team');
      await ledger.writeBudgets(() => stopLeaving(db, messageOf(error), clock.now()));
    }
    leaving = undefined;
    agent = undefined;
    begin();
  }

  configuration.onChange(() => {
    const membership = readMembership(db);
    if (membership?.leaving) leaving ??= leave();
    // It left, or joined again as a new gateway.
    else if (agent && identityOf(membership) !== identity) void end(false).then(begin);
    else begin();
  });
  return {
    start() {
      isStopped = false;
      begin();
    },
    async stop({ isLeaving }) {
      isStopped = true;
      // No request holds the team's money any more, so a pending leave can complete.
      if (isLeaving) await leaving;
      await Promise.all([end(isLeaving), usage.close()]);
      await leaving;
    },
    usage: usage.ask,
  };
}

const identityOf = (membership: Membership | undefined): string =>
  membership ? `${membership.gatewayId} ${membership.courier}` : '';

async function open(options: TeamPartOptions, membership: Membership): Promise<Member> {
  const { db, ledger, clock, paths, log, random, team, configuration } = options;
  const { onAnswer, openTeam = openPostgres } = options;
  const [{ createSyncAgent }, { createUsagePush, pushLastUsage }, { createKeySync }, { fingerprintOf }] =
    await Promise.all([
      import('../team/sync-agent.ts'),
      import('../team/usage-push.ts'),
      import('../team/key-sync.ts'),
      import('../team/fingerprint.ts'),
    ]);
  if (membership.fingerprint !== fingerprintOf(paths.database)) {
    await ledger.writeBudgets(() => createTeamLimits(db).voidAll());
    throw new Error(COPIED);
  }
  const authority = await openTeam(readSecrets(paths.credentials)[TEAM_URL] ?? '');
  const identity = { gateway: membership.gatewayId, token: membership.token };
  const common = { db, ledger, clock, random, authority, identity, log };
  const pushOptions = { ...common, onRefused: () => agent.syncNow() };
  const pushLast = async () => {
    // Includes requests whose caller is still unknown: nothing here waits for that search.
    while (await ledger.writeApart(() => options.archive.takeOver(clock.now() + SEARCH_MS)));
    await pushLastUsage(pushOptions);
  };
  const agent = createSyncAgent({
    ...common,
    onAnswer,
    onKeysVersion: (version, sentAt) => keys.noteVersion(version, sentAt),
    onLeaving: pushLast,
    teamClock: team.clock,
    demands: team.demands,
  });
  const keys = createKeySync({
    ...common,
    cacheMs: () => configuration.current().settings['team.key_cache_ms'],
    onChange: () => void configuration.reload(),
    onConfig: agent.noteConfig,
  });
  const usage = createUsagePush(pushOptions);
  const courier = membership.courier === 1 ? await openCourier(options, membership, common) : undefined;
  agent.start();
  usage.start();
  keys.start();
  courier?.start();
  const endOthers = async () => {
    await usage.stop();
    await keys.stop();
    await courier?.stop();
  };
  return {
    async stop({ isLeaving }) {
      await endOthers();
      if (isLeaving) await pushLast();
      await agent.stop({ isLeaving });
    },
    async leave() {
      await endOthers();
      await agent.leave();
      await configuration.reload();
    },
  };
}

/** Delivers the team's events with a dispatcher like the local one. */
async function openCourier(
  { clock, random, log, send }: TeamPartOptions,
  { timezone }: Membership,
  common: Pick<CourierOutboxOptions, 'db' | 'ledger' | 'authority' | 'identity'>,
): Promise<{ start(): void; stop(): Promise<void> }> {
  const { createCourierOutbox } = await import('../team/courier-outbox.ts');
  const outbox = createCourierOutbox({ ...common, clock, log });
  const calendar = createCalendar(timezone);
  const warn = (message: string) => log.warn({ team: true }, message);
  const dispatcher = createDispatcher({ outbox, send, clock, random, warn, calendar: () => calendar });
  return {
    start: dispatcher.start,
    async stop() {
      await dispatcher.stop();
      await outbox.end();
    },
  };
}

async function openPostgres(url: string): Promise<TeamAuthority> {
  const { createPostgresAuthority } = await import('../team/postgres/authority.ts');
  return createPostgresAuthority(url);
}

const COPIED =
  'this state directory is a copy: the gateway that it was copied from may spend its money. To make this one a gateway of its own: gw team join URL';

/** How long answers and failures are cached. Dashboards poll, and each query reaches PostgreSQL. */
const CACHE_MS = 15_000;
const FAILURE_CACHE_MS = 3_000;

/** Reports of the team's usage, over a separate connection: no sync waits for a report. */
function createTeamUsage({ db, clock, paths }: Core, openTeam: typeof openPostgres) {
  let opened: { url: string; authority: Promise<TeamAuthority> } | undefined;
  const answers = new Map<string, { endsAt: number; answer: ReturnType<AskTeamUsage> }>();

  async function close(): Promise<void> {
    const { authority } = opened ?? {};
    opened = undefined;
    await authority?.then((open) => open.close()).catch(() => {});
  }

  async function authorityAt(url: string): Promise<TeamAuthority> {
    if (opened?.url !== url) {
      await close();
      opened = { url, authority: openTeam(url) };
      opened.authority.catch(() => {
        opened = undefined;
      });
    }
    return opened.authority;
  }

  return {
    async ask(query: Parameters<AskTeamUsage>[0]) {
      if (!readMembership(db)) throw noTeam();
      const url = readSecrets(paths.credentials)[TEAM_URL] ?? '';
      const now = clock.monotonic();
      for (const [key, { endsAt }] of answers) if (endsAt <= now) answers.delete(key);
      const key = JSON.stringify([url, query.groupBy, query.from, query.to]);
      const cached = answers.get(key);
      if (cached) return cached.answer;
      const { askTeamUsage } = await import('../team/ask-usage.ts');
      const made = {
        endsAt: now + CACHE_MS,
        answer: authorityAt(url).then((authority) => askTeamUsage(authority, query)),
      };
      made.answer.catch(() => {
        made.endsAt = clock.monotonic() + FAILURE_CACHE_MS;
      });
      answers.set(key, made);
      return made.answer;
    },
    close,
  };
}
