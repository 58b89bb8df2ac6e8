import { type Calendar, createCalendar } from '../calendar.ts';
import { type LoadOptions, loadSettings, refuseProblems } from '../config/load.ts';
import { readSecrets } from '../config/secrets.ts';
import type { Settings } from '../config/settings.ts';
import { messageOf } from '../errors.ts';
import type { BudgetScopes } from '../gateway/context/request-context.ts';
import { createNetwork, type Network } from '../network/network.ts';
import { readDeployments } from '../operations/known-prices.ts';
import { type Catalog, createCatalog } from '../pricing/catalog.ts';
import { readStoredPrices, type StoredPrices } from '../pricing/published/stored-prices.ts';
import { createCloudAccounts } from '../providers/clouds/account.ts';
import { billedAs, buildRegistry, type Registry, type RegistryOptions } from '../providers/registry.ts';
import { listPrices } from '../store/accounts/prices.ts';
import { type ProjectCut, readProjectCuts } from '../store/accounts/projects.ts';
import {
  projectsWithClientBudgets,
  projectsWithFallbacks,
  projectsWithRepoBudgets,
} from '../store/budgets/projects-with.ts';
import type { Db } from '../store/database/open.ts';
import { createConfigurationWatch } from '../store/database/write.ts';

/** A snapshot of everything that the user can change while gw runs. */
export interface Configuration {
  settings: Settings;
  calendar: Calendar;
  registry: Registry;
  /** The same object while its settings are unchanged. */
  network: Network;
  catalog: Catalog;
  /** Prices that replace the bundled ones. */
  storedPrices: StoredPrices | undefined;
  budgetScopes: BudgetScopes;
  /** Projects whose running requests were cut, with the time of the last cut. */
  projectCuts: ReadonlyMap<number, ProjectCut>;
  problems: string[];
}

export interface ConfigurationOptions extends LoadOptions {
  credentialsFile: string;
  pricesFile: string;
  db: Db;
  sandbox: NonNullable<RegistryOptions['sandbox']>;
  now: () => number;
}

export interface LiveConfiguration {
  current(): Configuration;
  /** Reloads if another process has changed the configuration; otherwise costs one pragma and no promise. */
  refresh(): void | Promise<void>;
  /** Reloads unconditionally. */
  reload(): Promise<void>;
  /** Calls the listener after each reload, before the next request, in order of registration. */
  onChange(listener: (configuration: Configuration) => void): void;
}

/**
 * Loads settings, providers and prices at start, and reloads them when the database shows that a command has changed
 * something, so that a change applies from the next request on.
 */
export async function createConfiguration(options: ConfigurationOptions): Promise<LiveConfiguration> {
  const watch = createConfigurationWatch(options.db);
  const withClouds = { ...options, clouds: createCloudAccounts() };
  const listeners: ((configuration: Configuration) => void)[] = [];
  let current = await read(withClouds, undefined);
  /** While pending, new requests wait for the new configuration. */
  let loading: Promise<void> | undefined;

  /** If the configuration can't be read, the previous one stays in force. */
  async function load(): Promise<void> {
    current = await read(withClouds, current).catch((error) => ({
      ...current,
      problems: [messageOf(error)],
    }));
    for (const listener of listeners) listener(current);
  }

  /** One check serves all requests of an event-loop turn. */
  let isChecked = false;
  const nextTurn = () => {
    isChecked = false;
  };
  function hasChanged(): boolean {
    if (isChecked) return false;
    isChecked = true;
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
    refresh: () => (hasChanged() ? reload() : loading),
    reload,
    onChange: (listener) => void listeners.push(listener),
  };
}

type ReadOptions = ConfigurationOptions & Required<Pick<RegistryOptions, 'clouds'>>;

async function read(options: ReadOptions, previous: Configuration | undefined): Promise<Configuration> {
  const loaded = loadSettings(options);
  // There are no previous settings at start, and defaults could forward what the settings forbid.
  if (!previous) refuseProblems(loaded);
  const isSound = loaded.problems.length === 0;
  const { settings } = !isSound && previous ? previous : loaded;
  const problems = isSound ? [] : [...loaded.problems, 'gw keeps the settings that it had'];
  const registry = registryOf(options, settings, previous, problems);
  const { stored: storedPrices, problem } = readStoredPrices(options.pricesFile, previous?.storedPrices);
  if (problem) problems.push(problem);
  const sameZone = previous?.calendar.timezone === settings.timezone;
  return {
    settings,
    calendar: sameZone ? previous.calendar : createCalendar(settings.timezone),
    registry,
    network: networkOf(options, settings, previous),
    catalog: createCatalog({
      overrides: await listPrices(options.db),
      published: storedPrices?.prices,
      billedAs: billedAs(settings.providers, readDeployments(options.db)),
      now: options.now,
    }),
    storedPrices,
    budgetScopes: {
      repos: projectsWithRepoBudgets(options.db),
      clients: projectsWithClientBudgets(options.db),
      fallbacks: projectsWithFallbacks(options.db),
    },
    projectCuts: readProjectCuts(options.db),
    problems: [...problems, ...registry.problems.map(({ name, message }) => `provider ${name} ${message}`)],
  };
}

/** While the credentials can't be read, the previous providers stay. */
function registryOf(
  { credentialsFile, env = {}, sandbox, clouds }: ReadOptions,
  settings: Settings,
  previous: Configuration | undefined,
  problems: string[],
): Registry {
  try {
    const credentials = readSecrets(credentialsFile);
    return buildRegistry({ configured: settings.providers, credentials, env, sandbox, clouds });
  } catch (error) {
    if (!previous) throw error;
    problems.push(`${messageOf(error)}. gw keeps the providers that it had`);
    return previous.registry;
  }
}

function networkOf(
  { env = {} }: ConfigurationOptions,
  settings: Settings,
  previous: Configuration | undefined,
): Network {
  const { 'proxy.url': proxyUrl, 'tls.ca_file': caFile } = settings;
  const isSame = previous?.settings['proxy.url'] === proxyUrl && previous.settings['tls.ca_file'] === caFile;
  return isSame ? previous.network : createNetwork({ proxyUrl, caFile, env });
}
