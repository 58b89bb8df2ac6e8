import type { PlannedEdit } from '../../agents/settings/edit-file.ts';
import { clean } from '../../terminal/text.ts';
import { type Context, homeOf, screenOf } from '../context.ts';

/** Planned changes of the files, as unified diffs. Keys are cut short. */
export async function diffLines(context: Context, plans: readonly PlannedEdit[]): Promise<string[]> {
  // Its library takes 15 ms to load, and `gw status` loads this file.
  const { unifiedDiff } = await import('./unified-diff.ts');
  const { palette } = screenOf(context);
  return plans.flatMap(({ path, current, bytes }) => {
    const heads = [`--- ${current === undefined ? '/dev/null' : path}`, `+++ ${path}`];
    return [
      ...heads.map(palette.bold),
      ...unifiedDiff(current?.toString() ?? '', bytes.toString(), { palette, show: withoutSecrets }),
    ];
  });
}

/** A path with `~` for the home directory. */
export function shortPath(context: Context, path: string): string {
  const home = homeOf(context);
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

const SECRET =
  /((?:key|token|secret|password|authorization)\w*["']?\s*[:=]\s*["']?(?:Bearer )?)([^\s"',}]{12,})/gi;

/** Cuts the values of settings that are named like secrets. The names of variables are none. */
function withoutSecrets(line: string): string {
  return clean(line.replaceAll('\t', '  ')).replace(SECRET, (all, name: string, value: string) =>
    /^[A-Z_]+$/.test(value) ? all : `${name}${value.slice(0, 6)}...`,
  );
}
