import { mkdirSync } from 'node:fs';
import { openSettingsFile } from '../../config/save.ts';
import { DEFINITIONS, isScalarKey, SCALAR_KEYS, SettingError } from '../../config/settings.ts';
import { messageOf } from '../../errors.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT } from '../exit.ts';

/** Sets a setting to what a person wrote, or back to its default; returns the value. Throws for one that cannot be. */
export async function changeSetting(
  context: Context,
  key: string,
  text: string | undefined,
): Promise<string | number | undefined> {
  const alias = aliasOf(key);
  if (!isScalarKey(key) && alias === undefined) throw unknownSetting(key);
  const value = text === undefined ? undefined : isScalarKey(key) ? parse(key, text) : text;
  mkdirSync(context.paths.home, { recursive: true, mode: 0o700 });
  const file = await openSettingsFile(context.paths.config);
  const path = alias === undefined ? key.split('.') : ['aliases', alias];
  if (value === undefined) file.delete(path);
  else file.set(path, value);
  return value;
}

function parse(key: keyof typeof DEFINITIONS, text: string): string | number {
  try {
    return DEFINITIONS[key].parse(text);
  } catch (error) {
    throw new SettingError(`${key}: ${messageOf(error)}`);
  }
}

/** The name in `aliases.NAME`. */
export function aliasOf(key: string): string | undefined {
  return /^aliases\.(.+)$/.exec(key)?.[1];
}

export function unknownSetting(key: string): CliError {
  const near = SCALAR_KEYS.filter((known) => known.includes(key) || key.includes(known));
  const hint = near.length > 0 ? ` Did you mean ${near.join(' or ')}?` : ' See: gw config list';
  return new CliError(`no setting "${key}".${hint}`, EXIT.notFound);
}
