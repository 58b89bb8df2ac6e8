import { mkdirSync, writeFileSync } from 'node:fs';
import { createCalendar } from '../../src/calendar.ts';
import type { ProviderSettings, Settings } from '../../src/config/settings.ts';
import type { Written } from '../../src/config/written.ts';
import { NANO_PER_USD } from '../../src/money.ts';
import { type Paths, resolvePaths } from '../../src/paths.ts';
import { createKey } from '../../src/store/accounts/keys.ts';
import { type StoredPrice, setPrice } from '../../src/store/accounts/prices.ts';
import { createProject, getProject, listProjects, type Project } from '../../src/store/accounts/projects.ts';
import { type BudgetSettings, setBudget } from '../../src/store/budgets/budgets.ts';
import { type Db, openDatabase } from '../../src/store/database/open.ts';
import { bumpConfigurationEpoch } from '../../src/store/database/write.ts';
import { type LoggedRequest, listRequests } from '../../src/store/requests/request-log.ts';
import { layDatabase } from './migrated.ts';

/** A setting as config.json has it. */
type InFile<T> = T extends Written ? string : T extends Record<string, Written> ? Record<string, string> : T;

/** Settings by key, as config.json has them, and providers beside the one named `mock`. */
export type TestSettings = { [K in Exclude<keyof Settings, 'providers'>]?: InFile<Settings[K]> } & {
  providers?: Record<string, ProviderSettings>;
};

export type TestBudget = Omit<BudgetSettings, 'capNanoUsd'> & { capUsd: number };

export interface HomeOptions {
  /** The base URL of the provider named `mock`. */
  upstreamUrl: string;
  settings?: TestSettings;
  /** Dollars per million tokens of `mock/test-model`; null: nobody knows. */
  price?: { input: number; output: number } | null;
  budget?: TestBudget;
  /** Stored provider keys. */
  credentials?: Record<string, string>;
  /** A database elsewhere. */
  database?: string;
  now?: () => number;
  /** The project of the home has no neighbour. */
  alone?: boolean;
}

/** A state directory with a project, keys, a provider and a price, and what commands do to it. */
export interface TestHome {
  paths: Paths;
  /** A connection of the test's own, as a command has one. */
  db: Db;
  project: Project;
  key: string;
  adminKey: string;
  /** Replaces the settings file and tells the daemon, as `gw config set` does. */
  configure(settings: TestSettings): void;
  setPrice(price: Omit<StoredPrice, 'provider'> & { provider?: string }): Promise<void>;
  setBudget(budget: TestBudget, project?: Project): Promise<void>;
  newProject(name: string): Promise<Project>;
  newKey(projectName: string, admin?: boolean): Promise<string>;
  /** The records, oldest first. */
  records(): Promise<LoggedRequest[]>;
  /** How many holds are open. */
  holds(): number;
  /** Waits until so many requests are on record and nothing is held; the only sign of what a client can't see. */
  settled(requests: number): Promise<LoggedRequest[]>;
}

/** The project that is there before the one that tests use, with a key and a budget of its own, at the same provider. */
const NEIGHBOUR = 'neighbour';

/** Makes a state directory, or what it lacks. */
export async function prepareHome(home: string, options: HomeOptions): Promise<TestHome> {
  const { upstreamUrl, price = { input: 1, output: 2 }, now = Date.now } = options;
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const paths = resolvePaths({ GW_HOME: home, GW_DATABASE: options.database });
  await layDatabase(paths.database);
  const db = await openDatabase(paths.database);

  function configure({ providers, ...settings }: TestSettings): void {
    const all = {
      timezone: 'UTC',
      // However busy the machine is that tests run on.
      'optimizer.deadline_ms': 60_000,
      ...settings,
      providers: { mock: { baseUrl: upstreamUrl }, ...providers },
    };
    writeFileSync(paths.config, JSON.stringify(nested(all)), { mode: 0o600 });
    bumpConfigurationEpoch(db);
  }
  const credentials = options.credentials ?? { mock: 'provider-key' };
  writeFileSync(paths.credentials, JSON.stringify(credentials), { mode: 0o600 });
  configure(options.settings ?? {});
  const hasNeighbour = options.alone !== true && (await listProjects(db)).length === 0;
  const neighbour = hasNeighbour ? await createProject(db, { name: NEIGHBOUR, now: now() }) : undefined;
  const project = await createProject(db, { name: 'default', now: now() }).catch(() =>
    getProject(db, 'default'),
  );
  async function keyOf({ id }: Project, admin = false): Promise<string> {
    return (await createKey(db, { projectId: id, admin, now: now() })).key;
  }
  async function budget({ capUsd, ...rest }: TestBudget, of = project): Promise<void> {
    const context = { calendar: createCalendar('UTC'), now: now() };
    await setBudget(db, of, { ...rest, capNanoUsd: Math.round(capUsd * NANO_PER_USD) }, context);
  }
  if (price) await setPrice(db, picoPrice(price), now());
  if (options.budget) await budget(options.budget);
  if (neighbour) {
    await keyOf(neighbour);
    await budget({ period: 'monthly', capUsd: 1_000 }, neighbour);
  }
  const holds = () => Number(db.prepare('SELECT count(*) FROM open_holds').pluck().get());
  const records = async () => (await listRequests(db, { limit: 1_000_000 })).reverse();

  return {
    paths,
    db,
    project,
    key: await keyOf(project),
    adminKey: await keyOf(project, true),
    configure,
    setPrice: (given) => setPrice(db, { provider: 'mock', ...given }, now()),
    setBudget: budget,
    newProject: (name) => createProject(db, { name, now: now() }),
    newKey: async (name, admin) => keyOf(await getProject(db, name), admin),
    records,
    holds,
    async settled(requests) {
      await until(async () => holds() === 0 && requestsIn(await records()) >= requests);
      return records();
    },
  };
}

/** A dollar for a million tokens is a million pico-USD for each. */
function picoPrice({ input, output }: { input: number; output: number }): StoredPrice {
  const pico = (dollars: number) => Math.round(dollars * 1e6);
  return { provider: 'mock', model: 'test-model', inputPicoUsd: pico(input), outputPicoUsd: pico(output) };
}

/** `a.b` as the settings file has it: an object in an object. */
function nested(settings: Record<string, unknown>): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(settings)) {
    const [group = '', name] = key.split('.');
    if (name === undefined) result[key] = value;
    else result[group] = { ...(result[group] as object | undefined), [name]: value };
  }
  return result;
}

/** How many requests the records stand for: many refusals share one. */
export const requestsIn = (records: readonly LoggedRequest[]): number =>
  records.reduce((sum, { folded }) => sum + (folded?.count ?? 1), 0);

/** Polls a condition where nothing else tells that it has come about. */
export async function until(condition: () => boolean | Promise<boolean>, deadlineMs = 60_000): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not within ${deadlineMs} ms: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
