import { setImmediate } from 'node:timers/promises';
import type { Ledger } from '../store/ledger/ledger.ts';
import { distinct, type Standing } from '../store/ledger/standing.ts';

/** The budgets of projects, each once; requests are served in between. */
export async function allStandings(
  ledger: Pick<Ledger, 'standings'>,
  projectIds: readonly number[],
): Promise<Standing[]> {
  const standings = await mapInSlices(projectIds, async (ids) =>
    (await Promise.all(ids.map((id) => ledger.standings(id)))).flat(),
  );
  return distinct(standings);
}

/** So many that a slice of them takes a few milliseconds. */
const SLICE = 100;

/** Maps a list slice by slice; requests are served in between. */
export async function mapInSlices<T, Mapped>(
  items: readonly T[],
  map: (slice: readonly T[]) => readonly Mapped[] | Promise<readonly Mapped[]>,
): Promise<Mapped[]> {
  const mapped: Mapped[] = [];
  for (let start = 0; start < items.length; start += SLICE) {
    if (start > 0) await setImmediate();
    mapped.push(...(await map(items.slice(start, start + SLICE))));
  }
  return mapped;
}
