import { dollars, lifetime, modelNames, OPTIMIZER_LEVELS, oneOf, share, tiers } from './values.ts';
import type { Written } from './written.ts';

/** Settings with a value per name: `aliases.NAME`. */
export const MAPS = {
  aliases: {
    parse: modelNames,
    about: 'another name for a model, or for several: "a, b" tries a first, "a | b" balances',
  },
  fees: {
    parse: dollars,
    about: 'dollars for a call of this tool of a provider, or for a request with it if calls are not counted',
  },
  'optimizer.projects': {
    parse: oneOf(OPTIMIZER_LEVELS),
    about: 'how prompts of this project are shortened',
  },
  tiers: {
    parse: tiers,
    about: 'the strong and the cheaper models that gw chooses between when this model is requested',
  },
  'replay.projects': {
    parse: lifetime,
    about: 'how long answers of this project are replayed',
  },
  'replay.keys': {
    parse: lifetime,
    about: 'how long answers of the key with this id are replayed',
  },
  'routing.shares': {
    parse: share,
    about: 'share of the requests of this project that goes to the strong tier, such as 30%',
  },
} satisfies Record<string, { parse(value: unknown, name: string): string | Written; about: string }>;
export type MapKey = keyof typeof MAPS;
export const MAP_KEYS = Object.keys(MAPS) as MapKey[];

/** Splits a key such as `aliases.fast` into map and name; undefined for other keys. */
export function mapEntryOf(key: string): { map: MapKey; name: string } | undefined {
  const map = MAP_KEYS.find((mapKey) => key.startsWith(`${mapKey}.`) && key.length > mapKey.length + 1);
  return map && { map, name: key.slice(map.length + 1) };
}
