import { labelName } from '../../labels.ts';

/** What reports of spend can be by, in the order of the menu; by the values of a label as well. */
export const GROUPINGS = [
  ...(['model', 'project', 'agent', 'repo', 'key', 'session', 'process', 'day', 'hour'] as const),
];
export type Grouping = (typeof GROUPINGS)[number] | `label:${string}`;

/** The field of a row that has the name of a grouping. */
export function fieldOf(grouping: Grouping) {
  if (isLabel(grouping)) return 'label';
  return grouping === 'project' ? 'project_id' : grouping;
}

/** The condition that a click on a name sets; undefined if there is none. */
export function conditionOf(grouping: Grouping, name: string): Record<string, string> | undefined {
  if (isLabel(grouping)) return { label: `${labelName(grouping)}=${name}` };
  if (grouping === 'process' || grouping === 'day' || grouping === 'hour') return undefined;
  return { [fieldOf(grouping)]: name };
}

export const isLabel = (text: string): text is `label:${string}` => labelName(text) !== undefined;

export const groupingIn = (text = ''): Grouping | undefined =>
  isLabel(text) ? text : GROUPINGS.find((each) => each === text);
