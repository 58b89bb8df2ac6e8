import { readSecrets } from '../config/secrets.ts';
import { buildRegistry, type Registry } from '../providers/registry.ts';
import type { Context } from './context.ts';
import { readSettings } from './settings.ts';

/** The providers that a daemon started in this environment would have, except the built-in sandbox. */
export function knownProviders(context: Context): Registry {
  return buildRegistry({
    configured: readSettings(context).settings.providers,
    credentials: readSecrets(context.paths.credentials),
    env: context.env,
  });
}
