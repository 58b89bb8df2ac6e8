import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { serialiseLearner } from './codec.ts';
import type { LearnerState } from './learner-state.ts';

/** Path of the file that holds a project's learner. */
export function learnerPath(home: string, project: string): string {
  return join(home, `route-${project}.bin`);
}

/** Writes a learner atomically: a concurrent reader sees either the old file or the new one. */
export function writeLearner(file: string, state: LearnerState): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, serialiseLearner(state), { mode: 0o600 });
  renameSync(draft, file);
}

/** Deletes a project's learner; a running daemon notices. */
export function removeLearner(home: string, project: string): void {
  rmSync(learnerPath(home, project), { force: true });
}
