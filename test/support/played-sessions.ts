import type { Turn } from '../../src/gateway/state/session-watch.ts';

/** Numbers in [0, 1) that are the same with the same seed (mulberry32). */
export function chances(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Chance = () => number;

/** The session of an agent, as its requests end. */
class Session {
  readonly turns: Turn[] = [];
  readonly chance: Chance;
  /** UTC milliseconds. */
  now = Date.UTC(2026, 4, 4, 8);
  tokens = 12_000;
  /** What a thousand tokens of the prompt cost when they are cached, in nano-USD. */
  price: number;

  constructor(chance: Chance) {
    this.chance = chance;
    this.price = 100_000 * normal(chance, 0.6);
  }

  wait(minutes: number): void {
    this.now += minutes * 60_000;
  }

  /** `hash`: a turn of its own by default. */
  turn(tool: Turn['tool'], hash = `t${this.chance()}`, cost = 1): void {
    const startedAt = this.now;
    this.wait(0.1 + 0.4 * this.chance());
    this.tokens += 200 + 2_000 * this.chance();
    // Its conversation is summarised.
    if (this.tokens > 160_000) this.tokens = 30_000;
    // The prompt is not cached any more, now and then.
    const miss = this.chance() < 0.03 ? 12 : 1;
    const costNanoUsd = Math.round(
      (this.tokens / 1_000) * this.price * miss * cost * normal(this.chance, 0.3),
    );
    this.turns.push({
      startedAt,
      at: this.now,
      inputTokens: Math.round(this.tokens),
      costNanoUsd,
      hash,
      tool,
    });
  }
}

/** A factor around 1, of which one in twenty is above e^(1.65 spread). */
function normal(chance: Chance, spread: number): number {
  const [u, v] = [1 - chance(), chance()];
  return Math.exp(spread * Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * v));
}

/** A number of something that goes on with this chance. */
function times(chance: Chance, goesOn: number, most: number): number {
  let count = 1;
  while (count < most && chance() < goesOn) count++;
  return count;
}

/** What a person asks for, and the tools that it takes. */
function task(session: Session, steps: number, failing = 0.12): void {
  const { chance } = session;
  session.turn(undefined);
  for (let i = 0; i < steps; i++) {
    const kind = chance();
    if (kind < 0.12) session.turn('ok', 'the list of tasks was updated');
    else if (kind < 0.16) session.turn('ok', 'no matches');
    // A failure is often followed by the next.
    else if (kind < 0.16 + failing) for (let n = times(chance, 0.45, 9); n > 0; n--) session.turn('failed');
    else session.turn('ok');
  }
}

type Play = (session: Session) => void;

/** Ordinary sessions, by kind. */
export const ORDINARY: Record<string, Play> = {
  chat(session) {
    for (let n = 3 + 40 * session.chance(); n > 0; n--) {
      session.turn(undefined, session.chance() < 0.15 ? 'go on' : undefined);
      session.wait(times(session.chance, 0.8, 90));
    }
  },
  coding(session) {
    for (let n = 2 + 12 * session.chance(); n > 0; n--) {
      task(session, 4 + 30 * session.chance());
      session.wait(session.chance() < 0.2 ? 200 * session.chance() : 10 * session.chance());
    }
  },
  'a night alone'(session) {
    for (let n = 6 + 20 * session.chance(); n > 0; n--) {
      task(session, 30 + 30 * session.chance());
      // It waits for a build.
      for (
        let polls = times(session.chance, 0.8, 60), pause = 0.1 + 3 * session.chance();
        polls > 0;
        polls--
      ) {
        session.wait(pause);
        session.turn('ok', 'still running');
      }
    }
  },
  'failing tests'(session) {
    for (let n = 10 + 40 * session.chance(); n > 0; n--) {
      session.turn('ok');
      session.turn(
        session.chance() < 0.8 ? 'failed' : 'ok',
        session.chance() < 0.4 ? 'one test failed' : undefined,
      );
      if (session.chance() < 0.1) session.turn(undefined);
    }
  },
  'a person who says go on'(session) {
    for (let n = 10 + 30 * session.chance(); n > 0; n--) {
      session.turn(undefined, 'go on');
      for (let steps = times(session.chance, 0.7, 12) - 1; steps > 0; steps--) session.turn('ok');
      session.wait(2);
    }
  },
  'helpers side by side'(session) {
    for (let n = 2 + 6 * session.chance(); n > 0; n--) {
      task(session, 5 + 10 * session.chance());
      for (let steps = 60 + 120 * session.chance(); steps > 0; steps--) {
        session.now -= 12_000 * session.chance();
        session.turn(
          session.chance() < 0.12 ? 'failed' : 'ok',
          session.chance() < 0.08 ? 'no matches' : undefined,
        );
      }
      session.wait(30 * session.chance());
    }
  },
  'a script'(session) {
    for (let n = 20 + 200 * session.chance(); n > 0; n--) {
      session.tokens = 3_000 + 5_000 * session.chance();
      session.turn(undefined);
    }
  },
  'few words in many hours'(session) {
    for (let n = 4 + 12 * session.chance(); n > 0; n--) {
      for (let turns = times(session.chance, 0.5, 6); turns > 0; turns--) session.turn(undefined);
      session.wait(50 + 90 * session.chance());
    }
    task(session, 40 + 80 * session.chance());
  },
};

/** What makes an ordinary session one that runs away, by kind: it goes on until it is found, at most this many turns. */
export const RUNAWAY: Record<string, (session: Session, turn: number) => void> = {
  'the same call again'(session) {
    session.turn('ok', 'the same result');
  },
  'the same call that fails'(session) {
    session.turn('failed', 'the same error');
  },
  'three calls in turn'(session, turn) {
    session.turn(turn % 3 === 0 ? 'failed' : 'ok', `result ${turn % 3}`);
  },
  'the same task set by a program'(session) {
    session.turn(undefined, 'the same task');
    if (session.chance() < 0.3) session.turn('ok', 'done');
  },
  'a repeated call beside other work'(session, turn) {
    session.turn('ok', turn % 5 === 4 ? undefined : 'the same result');
  },
  'tools that fail in other words'(session) {
    session.turn('failed');
  },
  'tools that nearly all fail'(session) {
    session.turn(session.chance() < 0.04 ? 'ok' : 'failed');
  },
  'hundreds of helpers'(session) {
    session.now -= 28_000 * session.chance();
    session.turn(session.chance() < 0.12 ? 'failed' : 'ok', undefined, 6);
  },
  'prompts that grow without end'(session, turn) {
    session.turn('ok', undefined, 3 + turn);
  },
};

export interface Played {
  kind: string;
  turns: readonly Turn[];
  /** The turn from which on it runs away. */
  from: number;
}

const kindOf = <T>(kinds: Record<string, T>, seed: number): [string, T] => {
  const entries = Object.entries(kinds);
  return entries[seed % entries.length] as [string, T];
};

export function playOrdinary(seed: number): Played {
  const [kind, play] = kindOf(ORDINARY, seed);
  const session = new Session(chances(seed * 7_919));
  play(session);
  return { kind, turns: session.turns, from: session.turns.length };
}

const MOST_TURNS = 1_200;

/** An ordinary session that runs away at its end. */
export function playRunaway(seed: number): Played {
  const [kind, step] = kindOf(RUNAWAY, seed);
  const session = new Session(chances(seed * 104_729));
  for (let hours = 4; hours > 0; hours--) {
    task(session, 10 + 20 * session.chance());
    session.wait(50 * session.chance());
  }
  const from = session.turns.length;
  for (let turn = 0; turn < MOST_TURNS; turn++) step(session, turn);
  return { kind, turns: session.turns, from };
}
