import { readSecrets } from '../../config/secrets.ts';
import { buildRegistry, type Registry } from '../../providers/registry.ts';
import type { Context } from '../context.ts';
import { readSettings } from '../settings.ts';

/** The providers as a daemon that is started from here would see them, but for the built-in sandbox. */
export function knownProviders(context: Context): Registry {
  return buildRegistry({
    configured: readSettings(context).settings.providers,
    credentials: readSecrets(context.paths.credentials),
    env: context.env,
  });
}
