import { PRESETS } from '../../providers/presets.ts';
import type { Context } from '../context.ts';
import { knownProviders } from '../providers/known-providers.ts';
import { readSettings } from '../settings.ts';

/** The model names that start with an unknown provider, which may be a typo, and that provider. */
export function unknownProvidersIn(
  context: Context,
  names: readonly string[],
): { name: string; provider: string }[] {
  const { aliases } = readSettings(context).settings;
  const providers = new Set([
    'sandbox',
    ...knownProviders(context).providers.keys(),
    ...Object.keys(PRESETS),
  ]);
  return names.flatMap((name) => {
    const [provider = '', rest] = name.split('/');
    const isUnknown = rest !== undefined && !providers.has(provider) && !Object.hasOwn(aliases, name);
    return isUnknown ? [{ name, provider }] : [];
  });
}
