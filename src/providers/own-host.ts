import { PRESETS } from './presets.ts';
import type { Provider } from './registry.ts';

const OWN_ORIGINS: ReadonlyMap<string, string> = new Map(
  Object.entries(PRESETS).flatMap(([name, { baseUrl }]) =>
    baseUrl === undefined ? [] : [[name, new URL(baseUrl).origin]],
  ),
);

/** Whether a provider's requests go to the host that it is known by, and not to a relay under its name. */
export function isOwnHost({ name, origin }: Provider): boolean {
  return OWN_ORIGINS.get(name) === origin;
}
