import type { Db } from '../../store/database/open.ts';
import { bumpConfigurationEpoch } from '../../store/database/write.ts';
import type { Ledger } from '../../store/ledger/ledger.ts';
import {
  createRunawayRows,
  listRunaways,
  type RunawaySession,
  type SessionKey,
} from '../../store/runaways/runaways.ts';
import {
  createSessionWatch,
  LEAST_FAILURES,
  LEAST_REPEATS,
  type Runaway,
  type Turn,
} from './session-watch.ts';

/** The sessions that are taken for runaways, and the watch that finds them. */
export type Runaways = ReturnType<typeof createRunaways>;

interface RunawaysOptions {
  db: Db;
  ledger: Pick<Ledger, 'writeApart' | 'emit'>;
  now: () => number;
  warn: (message: string) => void;
}

type Known = SessionKey & Runaway & Pick<RunawaySession, 'foundAt'>;

/** A session stays one for an hour at least. */
const HOUR_MS = 3_600_000;

export function createRunaways({ db, ledger, now, warn }: RunawaysOptions) {
  const watch = createSessionWatch();
  const rows = createRunawayRows(db);
  /** By name. */
  let known = read();

  function read(): Map<string, Known> {
    return new Map(listRunaways(db, { now: now() }).map((each) => [nameOf(each), each]));
  }

  /** No answer waits for it. */
  const write = (command: () => void) =>
    void ledger.writeApart(command).catch(() => warn('a session that runs away could not be written'));

  function announce(key: SessionKey, { reason, message, count }: Runaway): void {
    write(() => {
      rows.mark(key, { reason, message, count }, now());
      // Other daemons on the database read it too.
      bumpConfigurationEpoch(db);
      ledger.emit('budget.threshold_reached', key.projectId, {
        kind: 'runaway',
        ...{ session: key.session, agent: key.agent || null, reason, message },
        ...(count === undefined ? {} : { count }),
      });
    });
  }

  return {
    /** Why a session is taken for a runaway; undefined: it is not. */
    of: (key: () => SessionKey): Known | undefined =>
      known.size === 0 ? undefined : known.get(nameOf(key())),
    /** Looks at a session once a request of it has been answered, after so many milliseconds. */
    note(key: SessionKey, turn: Omit<Turn, 'at' | 'startedAt'>, tookMs: number): void {
      const name = nameOf(key);
      const at = now();
      const before = { ...watch.peaks(name) };
      const found = watch.note(name, { ...turn, startedAt: at - tookMs, at }, () => rows.usual(key, at));
      const runaway = known.get(name);
      if (found && !runaway) {
        known.set(name, { ...key, ...found, foundAt: at });
        announce(key, found);
      }
      if (found) return;
      if (runaway && at - runaway.foundAt >= HOUR_MS) {
        known.delete(name);
        write(() => rows.mark(key, undefined, at));
      }
      const { repeats = 0, failures = 0 } = watch.peaks(name) ?? {};
      // Less of them changes no limit.
      const isMore =
        (repeats >= LEAST_REPEATS / 2 && repeats > (before.repeats ?? 0)) ||
        (failures >= LEAST_FAILURES / 2 && failures > (before.failures ?? 0));
      if (isMore) write(() => rows.keepPeaks(key, { repeats, failures }));
    },
    /** Reads the marks again. A session that was let go on begins anew, and may do more of the same. */
    reload(): void {
      const before = known;
      known = read();
      for (const [name, { count, reason, ...key }] of before) {
        if (known.has(name)) continue;
        watch.forget(name);
        const peaks = { repeats: 0, failures: 0, ...(reason === 'spend' ? {} : { [reason]: count ?? 0 }) };
        write(() => rows.keepPeaks(key, peaks));
      }
    },
  };
}

const nameOf = ({ projectId, agent, session }: SessionKey): string => `${projectId} ${agent} ${session}`;
