import { SettingError } from '../../config/setting-error.ts';
import { namesIn, parseTiers } from '../../config/tiers.ts';
import { PRESETS } from '../../providers/presets.ts';
import type { Context } from '../context.ts';
import { knownProviders } from '../providers/known.ts';
import { readSettings } from '../settings.ts';

/** Throws SettingError for a model of a tier whose provider gw does not know, as for a slip of the pen. */
export function checkTiers(context: Context, model: string, text: string): void {
  const { strong, weak } = parseTiers(text, model);
  const { aliases } = readSettings(context).settings;
  const known = new Set(['sandbox', ...knownProviders(context).providers.keys(), ...Object.keys(PRESETS)]);
  for (const name of [strong, weak.models].flatMap(namesIn)) {
    const [provider = '', rest] = name.split('/');
    if (rest === undefined || known.has(provider) || name in aliases) continue;
    throw new SettingError(
      `tiers.${model}: ${name} names no provider that is known. To add it: gw providers add ${provider}`,
    );
  }
}
