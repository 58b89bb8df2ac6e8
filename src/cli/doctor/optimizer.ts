import type { Context } from '../context.ts';
import { readSwitchedOff, switchOn } from '../optimize/report.ts';
import { type Finding, ok, warning } from './check.ts';

/** Lists the projects for which the optimizer was switched off automatically. */
export async function checkOptimizer(context: Context): Promise<Finding[]> {
  const off = [...(await readSwitchedOff(context)).keys()];
  if (off.length === 0) return [ok('optimizer', 'not switched off automatically for any project')];
  return off.map((project) =>
    warning(
      'optimizer',
      `switched off automatically for ${project}, because it cost more than it saved: gw optimize report`,
      switchOn(project),
    ),
  );
}
