import { createRouterStateStore } from '../../store/router/router-state.ts';
import { type Context, note } from '../context.ts';
import { readSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';
import { knownProviders } from './known-providers.ts';

/** A provider and the variable of the environment that its key came from. */
interface Found {
  name: string;
  variable: string;
}

/** Names the providers whose keys the environment had at the last start and has no longer, and keeps those of this one. */
export async function noteMissingProviders(context: Context): Promise<void> {
  const registry = knownProviders(context);
  const found = [...registry.providers.values()].flatMap(({ name, keySource }): Found[] =>
    keySource.startsWith('env ') ? [{ name, variable: keySource.slice(4) }] : [],
  );
  const configured = readSettings(context).settings.providers;
  const before = await withStore(context, async (db) => {
    const store = createRouterStateStore(db);
    const last = store.read('environment');
    store.save('environment', found, context.clock.now());
    return Array.isArray(last) ? (last as Found[]) : [];
  });
  for (const { name, variable } of before) {
    if (registry.providers.has(name)) continue;
    // One that was configured then may have been removed since.
    if (context.env[variable] && !Object.hasOwn(configured, name)) continue;
    note(
      context,
      `warning: ${name} was a provider at the last start and is missing now: ${variable} is not set here. To bring it back, set ${variable} and run gw restart; to store its key: gw providers add ${name}`,
    );
  }
}
