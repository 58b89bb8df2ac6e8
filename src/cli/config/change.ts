import { aliasLoop, loopMessage, namesIn } from '../../config/aliases.ts';
import { MAPS, mapEntryOf } from '../../config/maps.ts';
import { DIALECT_ENTRIES, providerSettingOf } from '../../config/provider-settings.ts';
import { retiredMessage } from '../../config/retired-settings.ts';
import { openSettingsFile } from '../../config/save.ts';
import { DEFINITIONS, isScalarKey, placeOf, SCALAR_KEYS, SettingError } from '../../config/settings.ts';
import { isName, parseTiers } from '../../config/tiers.ts';
import { parseRetention, type Retention } from '../../config/values.ts';
import { type Plain, writtenOf } from '../../config/written.ts';
import { messageOf } from '../../errors.ts';
import { catalogOf, knownPrices } from '../../operations/known-prices.ts';
import { makeHome } from '../../paths.ts';
import { worstCase } from '../../pricing/cost.ts';
import { PRESETS } from '../../providers/presets.ts';
import { createProjectLookup } from '../../store/accounts/callers.ts';
import { type Context, note } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { confirmLoss } from '../input/prompt.ts';
import { knownProviders } from '../known-providers.ts';
import { readSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';

/** Sets a setting, or resets it if `text` is undefined. Returns the new value; throws if it is invalid. */
export async function changeSetting(
  context: Context,
  key: string,
  text: string | undefined,
  yes?: boolean,
): Promise<Plain | undefined> {
  const ofProvider = providerSettingOf(key);
  if (ofProvider && !Object.hasOwn(readSettings(context).settings.providers, ofProvider.provider))
    throw new CliError(
      `no provider "${ofProvider.provider}" in the settings. Run: gw providers add ${ofProvider.provider}`,
      EXIT.notFound,
    );
  const entry = mapEntryOf(key);
  const parse = isScalarKey(key)
    ? DEFINITIONS[key].parse
    : (ofProvider?.parse ?? (entry && MAPS[entry.map].parse));
  if (!parse) throw unknownSetting(key);
  const value =
    text === undefined ? undefined : writtenOf(parseSetting(key, () => parse(text, entry?.name ?? '')));
  if (key === 'retention.requests') await confirmShorter(context, value ?? DEFINITIONS[key].default(), yes);
  if (entry?.map === 'aliases' && text !== undefined) checkAlias(context, entry.name, String(value));
  if (entry?.map === 'tiers' && text !== undefined) checkTiers(context, entry.name, text);
  makeHome(context.paths);
  const file = await openSettingsFile(context.paths.config);
  const path = entry
    ? [...entry.map.split('.'), entry.name]
    : (ofProvider?.path ?? (isScalarKey(key) ? placeOf(key) : key.split('.')));
  if (value === undefined) file.delete(path);
  else file.set(path, value);
  return value;
}

/** Asks before records are kept for a shorter time: the daemon deletes those that are older. */
async function confirmShorter(context: Context, value: unknown, yes: boolean | undefined): Promise<void> {
  const present = readSettings(context).settings['retention.requests'];
  const next = typeof value === 'string' ? parseRetention(value) : (value as Retention);
  if ((next.ms ?? Infinity) >= (present.ms ?? Infinity)) return;
  const loss = `gw deletes the record of each request older than ${next.written} for good (now: ${present.written}); reports keep their figures.`;
  await confirmLoss(context, loss, { yes, scripted: true });
}

/** Throws if the alias would lead back to itself. */
function checkAlias(context: Context, name: string, text: string): void {
  const loop = aliasLoop(name, { ...readSettings(context).settings.aliases, [name]: text });
  if (loop) throw new SettingError(`aliases.${name}: ${loopMessage(loop)}. See: gw config list`);
}

/** Deletes an entry that is no setting, or no longer one, from the file. */
export async function deleteIgnored({ paths }: Context, path: string[]): Promise<void> {
  const file = await openSettingsFile(paths.config);
  file.delete(path);
}

function parseSetting<T>(key: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new SettingError(`${key}: ${messageOf(error)}`);
  }
}

/** Exit code 2 for a setting that this version no longer has, 5 for one that never existed. */
export function unknownSetting(key: string): CliError {
  const retired = retiredMessage(key);
  if (retired !== undefined) return usageError(retired);
  if (/^providers\.[^.]+\.dialect\./.test(key))
    return new CliError(
      `no setting "${key}": entries of a dialect are ${DIALECT_ENTRIES.join(', ')}`,
      EXIT.notFound,
    );
  const overlapping = SCALAR_KEYS.filter((each) => each.includes(key) || key.includes(each));
  const group = `${key.split('.', 1)[0]}.`;
  const siblings = mapEntryOf(key) ? [] : SCALAR_KEYS.filter((each) => each.startsWith(group));
  const near = overlapping.length > 0 ? overlapping : siblings;
  const hint = near.length > 0 ? ` Did you mean ${near.join(' or ')}?` : ' See: gw config list';
  return new CliError(`no setting "${key}".${hint}`, EXIT.notFound);
}

/**
 * Throws SettingError if a tier names an unknown provider, which may be a typo, or if the strong tier costs more than
 * the requested model and the setting does not allow that with `up`.
 */
function checkTiers(context: Context, model: string, text: string): void {
  const { strong, weak, up } = parseTiers(text, model);
  const [unknown] = unknownProvidersIn(context, [strong, weak.models].flatMap(namesIn));
  if (unknown) {
    throw new SettingError(
      `tiers.${model}: ${unknown.name} names an unknown provider. To add it: gw providers add ${unknown.provider}`,
    );
  }
  const priceOf = (name: string) => listPrice(context, name);
  const modelPrice = priceOf(model);
  const strongNames = namesIn(strong);
  if (up || modelPrice === undefined || strongNames.some((name) => isName(name, model))) return;
  const dearer = strongNames.find((name) => (priceOf(name) ?? 0) > modelPrice);
  if (dearer === undefined) return;
  throw new SettingError(
    `tiers.${model}: ${dearer} costs more than ${model}, so requests would go to a stronger model than they ask for. To allow that, add: up`,
  );
}

const SAMPLE_USAGE = { inputTokens: 1_000_000, outputTokens: 1_000_000, choices: 1 };

/** Cost of the sample usage at list prices; undefined when no price is known. */
function listPrice(context: Context, name: string): number | undefined {
  const { providers } = readSettings(context).settings;
  const [price] = knownPrices(name, {
    catalog: catalogOf([], context.paths.prices, { providers, now: context.clock.now }),
    configured: Object.keys(providers),
  });
  return price && worstCase(SAMPLE_USAGE, price.card);
}

type Entry = NonNullable<ReturnType<typeof mapEntryOf>>;

/** Prints how gw reads a setting that is valid but may be a typo. */
export async function noteTypos(context: Context, { map, name }: Entry, text: string): Promise<void> {
  if (map === 'aliases') noteUnknownProviders(context, namesIn(text));
  if (map === 'optimizer.projects' || map === 'replay.projects' || map === 'routing.shares')
    await noteUnknownProject(context, name);
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

/** The model names that start with an unknown provider, which may be a typo, and that provider. */
function unknownProvidersIn(
  context: Context,
  names: readonly string[],
): { name: string; provider: string }[] {
  const { aliases } = readSettings(context).settings;
  const providers = new Set([
    'sandbox',
    ...knownProviders(context).providers.keys(),
    ...Object.keys(PRESETS),
  ]);
  return names.flatMap((name) => {
    const [provider = '', rest] = name.split('/');
    const isUnknown = rest !== undefined && !providers.has(provider) && !Object.hasOwn(aliases, name);
    return isUnknown ? [{ name, provider }] : [];
  });
}
