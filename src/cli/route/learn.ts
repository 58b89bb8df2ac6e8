import { count, plural } from '../../terminal/numbers.ts';
import { unitHash } from '../../tiering/conversation-key.ts';
import { type Label, learnAll } from '../../tiering/learner/learner.ts';
import type { LearnerState } from '../../tiering/learner/learner-state.ts';
import { isProven } from '../../tiering/learner/proof.ts';
import { type Context, note, sayJson } from '../context.ts';
import { usageError } from '../exit.ts';
import { type JsonObject, readLines } from '../input/jsonl.ts';
import { openInput } from '../input/request-file.ts';
import { learnerFileOf } from './learner-file.ts';
import { promptIn } from './prompt.ts';

export interface LearnOptions {
  project: string;
  fresh?: boolean;
  json?: boolean;
}

/** Trains a project's learner on labelled lines. */
export async function learnFrom(context: Context, file: string, options: LearnOptions): Promise<void> {
  const { project, fresh = false, json } = options;
  const learnerFile = await learnerFileOf(context, project);
  const state = (fresh ? undefined : learnerFile.read()) ?? learnerFile.begin();
  const labels = await readLines(openInput(context, file), labelOf);
  if (labels.length === 0) throw usageError(`"${file}" has no labels`);
  learnAll(state, labels, fixedSequence());
  learnerFile.write(state);
  const result = {
    project_id: project,
    labels: labels.length,
    labels_total: labelsOf(state),
    proven: isProven(state),
  };
  if (json) sayJson(context, result);
  else
    note(
      context,
      `Trained project ${project} on ${plural(labels.length, 'label')}, ${count(result.labels_total)} in total: ${standing(state)}.`,
    );
}

/** Number of labels that a learner was trained on. */
export function labelsOf({ priors }: LearnerState): number {
  return Math.round(priors.count);
}

function standing(state: LearnerState): string {
  return isProven(state)
    ? 'the training now scores its prompts'
    : 'too few or too similar to prove the training better, so the built-in rules still score its prompts';
}

function labelOf(line: JsonObject): Label {
  const weak = outcomeOf(line, 'weak_correct');
  const strong = outcomeOf(line, 'strong_correct');
  if (weak === undefined && strong === undefined)
    throw usageError('strong_correct or weak_correct is required');
  return {
    prompt: promptIn(line.messages, 'it'),
    outcome: { ...(weak === undefined ? {} : { weak }), ...(strong === undefined ? {} : { strong }) },
  };
}

/** How correct a tier's answer was, from 0 to 1. */
export function outcomeOf(line: JsonObject, field: string): number | undefined {
  const value = line[field];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'number' && value >= 0 && value <= 1) return value;
  throw usageError(`${field} must be a number from 0 to 1, or true or false`);
}

/** A fixed sequence of numbers in [0,1), so that training is deterministic. */
function fixedSequence(): () => number {
  let index = 0;
  return () => unitHash(String(index++));
}
