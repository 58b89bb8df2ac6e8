import type { mapEntryOf } from '../../config/settings.ts';
import { namesIn } from '../../config/tiers.ts';
import { createProjectLookup } from '../../store/accounts/callers.ts';
import { type Context, note } from '../context.ts';
import { withStore } from '../with-store.ts';
import { unknownProvidersIn } from './unknown-providers.ts';

type Entry = NonNullable<ReturnType<typeof mapEntryOf>>;

/** Prints how gw reads a setting that is valid but may be a typo. */
export async function noteTypos(context: Context, { map, name }: Entry, text: string): Promise<void> {
  if (map === 'aliases') noteUnknownProviders(context, namesIn(text));
  if (map === 'optimizer.projects' || map === 'routing.shares') await noteUnknownProject(context, name);
}

/** Not an error: the name of a model can contain a slash. */
function noteUnknownProviders(context: Context, names: string[]): void {
  for (const { name, provider } of unknownProvidersIn(context, names)) {
    note(
      context,
      `"${provider}" is not a known provider, so ${name} is taken as the name of a model. To add the provider: gw providers add ${provider}`,
    );
  }
}

/** Not an error: the project can be created later. */
async function noteUnknownProject(context: Context, name: string): Promise<void> {
  const exists = await withStore(context, async (db) => createProjectLookup(db)(name));
  if (!exists)
    note(
      context,
      `There is no project "${name}" yet. See: gw projects list. To create it: gw projects add ${name}`,
    );
}
