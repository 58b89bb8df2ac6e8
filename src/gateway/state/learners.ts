import { readFile, stat } from 'node:fs/promises';
import type { Clock } from '../../clock.ts';
import { messageOf } from '../../errors.ts';
import { deserialiseLearner } from '../../tiering/learner/codec.ts';
import { type Label, learn } from '../../tiering/learner/learner.ts';
import { learnerPath, writeLearner } from '../../tiering/learner/learner-file.ts';
import { type LearnerState, newLearner, setModels } from '../../tiering/learner/learner-state.ts';

/** The projects' learners, in memory and on disk. */
export interface Learners {
  /** The learner as last read. A changed file is reread in the background after a call. */
  of(project: string): LearnerState | undefined;
  /** Learns a label. The file is written within a minute. */
  teach(project: string, label: Label): void;
  /** Writes all unsaved learners. */
  close(): Promise<void>;
}

interface Entry {
  state: LearnerState | undefined;
  /** Modification time of the file when last read or written; 0 when there was none. */
  changedAtMs: number;
  checkedAtMs: number;
  reading: Promise<void> | undefined;
  /** Has learnt labels that are not in the file. */
  isAhead: boolean;
}

export interface LearnersOptions {
  home: string;
  clock: Pick<Clock, 'monotonic' | 'after'>;
  /** Fingerprint of the models that the tiers have now. */
  models: () => number;
  warn: (message: string) => void;
}

const CHECK_AFTER_MS = 2_000;
/** Writing half a megabyte blocks the event loop for about 10 ms. */
const SAVE_AFTER_MS = 60_000;

/** Reads and writes the files of `gw route learn`, off the request path. The last writer wins. */
export function createLearners({ home, clock, models, warn }: LearnersOptions): Learners {
  const projects = new Map<string, Entry>();

  function entryOf(project: string): Entry {
    let entry = projects.get(project);
    if (!entry) {
      const checkedAtMs = Number.NEGATIVE_INFINITY;
      entry = { state: undefined, changedAtMs: 0, checkedAtMs, reading: undefined, isAhead: false };
      projects.set(project, entry);
    }
    return entry;
  }

  async function refresh(project: string, entry: Entry): Promise<void> {
    await readIfChanged(project, entry);
    if (entry.state) setModels(entry.state, models());
  }

  async function readIfChanged(project: string, entry: Entry): Promise<void> {
    const file = learnerPath(home, project);
    try {
      const { mtimeMs } = await stat(file);
      if (mtimeMs === entry.changedAtMs) return;
      const state = deserialiseLearner(await readFile(file));
      entry.changedAtMs = mtimeMs;
      entry.isAhead = false;
      entry.state = state;
      if (!state)
        warn(
          `${file} is damaged or from another version of gw: gw scores by its built-in rules until it has learnt new labels (gw route learn FILE -p ${project} --fresh)`,
        );
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') warn(`${file}: ${messageOf(error)}`);
      // A new learner has no file yet. A deleted file resets the learner.
      else if (entry.changedAtMs !== 0) forget(entry);
    }
  }

  async function save(project: string, entry: Entry): Promise<void> {
    await entry.reading;
    await refresh(project, entry);
    if (!entry.isAhead || !entry.state) return;
    entry.isAhead = false;
    const file = learnerPath(home, project);
    try {
      writeLearner(file, entry.state);
      entry.changedAtMs = (await stat(file)).mtimeMs;
    } catch (error) {
      warn(`the learner of project ${project} could not be saved: ${messageOf(error)}`);
    }
  }

  return {
    of(project) {
      const entry = entryOf(project);
      const now = clock.monotonic();
      if (!entry.reading && now - entry.checkedAtMs >= CHECK_AFTER_MS) {
        entry.checkedAtMs = now;
        entry.reading = refresh(project, entry).finally(() => {
          entry.reading = undefined;
        });
      }
      return entry.state;
    },
    teach(project, label) {
      const entry = entryOf(project);
      entry.state ??= newLearner(models());
      learn(entry.state, label);
      if (entry.isAhead) return;
      entry.isAhead = true;
      clock.after(SAVE_AFTER_MS, () => void save(project, entry));
    },
    async close() {
      for (const [project, entry] of projects) await save(project, entry);
    },
  };
}

function forget(entry: Entry): void {
  entry.state = undefined;
  entry.changedAtMs = 0;
  entry.isAhead = false;
}
