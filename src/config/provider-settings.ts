import { listOf, oneOf, onOrOff, ownProxyAddress, whole } from './values.ts';
import type { Plain } from './written.ts';

const flag = (value: unknown): boolean => onOrOff(value) === 'on';

const fields = (value: unknown): string[] => listOf(value, 'fields').map(String);

/**
 * What a provider does differently from its API's document, where gw doesn't know: entries of
 * providers/dialects/dialect.ts that have a plain value.
 */
const DIALECT = {
  reasoning: oneOf(['required', 'kept', 'refused']),
  details: flag,
  extras: flag,
  opaque: flag,
  cacheMarks: flag,
  lacksResponses: flag,
  strictTools: flag,
  toolIds: whole(1, 64),
  plainSchemas: flag,
  maxStops: whole(0, 100),
  systemFirst: flag,
  userBehindTool: flag,
  onlyAutoTools: flag,
  refuses: fields,
};

export type DialectSettings = { [K in keyof typeof DIALECT]?: ReturnType<(typeof DIALECT)[K]> };

export const DIALECT_ENTRIES = Object.keys(DIALECT) as (keyof DialectSettings)[];

/** A setting of one provider: `providers.NAME.proxy`, `providers.NAME.dialect.toolIds`. */
export interface ProviderSetting {
  provider: string;
  /** Where it stands in the settings. */
  path: string[];
  parse(value: unknown): Plain;
  valueIn(settings: { proxy?: string; dialect?: DialectSettings }): Plain | undefined;
}

/** Undefined for keys of other settings. */
export function providerSettingOf(key: string): ProviderSetting | undefined {
  const [, provider = '', field, entry] = /^providers\.(.+?)\.(proxy|dialect\.(\w+))$/.exec(key) ?? [];
  if (field === 'proxy')
    return {
      provider,
      path: ['providers', provider, field],
      parse: ownProxyAddress,
      valueIn: ({ proxy }) => proxy,
    };
  if (entry === undefined || !isEntry(entry)) return undefined;
  return {
    provider,
    path: ['providers', provider, 'dialect', entry],
    parse: DIALECT[entry],
    valueIn: ({ dialect }) => dialect?.[entry],
  };
}

const isEntry = (name: string): name is keyof DialectSettings => Object.hasOwn(DIALECT, name);

/** The entries of a dialect in the settings file; `report` learns of those that are wrong, which are left out. */
export function dialectIn(
  stored: Readonly<Record<string, unknown>>,
  report: (entry: string, error: unknown) => void,
): DialectSettings {
  const entries = Object.entries(stored).flatMap(([name, value]) => {
    if (!isEntry(name)) return [];
    try {
      return [[name, DIALECT[name](value)]];
    } catch (error) {
      report(name, error);
      return [];
    }
  });
  return Object.fromEntries(entries);
}
