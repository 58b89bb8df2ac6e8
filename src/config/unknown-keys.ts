import { isObject } from '../json/object.ts';
import { MAP_KEYS } from './maps.ts';
import { RETIRED_KEYS } from './retired-settings.ts';
import { ownProxyAddress, type ProviderSettings, SCALAR_KEYS } from './settings.ts';

const isText = (value: unknown) => typeof value === 'string';

const accepts = (parse: (value: unknown) => unknown) => (value: unknown) => {
  try {
    parse(value);
    return true;
  } catch {
    return false;
  }
};

/** The fields of a provider, and the values that they accept. */
export const PROVIDER_FIELDS: { [K in keyof Required<ProviderSettings>]: (value: unknown) => boolean } = {
  baseUrl: isText,
  keyEnv: isText,
  keyStored: (value) => typeof value === 'boolean',
  proxy: accepts(ownProxyAddress),
  wire: (value) => value === 'openai' || value === 'anthropic',
};

const VALUES = new Set<string>([...SCALAR_KEYS, ...RETIRED_KEYS]);
const MAPS = new Set<string>(MAP_KEYS);
/** What holds settings: `admission` of `admission.max_wait_ms`. */
const GROUPS = new Set(
  [...VALUES, ...MAPS].flatMap((key) => {
    const parts = key.split('.');
    return parts.slice(1).map((_part, i) => parts.slice(0, i + 1).join('.'));
  }),
);

/** The paths at which the file has something that is no setting, such as a key in the wrong object. */
export function unknownKeys(stored: Record<string, unknown>): string[][] {
  return unknownIn(stored, []);
}

function unknownIn(object: Record<string, unknown>, path: string[]): string[][] {
  return Object.entries(object).flatMap(([key, value]) => {
    const inner = [...path, key];
    // A key with a dot in it is not the path that it looks like.
    const name = key.includes('.') ? '' : inner.join('.');
    if (path.length === 0 && key === 'providers')
      return isObject(value) ? Object.entries(value).flatMap(unknownInProvider) : [inner];
    if (MAPS.has(name)) return isObject(value) ? [] : [inner];
    if (GROUPS.has(name)) return isObject(value) ? unknownIn(value, inner) : [inner];
    return VALUES.has(name) ? [] : [inner];
  });
}

function unknownInProvider([name, settings]: [string, unknown]): string[][] {
  if (!isObject(settings)) return [];
  return Object.keys(settings)
    .filter((field) => !Object.hasOwn(PROVIDER_FIELDS, field))
    .map((field) => ['providers', name, field]);
}

/** The message for a path that `unknownKeys` found. Says nothing of its value, which may be a key. */
export function misplaced(path: readonly string[]): string {
  const name = path.join('.');
  if (path[0] === 'providers' && path.length === 3)
    return `a provider has no field "${path[2]}", only ${Object.keys(PROVIDER_FIELDS).join(', ')}. To set it up anew: gw providers add ${path[1]}`;
  if (MAPS.has(name) || GROUPS.has(name) || name === 'providers')
    return `${name} must be an object. To drop it: gw config unset ${name}`;
  const last = name.split('.').at(-1) ?? '';
  const near = VALUES.has(name) ? [name] : SCALAR_KEYS.filter((key) => key.split('.').at(-1) === last);
  const hint =
    near.length > 0 ? ` here. Set it with: gw config set ${near[0]} VALUE` : '. See: gw config list';
  return `no setting "${name}"${hint}. To drop it: gw config unset ${name}`;
}
