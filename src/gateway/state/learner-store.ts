import { readFile, stat } from 'node:fs/promises';
import type { Clock } from '../../clock.ts';
import { messageOf } from '../../errors.ts';
import { deserialiseLearner } from '../../tiering/learner/codec.ts';
import { type Label, learn } from '../../tiering/learner/learner.ts';
import { learnerPath, writeLearner } from '../../tiering/learner/learner-file.ts';
import { type LearnerState, newLearner, setModels } from '../../tiering/learner/learner-state.ts';

/** What projects have learnt about their prompts, in memory. */
export interface Learners {
  /** As it was read last; a change of the file is noticed a moment after it is asked for. */
  of(project: string): LearnerState | undefined;
  /** Learns a label; the file follows within a minute. */
  teach(project: string, label: Label): void;
  /** Writes what is not written yet. */
  close(): Promise<void>;
}

interface Known {
  state: LearnerState | undefined;
  /** Of the file as it was read or written last; 0 where there was none. */
  changedAtMs: number;
  lookedAtMs: number;
  reading: Promise<void> | undefined;
  /** Has learnt what is in no file. */
  isAhead: boolean;
}

export interface LearnersOptions {
  home: string;
  clock: Pick<Clock, 'monotonic' | 'after'>;
  /** Stands for the models that the tiers have now. */
  models: () => number;
  warn: (message: string) => void;
}

const LOOK_AGAIN_MS = 2_000;
/** To write half a megabyte takes some 10 ms, in which nothing else is done. */
const SAVE_AFTER_MS = 60_000;

/** Reads and writes the files of `gw route learn`, never while a request waits. Who wrote last is right. */
export function createLearners({ home, clock, models, warn }: LearnersOptions): Learners {
  const projects = new Map<string, Known>();

  function knownOf(project: string): Known {
    let known = projects.get(project);
    if (!known) {
      const lookedAtMs = Number.NEGATIVE_INFINITY;
      known = { state: undefined, changedAtMs: 0, lookedAtMs, reading: undefined, isAhead: false };
      projects.set(project, known);
    }
    return known;
  }

  async function look(project: string, known: Known): Promise<void> {
    await readNew(project, known);
    if (known.state) setModels(known.state, models());
  }

  async function readNew(project: string, known: Known): Promise<void> {
    const file = learnerPath(home, project);
    try {
      const { mtimeMs } = await stat(file);
      if (mtimeMs === known.changedAtMs) return;
      const state = deserialiseLearner(await readFile(file));
      known.changedAtMs = mtimeMs;
      known.isAhead = false;
      known.state = state;
      if (!state)
        warn(
          `${file} is damaged or of another version of gw: the built-in rules score until new labels are learnt (gw route learn FILE -p ${project} --fresh)`,
        );
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') warn(`${file}: ${messageOf(error)}`);
      // What is new has no file yet; a file that is gone was to be forgotten.
      else if (known.changedAtMs !== 0) forget(known);
    }
  }

  async function save(project: string, known: Known): Promise<void> {
    await known.reading;
    await look(project, known);
    if (!known.isAhead || !known.state) return;
    known.isAhead = false;
    const file = learnerPath(home, project);
    try {
      writeLearner(file, known.state);
      known.changedAtMs = (await stat(file)).mtimeMs;
    } catch (error) {
      warn(`what project ${project} learnt is not kept: ${messageOf(error)}`);
    }
  }

  return {
    of(project) {
      const known = knownOf(project);
      const now = clock.monotonic();
      if (!known.reading && now - known.lookedAtMs >= LOOK_AGAIN_MS) {
        known.lookedAtMs = now;
        known.reading = look(project, known).finally(() => {
          known.reading = undefined;
        });
      }
      return known.state;
    },
    teach(project, label) {
      const known = knownOf(project);
      known.state ??= newLearner(models());
      learn(known.state, label);
      if (known.isAhead) return;
      known.isAhead = true;
      clock.after(SAVE_AFTER_MS, () => void save(project, known));
    },
    async close() {
      for (const [project, known] of projects) await save(project, known);
    },
  };
}

function forget(known: Known): void {
  known.state = undefined;
  known.changedAtMs = 0;
  known.isAhead = false;
}
