import { formatUsd, type NanoUsd } from '../../money.ts';
import { quantile, type RunawayReason, type Usual } from '../../store/runaways/runaways.ts';
import type { LastTurn } from '../../wire/request/last-turn.ts';

/** An answered request of a session. */
export interface Turn extends LastTurn {
  /** When it came in, and when it was answered: UTC milliseconds. */
  startedAt: number;
  at: number;
  inputTokens: number;
  costNanoUsd: NanoUsd;
}

/** What a session's latest turns show. */
export interface Runaway {
  reason: RunawayReason;
  /** Turns or tools in a row. */
  count?: number;
  /** Such as `12 turns in a row repeat earlier ones`. */
  message: string;
}

/** Repeated turns in a row that are a loop, unless sessions of the agent have more of them. */
export const LEAST_REPEATS = 28;
/** Failed tools in a row. */
export const LEAST_FAILURES = 20;
/** Of the last 64 turns, repeated ones, where others run beside the loop; of the last 64 tools, failed ones. */
const MANY_REPEATS = 48;
const MANY_FAILURES = 56;
/** A client that takes longer before it repeats a turn waits for something. */
const WAITS_MS = 20_000;
/** The highest that what is usual can bring the limits to. */
const MOST_IN_A_ROW = 31;
/** A limit is this many times what all but one of a hundred sessions of the agent, or of their hours, stay below. */
const BEYOND_USUAL = 1.5;
const BEYOND_USUAL_HOURS = 4;
/** An hour that costs less is nobody's alarm; the second is for an agent whose sessions are not known yet. */
const LEAST_HOUR_NANO_USD = 1_000_000_000;
const LEAST_UNKNOWN_HOUR_NANO_USD = 20_000_000_000;
/** How many times its own median a session spends in an hour. */
const TIMES_MEDIAN = 10;
/** Hours of its own from which a session has a median, and of the agent's sessions from which they say what is usual. */
const LEAST_HOURS = 3;
const LEAST_KNOWN = 50;

const HOUR_MS = 3_600_000;
const SLOTS = 12;
const SLOT_MS = HOUR_MS / SLOTS;
/** A turn is a repeated one if it is among as many before it, so that a loop may have several turns. */
const RECENT_TURNS = 8;
const MAX_HOURS = 24;
const MAX_SESSIONS = 1_000;

/** The watched sessions: the last thousand, some hundred bytes each. */
export function createSessionWatch() {
  /** In the order of their last turn. */
  const sessions = new Map<string, WatchedSession>();
  return {
    /**
     * Notes a turn. Returns why the session is taken for a runaway; undefined: it is not. `usual` is called for one that
     * looks like it, at most once an hour.
     */
    note(key: string, turn: Turn, usual: () => Usual): Runaway | undefined {
      const session = sessions.get(key) ?? new WatchedSession();
      sessions.delete(key);
      sessions.set(key, session);
      for (const oldest of sessions.keys()) {
        if (sessions.size <= MAX_SESSIONS) break;
        sessions.delete(oldest);
      }
      return session.note(turn, usual);
    },
    /** The most repeated turns and failed tools in a row that a session has had without being a runaway. */
    peaks: (key: string) => sessions.get(key)?.peaks,
    /** Forgets a session's turns: it begins anew. */
    forget: (key: string) => void sessions.delete(key),
  };
}

class WatchedSession {
  /** The most in a row that have ended by themselves. */
  readonly peaks = { repeats: 0, failures: 0 };
  /** In a row after the last turn; 0 for a runaway. */
  #running = { repeats: 0, failures: 0 };
  /** Hashes of the latest turns. */
  readonly #recent: string[] = [];
  /** Of each turn, whether it was a repeated one; of each tool, whether it has failed. */
  readonly #repeats = new Latest();
  readonly #failures = new Latest();
  /** When the last turn was answered. */
  #endedAt = 0;
  /** The prompt's size at the first of the failed tools. */
  #tokensBefore = 0;
  /** Spend of the last hour, by twelfths of it. */
  readonly #slots: NanoUsd[] = new Array<NanoUsd>(SLOTS).fill(0);
  #slot = 0;
  /** Spend of earlier hours in which it was active, and of the running one. */
  readonly #hours: NanoUsd[] = [];
  #hour = 0;
  #inHour = 0;
  /** What is usual, and when it was read. */
  #usual: Usual | undefined;
  #usualAt = 0;

  note(turn: Turn, usual: () => Usual): Runaway | undefined {
    this.#noteHash(turn);
    this.#noteTool(turn);
    this.#noteSpend(turn);
    const known = () => {
      if (this.#usual && turn.at - this.#usualAt < HOUR_MS) return this.#usual;
      this.#usualAt = turn.at;
      this.#usual = usual();
      return this.#usual;
    };
    const found = this.#inARow(known) ?? this.#inTheHour(known);
    if (found) this.#running = { repeats: 0, failures: 0 };
    return found;
  }

  #noteHash({ hash, startedAt, at }: Turn): void {
    const isRepeated = this.#recent.includes(hash);
    const waited = startedAt - this.#endedAt;
    this.#endedAt = at;
    if (isRepeated && waited >= WAITS_MS) return;
    this.#repeats.push(isRepeated);
    this.#recent.push(hash);
    if (this.#recent.length > RECENT_TURNS) this.#recent.shift();
  }

  /** What a person writes begins anew. */
  #noteTool({ tool, inputTokens }: Turn): void {
    const before = this.#failures.inARow;
    if (tool === undefined || (before > 0 && inputTokens <= this.#tokensBefore)) this.#failures.clear();
    if (tool !== undefined) this.#failures.push(tool === 'failed');
    if (this.#failures.inARow === 1) this.#tokensBefore = inputTokens;
  }

  #noteSpend({ at, costNanoUsd }: Turn): void {
    const slot = Math.floor(at / SLOT_MS);
    const passed = Math.min(Math.max(0, slot - this.#slot), SLOTS);
    for (let i = 1; i <= passed; i++) this.#slots[(slot - passed + i) % SLOTS] = 0;
    if (slot > this.#slot) this.#slot = slot;
    this.#slots[this.#slot % SLOTS] = (this.#slots[this.#slot % SLOTS] ?? 0) + costNanoUsd;
    const hour = Math.floor(at / HOUR_MS);
    if (hour > this.#hour) {
      if (this.#inHour > 0) this.#hours.push(this.#inHour);
      if (this.#hours.length > MAX_HOURS) this.#hours.shift();
      this.#hour = hour;
      this.#inHour = 0;
    }
    this.#inHour += costNanoUsd;
  }

  #inARow(usual: () => Usual): Runaway | undefined {
    const repeats = this.#repeats.inARow;
    const failures = this.#failures.inARow;
    if (repeats >= LEAST_REPEATS && repeats >= limitOf(LEAST_REPEATS, usual().repeats))
      return { reason: 'repeats', count: repeats, message: `${repeats} turns in a row repeat earlier ones` };
    if (failures >= LEAST_FAILURES && failures >= limitOf(LEAST_FAILURES, usual().failures)) {
      const message = `${failures} tools in a row have failed while its prompt grew`;
      return { reason: 'failures', count: failures, message };
    }
    if (this.#repeats.ones >= MANY_REPEATS)
      return { reason: 'repeats', message: `${this.#repeats.ones} of its last 64 turns repeat earlier ones` };
    if (this.#failures.ones >= MANY_FAILURES)
      return { reason: 'failures', message: `${this.#failures.ones} of its last 64 tools have failed` };
    // What goes on is not known to be ordinary yet.
    if (repeats < this.#running.repeats)
      this.peaks.repeats = Math.max(this.peaks.repeats, this.#running.repeats);
    if (failures < this.#running.failures)
      this.peaks.failures = Math.max(this.peaks.failures, this.#running.failures);
    this.#running = { repeats, failures };
    return undefined;
  }

  /** Ten times its median hour, and more than hours of the agent's sessions usually cost. */
  #inTheHour(usual: () => Usual): Runaway | undefined {
    const spent = this.#slots.reduce((sum, each) => sum + each, 0);
    if (spent < LEAST_HOUR_NANO_USD) return undefined;
    const own = this.#hours.length >= LEAST_HOURS ? quantile(this.#hours, 0.5) : undefined;
    if (own !== undefined && spent < TIMES_MEDIAN * own) return undefined;
    const { hours } = usual();
    const isKnown = hours.count >= LEAST_KNOWN;
    const median = own ?? (isKnown ? hours.median : undefined);
    if (median === undefined || spent < TIMES_MEDIAN * median) return undefined;
    const most = isKnown ? BEYOND_USUAL_HOURS * hours.most : LEAST_UNKNOWN_HOUR_NANO_USD;
    if (spent < most) return undefined;
    const whose = own === undefined ? 'the median of such sessions' : 'its median';
    return {
      reason: 'spend',
      message: `${formatUsd(spent)} spent in an hour, ${Math.floor(spent / Math.max(1, median))} times ${whose}`,
    };
  }
}

const limitOf = (least: number, usual: number): number =>
  Math.min(MOST_IN_A_ROW, Math.max(least, BEYOND_USUAL * usual));

/** Whether something was so, the last 64 times. */
class Latest {
  /** A bit each time, the latest last, and the 32 times before. */
  #bits = 0;
  #earlier = 0;

  push(is: boolean): void {
    this.#earlier = (this.#earlier << 1) | (this.#bits >>> 31);
    this.#bits = (this.#bits << 1) | Number(is);
  }

  clear(): void {
    this.#bits = 0;
    this.#earlier = 0;
  }

  /** How often in a row it was so, up to 32. */
  get inARow(): number {
    return this.#bits === -1 ? 32 : 31 - Math.clz32(~this.#bits & -~this.#bits);
  }

  get ones(): number {
    let count = 0;
    for (let rest = this.#bits; rest !== 0; rest &= rest - 1) count++;
    for (let rest = this.#earlier; rest !== 0; rest &= rest - 1) count++;
    return count;
  }
}
