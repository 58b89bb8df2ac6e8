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
  /** Room may have come: those who wait try again. */
  onAnswer: () => void;
  /** This gateway leaves: the last moment at which the authority listens. */
  onLeaving?: () => Promise<void>;
  /** An answer named the version of the team's keys; the message was sent at `sentAt`, UTC ms. */
  onKeysVersion: (version: number, sentAt: number) => void;
}

/** Asks the authority for what requests will need, ahead of it where that can be foreseen. */
export interface SyncAgent {
  start(): void;
  /** The team's configuration has this version: budgets may have come or gone. */
  heardConfig(version: number): Promise<void>;
  /** Stops after the sync that runs, and returns all money if this gateway leaves. */
  stop(options?: { isLeaving?: boolean }): Promise<void>;
  syncNow(): void;
  /** Returns all money as requests end, and leaves the team. Throws if the authority can't be told. */
  leave(): Promise<void>;
}

/** How often a gateway that leaves looks whether its requests have ended. */
const LEAVE_EVERY_MS = 250;
const LEAVE_TRIES = 120;

/** One gateway's conversation with the authority: one message at a time, each with the totals of its own time. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: short functions over the state of one conversation
export function createSyncAgent(options: SyncAgentOptions): SyncAgent {
  const { db, ledger, clock, teamClock, random, authority, identity, demands, log, onAnswer, onKeysVersion } =
    options;
  const { onLeaving = async () => {} } = options;
  const books = createSyncBooks({ db, clock, teamClock, demands });
  let seq = 0;
  /** The nonce that the authority knows; undefined: not introduced yet. */
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

  /** Tells the authority of this daemon. The nonce is kept before it is sent: this daemon may die in between. */
  async function introduce(): Promise<string> {
    const next = newId('nonce', random);
    const old = await ledger.writeBudgets(() => {
      const known = readMembership(db);
      if (!known) throw new StoppedError('this gateway left its team');
      // The authority may have heard of a daemon that died before it knew so.
      setNextNonce(db, known.nextNonce ?? next);
      return known;
    });
    const said = old.nextNonce ?? next;
    if ((await authority.hello(identity, { old: old.nonce, next: said })) !== 'ok') {
      await stopFor(COPIED, markCopy);
    }
    await ledger.writeBudgets(() => confirmNonce(db));
    seq = 0;
    // A nonce that was kept may have been used: it fences nobody.
    if (said !== next) return introduce();
    await refreshConfig();
    return said;
  }

  async function refreshConfig(): Promise<void> {
    const { budgets, version } = await authority.budgets();
    await ledger.writeBudgets(() => applyTeamBudgets(db, budgets, { now: clock.now(), version }));
  }

  async function apply(answer: SyncAnswer, rows: readonly SyncRow[]): Promise<void> {
    if (answer.seq !== seq) return;
    teamClock.heard(answer.now);
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
    // It comes back, or the server knows a later message: both begin anew.
    nonce = undefined;
    throw new Error(
      error === 'forgotten' ? 'the team had forgotten this gateway' : `the team refused a message: ${error}`,
    );
  }

  /** No money of the team may be used here any more. */
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
    start() {
      isStopped = false;
      demands.onReason((reason) => schedule(pace.pauseFor(reason, clock.monotonic() - lastAt)));
      schedule(0);
    },
    async heardConfig(version) {
      if (!isStopped && nonce !== undefined && version !== readMembership(db)?.configVersion)
        await refreshConfig();
    },
    async stop({ isLeaving = false } = {}) {
      const wasStopped = await halt();
      if (isLeaving && !wasStopped) await returnAll(1);
      await authority.close();
    },
    syncNow: () => schedule(0),
    async leave() {
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

/** The agent does not go on. */
class StoppedError extends Error {}

const fraction = (random: Random): number => random(4).readUInt32BE() / 2 ** 32;
