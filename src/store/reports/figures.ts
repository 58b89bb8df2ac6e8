import { FIGURES, type UsageFigures } from '../archive/usage-sums.ts';
import { columnName } from '../database/columns.ts';

export type { UsageFigures } from '../archive/usage-sums.ts';
export { IS_FROM_GW as FROM_GW } from '../ledger/record.ts';

/** A row of a report. `requests` includes blocked and failed ones. */
export interface UsageRow extends UsageFigures {
  /** The day (YYYY-MM-DD), `provider/model`, name of a project, program, agent or key, path of a repository, or session. */
  key: string;
  /** The second key of a report by two things. */
  subkey?: string;
}

/** SQL for the figures, summed over rows `u`. */
export const SUMS = FIGURES.map((name) => `sum(u.${columnName(name)}) AS ${name}`).join(', ');

/** Adds figures to a total. */
export function addFigures(total: UsageFigures, figures: UsageFigures): void {
  for (const name of FIGURES) total[name] += figures[name];
}

export function sumFigures(rows: readonly UsageFigures[]): UsageFigures {
  const total = Object.fromEntries(FIGURES.map((name) => [name, 0])) as unknown as UsageFigures;
  for (const row of rows) addFigures(total, row);
  return total;
}

/** Highest cost first. */
export function byCost(a: UsageRow, b: UsageRow): number {
  return (
    b.costNanoUsd - a.costNanoUsd ||
    b.requests - a.requests ||
    (a.key < b.key ? -1 : Number(a.key > b.key)) ||
    ((a.subkey ?? '') < (b.subkey ?? '') ? -1 : 1)
  );
}
