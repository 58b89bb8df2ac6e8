import type { Address } from './address.ts';

/** The conditions of lists and reports, as parameters of the address. */
export const CONDITIONS = [
  'project_id',
  'model',
  'agent',
  'repo',
  'key',
  'session',
  'label',
  'status',
] as const;
type Condition = (typeof CONDITIONS)[number];

/** The conditions that the address has. */
export function conditionsIn({ parameters }: Address): Partial<Record<Condition, string>> {
  return Object.fromEntries(
    CONDITIONS.flatMap((name) => (parameters[name] ? [[name, parameters[name]]] : [])),
  );
}
