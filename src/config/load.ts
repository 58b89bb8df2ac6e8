import { readFileSync } from 'node:fs';
import { messageOf } from '../errors.ts';
import { isObject } from '../json/object.ts';
import { RETIRED_KEYS } from './retired-settings.ts';
import {
  DEFINITIONS,
  MAP_KEYS,
  MAPS,
  type MapKey,
  type Origin,
  type ProviderSettings,
  SCALAR_KEYS,
  type ScalarKey,
  SettingError,
  type Settings,
} from './settings.ts';
import type { Written } from './written.ts';

/** The effective settings, and where each came from. */
export interface LoadedSettings {
  settings: Settings;
  origins: Record<ScalarKey, Origin>;
  /** Bad values in the file, as messages; those settings have their defaults. */
  problems: string[];
  /** Settings in the file that this version has no longer; they are ignored. */
  retired: string[];
}

export interface LoadOptions {
  /** Path of the settings file, which may not exist. */
  file: string;
  env?: Record<string, string | undefined>;
  flags?: Partial<Record<ScalarKey, unknown>>;
}

/**
 * Loads the settings. A flag overrides the environment, which overrides the file, which overrides the default. A bad
 * flag or environment value throws SettingError; a bad value in the file is reported as a problem.
 */
export function loadSettings({ file, env = {}, flags = {} }: LoadOptions): LoadedSettings {
  const problems: string[] = [];
  const stored = readJson(file, problems);
  const origins = {} as Record<ScalarKey, Origin>;
  const values: Record<string, unknown> = {};
  for (const key of SCALAR_KEYS) {
    const { value, origin } = lookUp(key, { stored, env, flags, file, problems });
    values[key] = value;
    origins[key] = origin;
  }
  const settings = {
    ...values,
    ...Object.fromEntries(MAP_KEYS.map((map) => [map, mapOf(map, atPath(stored, map), problems)])),
    providers: providersOf(stored.providers, problems),
  } as Settings;
  const retired = RETIRED_KEYS.filter((key) => atPath(stored, key) !== undefined);
  return { settings, origins, problems, retired };
}

interface Sources extends Required<LoadOptions> {
  stored: Record<string, unknown>;
  problems: string[];
}

function lookUp(
  key: ScalarKey,
  { stored, env, flags, file, problems }: Sources,
): { value: unknown; origin: Origin } {
  const definition = DEFINITIONS[key];
  const fromEnvironment = definition.environment ? env[definition.environment] : undefined;
  const parseOrThrow = (name: string, text: unknown) => {
    try {
      return definition.parse(text);
    } catch (error) {
      throw new SettingError(`${name}: ${messageOf(error)}`);
    }
  };
  if (flags[key] !== undefined)
    return { value: parseOrThrow(`--${definition.flag ?? key}`, flags[key]), origin: 'flag' };
  if (fromEnvironment)
    return { value: parseOrThrow(definition.environment ?? '', fromEnvironment), origin: 'environment' };
  const storedValue = atPath(stored, key);
  if (storedValue === undefined) return { value: definition.default(), origin: 'default' };
  try {
    return { value: definition.parse(storedValue), origin: 'config' };
  } catch (error) {
    problems.push(`${key} in ${file}: ${messageOf(error)}`);
    return { value: definition.default(), origin: 'default' };
  }
}

function readJson(file: string, problems: string[]): Record<string, unknown> {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      problems.push(`cannot read ${file}: ${messageOf(error)}`);
    return {};
  }
  try {
    const parsed: unknown = JSON.parse(content);
    if (isObject(parsed)) return parsed;
    problems.push(`${file} is not a JSON object`);
  } catch (error) {
    problems.push(`${file} is not JSON: ${messageOf(error)}`);
  }
  return {};
}

/** The value at a dotted path: conf stores `admission.max_wait_ms` as nested objects. */
function atPath(object: Record<string, unknown>, path: string): unknown {
  let value: unknown = object;
  for (const part of path.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, part)) return undefined;
    value = value[part];
  }
  return value;
}

function providersOf(value: unknown, problems: string[]): Record<string, ProviderSettings> {
  const providers: Record<string, ProviderSettings> = {};
  for (const [name, settings] of Object.entries(isObject(value) ? value : {})) {
    if (isObject(settings)) providers[name] = settings as ProviderSettings;
    else problems.push(`provider ${name} is not an object`);
  }
  return providers;
}

/** The result has no prototype, because a project may be named `constructor`. */
function mapOf(map: MapKey, value: unknown, problems: string[]): Record<string, string | Written> {
  const entries: Record<string, string | Written> = Object.create(null);
  for (const [name, each] of Object.entries(isObject(value) ? value : {})) {
    try {
      entries[name] = MAPS[map].parse(each, name);
    } catch (error) {
      problems.push(`${map}.${name}: ${messageOf(error)}`);
    }
  }
  return entries;
}
