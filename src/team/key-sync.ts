import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import type { Random } from '../ids.ts';
import type { Db } from '../store/database/open.ts';
import type { Ledger } from '../store/ledger/ledger.ts';
import { applyTeamKeys, noteKeysChecked } from '../store/team/keys.ts';
import type { TeamAuthority } from './authority.ts';

export interface KeySyncOptions {
  db: Db;
  ledger: Pick<Ledger, 'writeBudgets'>;
  clock: Clock;
  random: Random;
  authority: Pick<TeamAuthority, 'keys'>;
  /** How long a cached key is valid without confirmation by the team, ms. */
  cacheMs: () => number;
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  /** Called after cached keys have changed: cached callers are out of date. */
  onChange: () => void;
  /** Called with the configuration's version, which a gateway without budgets gets only here: it doesn't sync. */
  onConfig: (version: number) => Promise<void>;
}

/** A revoked key is refused within a minute: this interval, plus the duration of a query. */
const CHECK_EVERY_MS = 45_000;
const JITTER = 0.1;
const RETRY_MS = 1_000;

/**
 * Keeps local copies of the team's keys, so that no request waits for the team's database. Checks every 45 s for changed keys and budgets, and at once if the answer to a sync has another version. The first
 * check reads the whole list: a server restored from a backup may lack a key or a revocation.
 */
export function createKeySync(options: KeySyncOptions) {
  const { db, ledger, clock, random, authority, cacheMs, log, onChange, onConfig } = options;
  let known = 0;
  let cancel = () => {};
  let running: Promise<void> | undefined;
  let isStopped = true;
  let failures = 0;

  const intervalMs = () => Math.min(CHECK_EVERY_MS, cacheMs() / 2);

  function schedule(delayMs: number): void {
    cancel();
    if (!isStopped) cancel = clock.after(delayMs, check);
  }

  function check(): void {
    if (running || isStopped) return;
    running = read().finally(() => {
      running = undefined;
      const jitter = 1 - JITTER * (random(4).readUInt32BE() / 2 ** 32);
      schedule(
        failures === 0 ? intervalMs() * jitter : Math.min(intervalMs(), RETRY_MS * 2 ** (failures - 1)),
      );
    });
  }

  async function read(): Promise<void> {
    try {
      // The time before the query: a key revoked during the query counts as unchecked.
      const sentAt = clock.now();
      let answer = await authority.keys(known);
      if (answer.version < known) {
        known = 0;
        answer = await authority.keys(0);
      }
      const { keys, version } = answer;
      const isAll = known === 0;
      const changed = await ledger.writeBudgets(() => {
        noteKeysChecked(db, sentAt);
        return applyTeamKeys(db, { keys, isAll, now: clock.now() });
      });
      known = version;
      if (failures > 0) log.info({}, "the team's keys can be read again");
      failures = 0;
      if (changed) onChange();
      await onConfig(answer.config);
    } catch (error) {
      if (failures++ === 0) log.warn({ reason: messageOf(error) }, "could not read the team's keys");
    }
  }

  return {
    start(): void {
      isStopped = false;
      schedule(0);
    },
    async stop(): Promise<void> {
      isStopped = true;
      cancel();
      await running;
    },
    /** Notes the key version in the answer to a message that was sent at `sentAt`. */
    noteVersion(version: number, sentAt: number): void {
      if (isStopped) return;
      if (version !== known) {
        // A lower version: another server may have taken over, with a different history of keys.
        if (version < known) known = 0;
        schedule(0);
      } else if (!running) {
        void ledger.writeBudgets(() => noteKeysChecked(db, sentAt)).catch(() => {});
        schedule(intervalMs());
      }
    },
  };
}
