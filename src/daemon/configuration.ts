import { type Calendar, createCalendar } from '../calendar.ts';
import { type LoadOptions, loadSettings } from '../config/load.ts';
import { readSecrets } from '../config/secrets.ts';
import type { Settings } from '../config/settings.ts';
import { messageOf } from '../errors.ts';
import { type Catalog, createCatalog } from '../pricing/catalog.ts';
import type { PriceOverride } from '../pricing/override.ts';
import { buildRegistry, type Registry, type RegistryOptions } from '../providers/registry.ts';
import { listPrices } from '../store/accounts/prices.ts';
import { projectsWithRepoBudgets } from '../store/budgets/budgets.ts';
import type { Db } from '../store/database/open.ts';
import { createConfigurationWatch } from '../store/database/write.ts';

/** What the user can change while gw runs, as it stands. */
export interface Configuration {
  settings: Settings;
  calendar: Calendar;
  registry: Registry;
  catalog: Catalog;
  /** The projects that have budgets of single repositories. */
  repoBudgets: ReadonlySet<number>;
  problems: string[];
}

export interface ConfigurationOptions extends LoadOptions {
  credentialsFile: string;
  db: Db;
  sandbox: NonNullable<RegistryOptions['sandbox']>;
  now: () => number;
  /** Called after each change, before the next request. */
  onChange: (configuration: Configuration) => void;
}

export interface LiveConfiguration {
  current(): Configuration;
  /** Reads anew what another process has changed; costs one pragma, and no promise, when nothing has. */
  refresh(): void | Promise<void>;
  /** Reads all anew. */
  reload(): Promise<void>;
}

/**
 * Settings, providers, prices: read when gw starts, and again as soon as the database says that a command changed
 * something, so that a change holds for the next request.
 */
export async function createConfiguration(options: ConfigurationOptions): Promise<LiveConfiguration> {
  const watch = createConfigurationWatch(options.db);
  let current = await read(options, undefined);
  /** While a change is being read, no request goes on with what was before. */
  let loading: Promise<void> | undefined;

  /** What cannot be read leaves all as it was. */
  async function load(): Promise<void> {
    current = await read(options, current).catch((error) => ({ ...current, problems: [messageOf(error)] }));
    options.onChange(current);
  }

  /** One look serves all requests that come in within a turn of the event loop. */
  let looked = false;
  const nextTurn = () => {
    looked = false;
  };
  function changed(): boolean {
    if (looked) return false;
    looked = true;
    setImmediate(nextTurn);
    return watch.changed();
  }

  const reload = () => {
    const started = load().finally(() => {
      if (loading === started) loading = undefined;
    });
    loading = started;
    return started;
  };
  return {
    current: () => current,
    refresh: () => (changed() ? reload() : loading),
    reload,
  };
}

async function read(
  options: ConfigurationOptions,
  before: Configuration | undefined,
): Promise<Configuration> {
  const { settings, problems } = loadSettings(options);
  const registry = buildRegistry({
    configured: settings.providers,
    credentials: readSecrets(options.credentialsFile),
    env: options.env ?? {},
    sandbox: options.sandbox,
  });
  const sameZone = before?.calendar.timezone === settings.timezone;
  return {
    settings,
    calendar: sameZone ? before.calendar : createCalendar(settings.timezone),
    registry,
    catalog: createCatalog({ overrides: await overridesOf(options.db), now: options.now }),
    repoBudgets: projectsWithRepoBudgets(options.db),
    problems: [...problems, ...registry.problems.map(({ name, message }) => `provider ${name} ${message}`)],
  };
}

async function overridesOf(db: Db): Promise<PriceOverride[]> {
  return (await listPrices(db)).map(({ provider, ...price }) => ({
    ...price,
    provider: provider === '' ? null : provider,
  }));
}
