import type { RequestId } from '../../../ids.ts';
import type { NanoUsd } from '../../../money.ts';
import type { ProjectCut } from '../../../store/accounts/projects.ts';
import { createIndexedList, type Indexed, type IndexedList } from './indexed-list.ts';

/** A running call of a provider. */
export interface CuttableCall extends Indexed {
  /** Ends it at once; what it has cost is booked. */
  cut(): void;
  /** What a stream has brought so far; undefined before its first events. */
  progress(): CallProgress | undefined;
}

export interface CallProgress {
  id: RequestId;
  outputTokens: number;
  usedNanoUsd: NanoUsd | null;
}

/** The projects whose requests were ever cut, by id. */
export type ProjectCuts = ReadonlyMap<number, ProjectCut>;

/** The calls that run, by project, so that all of a project can be cut. */
export type RunningCalls = ReturnType<typeof createRunningCalls>;

/** `cuts`: those from before the daemon started, which have nothing left to cut. */
export function createRunningCalls(cuts: ProjectCuts) {
  const byProject = new Map<number, IndexedList<CuttableCall>>();
  let applied = cuts;
  return {
    /** Whether a request of the project that was let in before must no longer be sent. */
    isCut: (projectId: number): boolean => applied.get(projectId)?.isPaused === true,
    add(projectId: number, call: CuttableCall) {
      const calls = byProject.get(projectId) ?? createIndexedList();
      calls.add(call);
      byProject.set(projectId, calls);
    },
    remove(projectId: number, call: CuttableCall) {
      byProject.get(projectId)?.remove(call);
    },
    /** Streams that run, at most so many. */
    progress(most: number): CallProgress[] {
      const all: CallProgress[] = [];
      for (const calls of byProject.values())
        for (const call of calls) {
          const progress = all.length < most ? call.progress() : undefined;
          if (progress) all.push(progress);
        }
      return all;
    },
    /** Cuts the calls of each project that was cut since the last time, even if it has been resumed since. */
    apply(latest: ProjectCuts) {
      const before = applied;
      applied = latest;
      for (const [projectId, { cutAt }] of latest) {
        if (cutAt === before.get(projectId)?.cutAt) continue;
        for (const call of byProject.get(projectId) ?? []) call.cut();
      }
    },
  };
}
