import type { Ledger } from '../../store/ledger/ledger.ts';
import { distinct, type Standing } from '../../store/ledger/standing.ts';
import { mapInSlices } from './map-in-slices.ts';

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
