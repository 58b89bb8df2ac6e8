import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { serialiseLearner } from './codec.ts';
import type { LearnerState } from './learner-state.ts';

/** Where what a project has learnt about its prompts is kept. */
export function learnerPath(home: string, project: string): string {
  return join(home, `route-${project}.bin`);
}

/** Renamed into place, so that whoever reads it meanwhile has the one or the other whole. */
export function writeLearner(file: string, state: LearnerState): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, serialiseLearner(state), { mode: 0o600 });
  renameSync(draft, file);
}
