import { isFresh, type KeptAnswer, type KeptAnswers } from '../../store/requests/kept-answers.ts';

/** Identifies requests that get the same answer, and how old it may be. */
export interface ReplayKey {
  projectId: number;
  key: string;
  ttlMs: number;
}

/** What is known of a request's answer. */
export interface Found {
  /** Undefined if there is none to replay. */
  answer: KeptAnswer | undefined;
  /** Others wait for this request's answer: called with it, or without if it isn't to be replayed. */
  settle: (answer?: KeptAnswer) => void;
}

/** Answers that are replayed. The same request twice at once is one call: the second waits for the first one's answer. */
export type Replays = ReturnType<typeof createReplays>;

const NOBODY_WAITS = () => {};

export function createReplays(kept: KeptAnswers, now: () => number) {
  /** The answers that requests wait for, by key. */
  const running = new Map<string, Promise<KeptAnswer | undefined>>();
  return {
    folder: kept.folder,
    async find({ projectId, key, ttlMs }: ReplayKey): Promise<Found> {
      const first = running.get(key);
      if (first) {
        const answer = await first;
        // Without an answer, all that waited go on at once: one after the other, they would wait for long.
        return { answer: answer && isFresh(answer, now(), ttlMs) ? answer : undefined, settle: NOBODY_WAITS };
      }
      let resolve: (answer?: KeptAnswer) => void = NOBODY_WAITS;
      const promise = new Promise<KeptAnswer | undefined>((done) => {
        resolve = done;
      });
      running.set(key, promise);
      const answer = await kept.find(projectId, key, ttlMs);
      const settle = (settled?: KeptAnswer) => {
        resolve(settled);
        const written = settled && settled !== answer ? kept.keep(projectId, key, settled) : undefined;
        // Until it is on disk, it is found here.
        if (written) void written.then(() => running.delete(key));
        else running.delete(key);
      };
      if (answer) settle(answer);
      return { answer, settle };
    },
  };
}
