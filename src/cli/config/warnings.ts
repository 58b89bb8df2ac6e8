import type { mapEntryOf } from '../../config/settings.ts';
import { namesIn } from '../../config/tiers.ts';
import { createProjectLookup } from '../../store/accounts/callers.ts';
import { type Context, note } from '../context.ts';
import { withStore } from '../with-store.ts';
import { strangersIn } from './unknown-providers.ts';

type Entry = NonNullable<ReturnType<typeof mapEntryOf>>;

/** Says of a setting that may well be meant, and may be a slip of the pen, what it is taken for. */
export async function noteSlips(context: Context, { map, name }: Entry, text: string): Promise<void> {
  if (map === 'aliases') noteStrangers(context, namesIn(text));
  if (map === 'optimizer.projects' || map === 'routing.shares') await noteLostProject(context, name);
}

/** A model's own name may have a slash. */
function noteStrangers(context: Context, names: string[]): void {
  for (const { name, provider } of strangersIn(context, names)) {
    note(
      context,
      `"${provider}" is not a known provider, so ${name} is taken as the name of a model. To add the provider: gw providers add ${provider}`,
    );
  }
}

/** It may be made later. */
async function noteLostProject(context: Context, name: string): Promise<void> {
  const found = await withStore(context, async (db) => createProjectLookup(db)(name));
  if (!found)
    note(
      context,
      `There is no project "${name}" yet. See: gw projects list. To create it: gw projects add ${name}`,
    );
}
