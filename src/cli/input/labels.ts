import { InvalidArgumentError } from 'commander';
import { type Labels, labelsHeader, mergeLabels, parseLabels } from '../../labels.ts';

/** Reads `--label NAME=VALUE`, which can be given several times; the last of a name counts. */
export function readLabel(text: string, earlier: Labels | undefined): Labels {
  try {
    const labels = parseLabels(text, '--label');
    return mergeLabels('--label', labels, earlier) ?? labels;
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

export const labelQuery = (labels: Labels | undefined): string | undefined => labels && labelsHeader(labels);
