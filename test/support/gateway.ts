import { mkdirSync, writeFileSync } from 'node:fs';
import pino from 'pino';
import { onTestFinished } from 'vitest';
import { createCalendar } from '../../src/calendar.ts';
import type { Clock } from '../../src/clock.ts';
import type { ProviderSettings, Settings } from '../../src/config/settings.ts';
import { boot, type Daemon } from '../../src/daemon/boot.ts';
import type { Random } from '../../src/ids.ts';
import { NANO_PER_USD } from '../../src/money.ts';
import { type Paths, resolvePaths } from '../../src/paths.ts';
import { type BudgetSettings, setBudget } from '../../src/store/budgets.ts';
import { createKey } from '../../src/store/keys.ts';
import { acquireLock } from '../../src/store/lock.ts';
import { type Db, openDatabase } from '../../src/store/open.ts';
import { type StoredPrice, setPrice } from '../../src/store/prices.ts';
import { createProject, getProject, type Project } from '../../src/store/projects.ts';
import { type LoggedRequest, listRequests } from '../../src/store/request-log.ts';
import { bumpConfigurationEpoch } from '../../src/store/write.ts';
import {
  openConnection,
  type RawConnection,
  type RawResponse,
  type RequestParts,
  request,
  requestBytes,
} from './client.ts';
import { tmpHome } from './tmp-home.ts';
import { startUpstream, type Upstream } from './upstream.ts';

/** Settings by key, and providers beside the one named `mock`. */
export type TestSettings = Partial<Omit<Settings, 'providers'>> & {
  providers?: Record<string, ProviderSettings>;
};

export interface GatewayOptions {
  upstream?: Upstream;
  settings?: TestSettings;
  /** Dollars per million tokens of `mock/test-model`; null: nobody knows. */
  price?: { input: number; output: number } | null;
  budget?: Omit<BudgetSettings, 'capNanoUsd'> & { capUsd: number };
  env?: Record<string, string>;
  clock?: Clock;
  random?: Random;
  /** Stored provider keys. */
  credentials?: Record<string, string>;
  /** A home and a database that are there already. */
  home?: string;
  database?: string;
  whenDone?: (stop: () => Promise<void>) => void;
}

/** A daemon on a port of its own between a test and a scripted upstream, and the state that it works on. */
export interface TestGateway {
  /** The base URL that a client is given. */
  url: string;
  /** Without `/v1`. */
  origin: string;
  key: string;
  adminKey: string;
  project: Project;
  upstream: Upstream;
  paths: Paths;
  daemon: Daemon;
  /** A connection of the test's own, as a command has one. */
  db: Db;
  /** The lines that were logged. */
  logged: Record<string, unknown>[];
  /** Sends a chat completion with the project's key. */
  post(body: unknown, parts?: RequestParts): Promise<RawResponse>;
  /** Opens a connection and sends a chat completion on it. */
  open(body: unknown, parts?: RequestParts): Promise<RawConnection>;
  get(path: string, headers?: Record<string, string>): Promise<RawResponse>;
  /** The records, oldest first. */
  records(): Promise<LoggedRequest[]>;
  /** How many holds are open. */
  holds(): number;
  /** Waits until so many requests are on record and nothing is held; the only sign of what a client can't see. */
  settled(requests: number): Promise<LoggedRequest[]>;
  setPrice(price: Omit<StoredPrice, 'provider'> & { provider?: string }): Promise<void>;
  setBudget(settings: NonNullable<GatewayOptions['budget']>, project?: Project): Promise<void>;
  newProject(name: string): Promise<Project>;
  newKey(projectName: string, admin?: boolean): Promise<string>;
  /** Replaces the settings file and tells the daemon, as `gw config set` does. */
  configure(settings: TestSettings): void;
  stop(): Promise<void>;
}

export const MODEL = 'mock/test-model';
export const PLAIN = { model: MODEL, messages: [{ role: 'user' as const, content: 'Hi' }] };
export const STREAM = { ...PLAIN, stream: true as const };

/** Boots the real daemon in a fresh home. When the test is over it has to stop without an open hold or a logged error. */
export async function startGateway(options: GatewayOptions = {}): Promise<TestGateway> {
  const { whenDone = onTestFinished, price = { input: 1, output: 2 }, env = {}, clock, random } = options;
  const home = options.home ?? tmpHome(whenDone);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const paths = resolvePaths({ GW_HOME: home, GW_DATABASE: options.database });
  const lock = acquireLock(paths.lock);
  if (!lock) throw new Error(`${paths.lock} is held`);
  const upstream = options.upstream ?? (await startUpstream());
  const db = await openDatabase(paths.database);
  const now = () => clock?.now() ?? Date.now();
  const calendar = createCalendar('UTC');

  function configure({ providers, ...settings }: TestSettings): void {
    const written = {
      timezone: 'UTC',
      ...settings,
      providers: { mock: { baseUrl: upstream.url }, ...providers },
    };
    writeFileSync(paths.config, JSON.stringify(nested(written)), { mode: 0o600 });
    bumpConfigurationEpoch(db);
  }
  configure(options.settings ?? {});
  writeFileSync(paths.credentials, JSON.stringify(options.credentials ?? { mock: 'provider-key' }), {
    mode: 0o600,
  });
  const project = await createProject(db, { name: 'default', now: now() }).catch(() =>
    getProject(db, 'default'),
  );
  const { key } = await createKey(db, { projectId: project.id, now: now() });
  const { key: adminKey } = await createKey(db, { projectId: project.id, admin: true, now: now() });
  async function budget(
    { capUsd, ...rest }: NonNullable<GatewayOptions['budget']>,
    of = project,
  ): Promise<void> {
    await setBudget(
      db,
      of,
      { ...rest, capNanoUsd: Math.round(capUsd * NANO_PER_USD) },
      { calendar, now: now() },
    );
  }
  if (price) await setPrice(db, picoPrice('mock', 'test-model', price), now());
  if (options.budget) await budget(options.budget);

  const logged: Record<string, unknown>[] = [];
  const log = pino({ level: 'debug', base: null }, { write: (line) => void logged.push(JSON.parse(line)) });
  const daemon = await boot({
    paths,
    env,
    flags: { port: 0 },
    log,
    ...(clock ? { clock } : {}),
    ...(random ? { random } : {}),
  });
  const origin = `http://127.0.0.1:${daemon.port}`;
  const url = `${origin}/v1`;
  const withKey = (parts: RequestParts, body: unknown): RequestParts => ({
    ...parts,
    body,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...parts.headers },
  });
  const holds = () => Number(db.prepare('SELECT count(*) FROM holds').pluck().get());
  const records = async () => (await listRequests(db, { limit: 1_000_000 })).reverse();

  let stopping: Promise<void> | undefined;
  async function stop(): Promise<void> {
    await daemon.stop({ graceMs: 0 });
    const left = holds();
    db.close();
    lock?.release();
    if (!options.upstream) await upstream.close();
    const faults = logged.filter(({ level }) => Number(level) >= 50);
    if (faults.length > 0) throw new Error(`the daemon logged ${JSON.stringify(faults)}`);
    if (left > 0) throw new Error(`${left} holds were left open`);
  }
  const stopOnce = () => {
    stopping ??= stop();
    return stopping;
  };
  whenDone(stopOnce);

  return {
    setBudget: budget,
    url,
    origin,
    key,
    adminKey,
    project,
    upstream,
    paths,
    daemon,
    db,
    logged,
    post: (body, parts = {}) => request(`${url}/chat/completions`, withKey(parts, body)),
    async open(body, parts = {}) {
      const connection = await openConnection(url);
      await connection.send(requestBytes(`${url}/chat/completions`, withKey(parts, body)));
      return connection;
    },
    get: (path, headers = {}) =>
      request(origin, { method: 'GET', path, headers: { authorization: `Bearer ${key}`, ...headers } }),
    records,
    holds,
    async settled(requests) {
      await until(async () => holds() === 0 && (await records()).length >= requests);
      return records();
    },
    setPrice: (given) => setPrice(db, { provider: 'mock', ...given }, now()),
    newProject: (name) => createProject(db, { name, now: now() }),
    async newKey(projectName, admin = false) {
      const of = await getProject(db, projectName);
      return (await createKey(db, { projectId: of.id, admin, now: now() })).key;
    },
    configure,
    stop: stopOnce,
  };
}

/** Dollars per million tokens are pico-USD per token, times a million. */
export function picoPrice(
  provider: string,
  model: string,
  price: { input: number; output: number },
): StoredPrice {
  return {
    provider,
    model,
    inputPicoUsd: Math.round(price.input * 1e6),
    outputPicoUsd: Math.round(price.output * 1e6),
  };
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

/** Polls a condition where nothing else tells that it has come about. */
export async function until(condition: () => boolean | Promise<boolean>, deadlineMs = 10_000): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not within ${deadlineMs} ms: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
