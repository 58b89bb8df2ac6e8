import { PRESETS } from '../../providers/presets.ts';
import type { Context } from '../context.ts';
import { knownProviders } from '../providers/known.ts';
import { readSettings } from '../settings.ts';

/** Of names of models, those whose first part is no provider that gw knows, as by a slip of the pen; and that part. */
export function strangersIn(
  context: Context,
  names: readonly string[],
): { name: string; provider: string }[] {
  const { aliases } = readSettings(context).settings;
  const known = new Set(['sandbox', ...knownProviders(context).providers.keys(), ...Object.keys(PRESETS)]);
  return names.flatMap((name) => {
    const [provider = '', rest] = name.split('/');
    const isStranger = rest !== undefined && !known.has(provider) && !Object.hasOwn(aliases, name);
    return isStranger ? [{ name, provider }] : [];
  });
}
