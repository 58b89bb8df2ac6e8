import { messageOf, orElse } from '../errors.ts';
import { isObject } from '../json/object.ts';
import { MAP_KEYS, MAPS, type MapKey } from './maps.ts';
import { DIALECT_ENTRIES, dialectIn } from './provider-settings.ts';
import { RETIRED_KEYS } from './retired-settings.ts';
import {
  DEFINITIONS,
  type Origin,
  ownProxyAddress,
  type ProviderSettings,
  placeOf,
  SCALAR_KEYS,
  type ScalarKey,
  SettingError,
  type Settings,
} from './settings.ts';
import { readSettingsText, type SettingsText } from './settings-file.ts';
import type { Written } from './written.ts';

/** The effective settings and the origin of each. */
export interface LoadedSettings {
  settings: Settings;
  origins: Record<ScalarKey, Origin>;
  /** Problems in the file, each with its position. Invalid settings have their defaults. */
  problems: string[];
  /** Settings in the file that this version has removed and ignores. */
  retired: string[];
  /** Paths in the file that are no settings. */
  unknown: string[][];
}

export interface LoadOptions {
  /** Path of the settings file, which may not exist. */
  file: string;
  env?: Record<string, string | undefined>;
  flags?: Partial<Record<ScalarKey, unknown>>;
}

/**
 * Loads the settings. A flag overrides the environment, which overrides the file, which overrides the default. Throws
 * SettingError for a bad flag or environment value; reports anything wrong in the file as a problem.
 */
export function loadSettings({ file, env = {}, flags = {} }: LoadOptions): LoadedSettings {
  const text = readSettingsText(file);
  const { stored, problems } = text;
  const origins = {} as Record<ScalarKey, Origin>;
  const values: Record<string, unknown> = {};
  for (const key of SCALAR_KEYS) {
    const { value, origin } = lookUp(key, { text, env, flags });
    values[key] = value;
    origins[key] = origin;
  }
  const settings = {
    ...values,
    ...Object.fromEntries(MAP_KEYS.map((map) => [map, mapOf(map, text)])),
    providers: providersOf(text),
  } as Settings;
  const unknown = unknownIn(stored);
  for (const path of unknown) text.report(path, misplaced(path));
  const retired = RETIRED_KEYS.filter((key) => atPath(stored, key) !== undefined);
  return { settings, origins, problems, retired, unknown };
}

/** Like `loadSettings`, for the start of gw: throws SettingError if anything in the file is wrong. */
export function loadSoundSettings(options: LoadOptions): LoadedSettings {
  const loaded = loadSettings(options);
  refuseProblems(loaded);
  return loaded;
}

/** Throws SettingError if there are problems. */
export function refuseProblems({ problems }: Pick<LoadedSettings, 'problems'>): void {
  if (problems.length === 0) return;
  throw new SettingError(`gw does not start, since it cannot use all settings:\n${problems.join('\n')}`);
}

interface Sources extends Required<Omit<LoadOptions, 'file'>> {
  text: SettingsText;
}

function lookUp(key: ScalarKey, { text, env, flags }: Sources): { value: unknown; origin: Origin } {
  const definition = DEFINITIONS[key];
  const fromEnvironment = definition.environment ? env[definition.environment] : undefined;
  const parseOrThrow = (name: string, value: unknown) => {
    try {
      return definition.parse(value);
    } catch (error) {
      throw new SettingError(`${name}: ${messageOf(error)}`);
    }
  };
  const inFile = fromFile(key, text);
  if (flags[key] !== undefined)
    return { value: parseOrThrow(`--${definition.flag ?? key}`, flags[key]), origin: 'flag' };
  if (fromEnvironment)
    return { value: parseOrThrow(definition.environment ?? '', fromEnvironment), origin: 'environment' };
  return inFile === undefined
    ? { value: definition.default(), origin: 'default' }
    : { value: inFile, origin: 'config' };
}

/** The value in the file; undefined if it is missing or bad. Validated even if it is overridden. */
function fromFile(key: ScalarKey, text: SettingsText): unknown {
  const value = atPath(text.stored, placeOf(key).join('.'));
  if (value === undefined) return undefined;
  try {
    return DEFINITIONS[key].parse(value);
  } catch (error) {
    text.report(placeOf(key), `${key}: ${messageOf(error)}. To drop it: gw config unset ${key}`);
    return undefined;
  }
}

/** The value at a dotted path; conf stores `admission.max_wait_ms` as nested objects. */
function atPath(object: Record<string, unknown>, path: string): unknown {
  let value: unknown = object;
  for (const part of path.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, part)) return undefined;
    value = value[part];
  }
  return value;
}

function providersOf(text: SettingsText): Record<string, ProviderSettings> {
  const providers: Record<string, ProviderSettings> = Object.create(null);
  const { providers: stored } = text.stored;
  for (const [name, settings] of Object.entries(isObject(stored) ? stored : {})) {
    const path = ['providers', name];
    if (!isObject(settings)) {
      text.report(path, `provider ${name} is not an object. To drop it: gw providers remove ${name}`);
      continue;
    }
    for (const [field, accepts] of Object.entries(PROVIDER_FIELDS)) {
      if (settings[field] === undefined || accepts(settings[field])) continue;
      text.report([...path, field], `${field} of provider ${name} has a value that gw cannot use`);
    }
    providers[name] = settings as ProviderSettings;
    if (!isObject(settings.dialect)) continue;
    const dialect = dialectIn(settings.dialect, (entry, error) => {
      const key = `providers.${name}.dialect.${entry}`;
      text.report(
        [...path, 'dialect', entry],
        `${key}: ${messageOf(error)}. To drop it: gw config unset ${key}`,
      );
    });
    providers[name] = { ...providers[name], dialect };
  }
  return providers;
}

/** The result has no prototype, because a project may be named `constructor`. */
function mapOf(map: MapKey, text: SettingsText): Record<string, string | Written> {
  const entries: Record<string, string | Written> = Object.create(null);
  const stored = atPath(text.stored, map);
  for (const [name, each] of Object.entries(isObject(stored) ? stored : {})) {
    try {
      entries[name] = MAPS[map].parse(each, name);
    } catch (error) {
      const key = `${map}.${name}`;
      text.report(
        [...map.split('.'), name],
        `${key}: ${messageOf(error)}. To drop it: gw config unset ${key}`,
      );
    }
  }
  return entries;
}

const isText = (value: unknown) => typeof value === 'string';

/** Fields of a provider, with a check of their values. */
const PROVIDER_FIELDS: { [K in keyof Required<ProviderSettings>]: (value: unknown) => boolean } = {
  baseUrl: isText,
  keyEnv: isText,
  keyStored: (value) => typeof value === 'boolean',
  proxy: (value) => orElse(() => ownProxyAddress(value), undefined) !== undefined,
  wire: (value) => value === 'openai' || value === 'anthropic' || value === 'gemini',
  pricesOf: isText,
  kind: (value) => value === 'azure' || value === 'bedrock' || value === 'vertex',
  region: isText,
  profile: isText,
  surface: (value) => value === 'runtime' || value === 'mantle' || value === 'invoke',
  project: isText,
  resource: isText,
  entra: (value) => typeof value === 'boolean',
  deployments: (value) => isObject(value) && Object.values(value).every(isText),
  dialect: isObject,
};

const VALUES = new Set<string>([...SCALAR_KEYS.map((key) => placeOf(key).join('.')), ...RETIRED_KEYS]);
const MAP_NAMES = new Set<string>(MAP_KEYS);
/** Objects that contain settings, such as `admission` of `admission.max_wait_ms`. */
const GROUPS = new Set(
  [...VALUES, ...MAP_NAMES].flatMap((key) => {
    const parts = key.split('.');
    return parts.slice(1).map((_part, i) => parts.slice(0, i + 1).join('.'));
  }),
);

/** Paths in the file that are no settings, such as a key in the wrong object. */
function unknownIn(object: Record<string, unknown>, path: string[] = []): string[][] {
  return Object.entries(object).flatMap(([key, value]) => {
    const inner = [...path, key];
    // A key that contains a dot is not a nested path.
    const name = key.includes('.') ? '' : inner.join('.');
    if (path.length === 0 && key === 'providers')
      return isObject(value) ? Object.entries(value).flatMap(unknownInProvider) : [inner];
    if (MAP_NAMES.has(name)) return isObject(value) ? [] : [inner];
    if (GROUPS.has(name)) return isObject(value) ? unknownIn(value, inner) : [inner];
    return VALUES.has(name) ? [] : [inner];
  });
}

function unknownInProvider([name, settings]: [string, unknown]): string[][] {
  if (!isObject(settings)) return [];
  const dialect = Object.keys(isObject(settings.dialect) ? settings.dialect : {});
  return [
    ...Object.keys(settings)
      .filter((field) => !Object.hasOwn(PROVIDER_FIELDS, field))
      .map((field) => ['providers', name, field]),
    ...dialect
      .filter((entry) => !DIALECT_ENTRIES.some((each) => each === entry))
      .map((entry) => ['providers', name, 'dialect', entry]),
  ];
}

/** Message for a path from `unknownIn`. Omits the value, which may be a key. */
function misplaced(path: readonly string[]): string {
  const name = path.join('.');
  if (path[0] === 'providers' && path.length === 3)
    return `a provider has no field "${path[2]}", only ${Object.keys(PROVIDER_FIELDS).join(', ')}. To set it up anew: gw providers add ${path[1]}`;
  if (MAP_NAMES.has(name) || GROUPS.has(name) || name === 'providers')
    return `${name} must be an object. To drop it: gw config unset ${name}`;
  const last = name.split('.').at(-1) ?? '';
  const near = VALUES.has(name) ? [name] : SCALAR_KEYS.filter((key) => key.split('.').at(-1) === last);
  const hint =
    near.length > 0 ? ` here. Set it with: gw config set ${near[0]} VALUE` : '. See: gw config list';
  return `no setting "${name}"${hint}. To drop it: gw config unset ${name}`;
}
