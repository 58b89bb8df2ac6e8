import type { UsageViewRow } from '../../operations/schemas/usage.ts';

/** What reports of spend can be by, in the order of the menu. */
export const GROUPINGS = [
  ...(['model', 'project', 'agent', 'repo', 'key', 'session', 'process', 'day', 'hour'] as const),
];
export type Grouping = (typeof GROUPINGS)[number];

/** The field of a row that has the name of a grouping, and the condition that a click on it sets. */
export const FIELDS = {
  model: { field: 'model', condition: 'model' },
  project: { field: 'project_id', condition: 'project_id' },
  agent: { field: 'agent', condition: 'agent' },
  repo: { field: 'repo', condition: 'repo' },
  key: { field: 'key', condition: 'key' },
  session: { field: 'session', condition: 'session' },
  process: { field: 'process', condition: undefined },
  day: { field: 'day', condition: undefined },
  hour: { field: 'hour', condition: undefined },
} as const satisfies Record<Grouping, { field: keyof UsageViewRow; condition: string | undefined }>;

export const groupingIn = (text: string | undefined) => GROUPINGS.find((each) => each === text);
