import type { Context } from '../context.ts';
import { readSwitchedOff, switchOn } from '../optimize/report.ts';
import { type Finding, ok, warning } from './check.ts';

/** Whether the optimizer switched itself off for a project. */
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
