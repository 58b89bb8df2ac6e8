import { PRESETS } from './presets.ts';
import type { Provider } from './registry.ts';

const OWN_ORIGINS: ReadonlyMap<string, string> = new Map(
  Object.entries(PRESETS).flatMap(([name, { baseUrl }]) =>
    baseUrl === undefined ? [] : [[name, new URL(baseUrl).origin]],
  ),
);

/** Whether a provider's requests go to its official host, not to a relay configured under its name. */
export function isOwnHost({ name, origin }: Provider): boolean {
  return OWN_ORIGINS.get(name) === origin;
}
