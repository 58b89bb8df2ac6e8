import { retiredMessage } from '../../config/retired-settings.ts';
import { openSettingsFile } from '../../config/save.ts';
import {
  DEFINITIONS,
  isScalarKey,
  MAPS,
  mapEntryOf,
  SCALAR_KEYS,
  SettingError,
} from '../../config/settings.ts';
import { messageOf } from '../../errors.ts';
import { makeHome } from '../../paths.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { checkTiers } from './check-tiers.ts';

/** Sets a setting to what a person wrote, or back to its default; returns the value. Throws for one that cannot be. */
export async function changeSetting(
  context: Context,
  key: string,
  text: string | undefined,
): Promise<string | number | undefined> {
  const entry = mapEntryOf(key);
  const parse = isScalarKey(key) ? DEFINITIONS[key].parse : entry && MAPS[entry.map].parse;
  if (!parse) throw unknownSetting(key);
  const value = text === undefined ? undefined : checked(key, () => parse(text, entry?.name ?? ''));
  if (entry?.map === 'tiers' && text !== undefined) checkTiers(context, entry.name, text);
  makeHome(context.paths);
  const file = await openSettingsFile(context.paths.config);
  const path = entry ? [...entry.map.split('.'), entry.name] : key.split('.');
  if (value === undefined) file.delete(path);
  else file.set(path, value);
  return value;
}

/** Deletes a setting from the file that this version has no longer. */
export async function deleteRetired({ paths }: Context, key: string): Promise<void> {
  const file = await openSettingsFile(paths.config);
  file.delete(key.split('.'));
}

function checked<T>(key: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new SettingError(`${key}: ${messageOf(error)}`);
  }
}

/** A 2 for a setting that this version has no longer, a 5 for one that never was. */
export function unknownSetting(key: string): CliError {
  const retired = retiredMessage(key);
  if (retired !== undefined) return usageError(retired);
  const holding = SCALAR_KEYS.filter((known) => known.includes(key) || key.includes(known));
  const group = `${key.split('.', 1)[0]}.`;
  const siblings = mapEntryOf(key) ? [] : SCALAR_KEYS.filter((known) => known.startsWith(group));
  const near = holding.length > 0 ? holding : siblings;
  const hint = near.length > 0 ? ` Did you mean ${near.join(' or ')}?` : ' See: gw config list';
  return new CliError(`no setting "${key}".${hint}`, EXIT.notFound);
}
