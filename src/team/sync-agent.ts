import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import { newId, type Random } from '../ids.ts';
import type { Db } from '../store/database/open.ts';
import type { Ledger } from '../store/ledger/ledger.ts';
import {
  confirmNonce,
  markCopy,
  noteAnswer,
  noteFailure,
  readMembership,
  removeMembership,
  setNextNonce,
} from '../store/team/membership.ts';
import { applyTeamBudgets } from '../store/team/team-budgets.ts';
import { resendTeamUsage } from '../store/team/usage.ts';
import type { GatewayIdentity, TeamAuthority } from './authority.ts';
import type { Demands } from './demands.ts';
import { createPace } from './policy.ts';
import type { SyncAnswer, SyncRefusal, SyncRow } from './protocol.ts';
import { createSyncBooks } from './sync-books.ts';
import type { TeamClock } from './team-clock.ts';

export interface SyncAgentOptions {
  db: Db;
  ledger: Pick<Ledger, 'writeBudgets' | 'settled'>;
  clock: Clock;
  teamClock: TeamClock;
  random: Random;
  authority: Pick<TeamAuthority, 'hello' | 'sync' | 'budgets' | 'leave' | 'close'>;
  identity: GatewayIdentity;
  demands: Demands;
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  /** Called after each sync: waiting requests try again, since there may be room. */
  onAnswer: () => void;
  /** Called before this gateway leaves, while the authority still accepts its messages. */
  onLeaving?: () => Promise<void>;
  /** Called with the team's key version in an answer; `sentAt` is when the message was sent, UTC ms. */
  onKeysVersion: (version: number, sentAt: number) => void;
}

/** Poll interval of a leaving gateway, until its requests have ended. */
const LEAVE_EVERY_MS = 250;
const LEAVE_TRIES = 120;

/**
 * Requests money from the authority for this gateway's requests, ahead of need if possible: one message at a time, each
 * with current totals.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: short functions over the state of one conversation
export function createSyncAgent(options: SyncAgentOptions) {
  const { db, ledger, clock, teamClock, random, authority, identity, demands, log, onAnswer, onKeysVersion } =
    options;
  const { onLeaving = async () => {} } = options;
  const books = createSyncBooks({ db, clock, teamClock, demands });
  let seq = 0;
  /** This daemon's nonce at the authority; undefined before `introduce`. */
  let nonce: string | undefined;
  let running: Promise<void> | undefined;
  let due: { at: number; cancel: () => void } | undefined;
  let isStopped = true;
  const pace = createPace(() => fraction(random));
  let lastAt = Number.NEGATIVE_INFINITY;

  function schedule(delayMs: number): void {
    if (isStopped || running) return;
    const at = clock.monotonic() + delayMs;
    if (due && due.at <= at) return;
    due?.cancel();
    due = { at, cancel: clock.after(delayMs, tick) };
  }

  function tick(): void {
    due = undefined;
    if (isStopped || running) return;
    running = syncOnce().finally(() => {
      running = undefined;
      const pause = pace.next({ hasNeed: demands.hasNeed(), isSettled: books.isSettled() });
      if (pause !== undefined) schedule(pause);
    });
  }

  async function syncOnce({ isLeaving = false } = {}): Promise<void> {
    lastAt = clock.monotonic();
    try {
      nonce ??= await introduce();
      const rows = await ledger.writeBudgets(() => books.compose({ isLeaving }));
      const sentAt = clock.now();
      const answer = await authority.sync(identity.token, {
        gateway: identity.gateway,
        nonce,
        seq: ++seq,
        rows,
      });
      if ('error' in answer) await handleRefusal(answer);
      else {
        await apply(answer, rows);
        onKeysVersion(answer.keys, sentAt);
      }
    } catch (error) {
      await fail(error);
    }
    onAnswer();
  }

  /**
   * Registers this daemon at the authority. Saves the nonce before sending it, because this daemon may die in between.
   */
  async function introduce(): Promise<string> {
    const next = newId('nonce', random);
    const old = await ledger.writeBudgets(() => {
      const known = readMembership(db);
      if (!known) throw new StoppedError('this gateway left its team');
      // The authority may know a daemon that died before it got the answer.
      setNextNonce(db, known.nextNonce ?? next);
      return known;
    });
    const sentNonce = old.nextNonce ?? next;
    if ((await authority.hello(identity, { old: old.nonce, next: sentNonce })) !== 'ok')
      await stopFor(COPIED, markCopy);
    await ledger.writeBudgets(() => confirmNonce(db));
    seq = 0;
    // A saved nonce may have been used already, so it fences nobody.
    if (sentNonce !== next) return introduce();
    await refreshConfig();
    return sentNonce;
  }

  async function refreshConfig(): Promise<void> {
    const { budgets, version } = await authority.budgets();
    await ledger.writeBudgets(() => applyTeamBudgets(db, budgets, { now: clock.now(), version }));
  }

  async function apply(answer: SyncAnswer, rows: readonly SyncRow[]): Promise<void> {
    if (answer.seq !== seq) return;
    teamClock.set(answer.now);
    const offsetMs = teamClock.offsetMs() ?? 0;
    const { incarnation, frozen } = answer;
    const before = readMembership(db);
    await ledger.writeBudgets(() => {
      const isOther = noteAnswer(db, { incarnation, frozen, offsetMs, now: clock.now() });
      if (isOther) {
        books.forgetHeard();
        resendTeamUsage(db);
      }
      books.apply(rows, answer);
    });
    if (before?.unreachableSince)
      log.info({ since: before.unreachableSince }, 'the team can be reached again');
    if (frozen && before?.frozen === 0)
      log.warn(
        { incarnation },
        'the team is frozen after a failover: nothing is granted until gw team recover',
      );
    demands.forgetNeeds();
    pace.answered({ syncAfterMs: answer.sync_after_ms, wasNeedMet: books.wasNeedMet() });
    if (answer.config !== before?.configVersion) await refreshConfig();
  }

  async function handleRefusal({ error }: SyncRefusal): Promise<void> {
    if (error === 'fenced') return stopFor(COPIED, markCopy);
    if (error === 'left') return stopFor('this gateway left its team. To join again: gw team join URL');
    // A forgotten gateway comes back, or the server has a later message: in both cases, register again.
    nonce = undefined;
    throw new Error(
      error === 'forgotten' ? 'the team had forgotten this gateway' : `the team refused a message: ${error}`,
    );
  }

  /** Stops for good and voids all of the team's money here. */
  async function stopFor(reason: string, mark?: (db: Db) => void): Promise<never> {
    isStopped = true;
    await ledger.writeBudgets(() => {
      books.voidAll();
      mark?.(db);
    });
    throw new StoppedError(reason);
  }

  async function fail(error: unknown): Promise<void> {
    const reason = messageOf(error);
    pace.failed();
    const before = readMembership(db);
    if (!before) return;
    if (before.failure !== reason) log.warn({ reason }, 'could not sync with the team');
    await ledger.writeBudgets(() => noteFailure(db, reason, clock.now())).catch(() => {});
  }

  async function returnAll(tries: number): Promise<boolean> {
    await ledger.settled();
    for (let i = 0; i < tries; i++) {
      await syncOnce({ isLeaving: true });
      if (pace.isFailing()) return false;
      if (books.isSettled()) return true;
      await new Promise<void>((resolve) => void clock.after(LEAVE_EVERY_MS, resolve));
    }
    return books.isSettled();
  }

  async function halt(): Promise<boolean> {
    const wasStopped = isStopped;
    isStopped = true;
    demands.onReason(undefined);
    due?.cancel();
    due = undefined;
    await running;
    return wasStopped;
  }

  return {
    start(): void {
      isStopped = false;
      demands.onReason((reason) => schedule(pace.pauseFor(reason, clock.monotonic() - lastAt)));
      schedule(0);
    },
    /** Notes the version of the team's configuration, and reads the budgets if it changed. */
    async noteConfig(version: number): Promise<void> {
      if (!isStopped && nonce !== undefined && version !== readMembership(db)?.configVersion)
        await refreshConfig();
    },
    /** Stops after the current sync. `isLeaving` returns all money. */
    async stop({ isLeaving = false } = {}): Promise<void> {
      const wasStopped = await halt();
      if (isLeaving && !wasStopped) await returnAll(1);
      await authority.close();
    },
    syncNow: () => schedule(0),
    /** Returns all money as requests end, then leaves the team. Throws if the authority can't be reached. */
    async leave(): Promise<void> {
      await halt();
      try {
        nonce ??= await introduce();
        if (!(await returnAll(LEAVE_TRIES)))
          throw new Error(readMembership(db)?.failure ?? 'requests still run that hold money of the team');
        await onLeaving();
        if ((await authority.leave(identity, nonce)) !== 'ok')
          throw new Error('another copy of this state directory speaks for this gateway');
        await ledger.writeBudgets(() => removeMembership(db, clock.now()));
      } finally {
        await authority.close();
      }
    },
  };
}

const COPIED =
  'another copy of this state directory speaks for this gateway. To make this one a gateway of its own: gw team join URL';

class StoppedError extends Error {}

const fraction = (random: Random): number => random(4).readUInt32BE() / 2 ** 32;
