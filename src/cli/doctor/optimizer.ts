import type { Context } from '../context.ts';
import { readSwitchedOff, switchOn } from '../optimize/report.ts';
import { type Finding, ok, warning } from './check.ts';

/** Whether the optimizer switched itself off for a project. */
export async function checkOptimizer(context: Context): Promise<Finding[]> {
  const off = [...(await readSwitchedOff(context)).keys()];
  if (off.length === 0) return [ok('optimizer', 'switched itself off for no project')];
  return off.map((project) =>
    warning(
      'optimizer',
      `switched itself off for ${project}, where it did not pay: gw optimize report`,
      switchOn(project),
    ),
  );
}
