import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { createKey } from '../../src/store/accounts/keys.ts';
import type { Project } from '../../src/store/accounts/projects.ts';
import type { Scope } from '../../src/store/budgets/budgets.ts';
import type { LoggedRequest } from '../../src/store/requests/request-log.ts';
import { request } from '../support/client.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { createReceiver, type Receiver } from '../webhooks/support/receiver.ts';
import type { Session } from './agents.ts';
import { PROVIDERS, type Provider, startProvider } from './provider.ts';

/** Somebody of the team, with a key of a project. */
export interface Account {
  project: string;
  key: string;
  /** How gw shows the key. */
  hint: string;
  sessions: Session[];
  expiresAt: number;
}

/** A budget as the owner means it. */
export interface Cap {
  project: string;
  period: 'daily' | 'weekly' | 'monthly' | 'rolling';
  windowMs?: number;
  scope?: Scope;
  capNanoUsd: number;
}

/** A request that somebody sent, and what became of it. */
export interface Case {
  account: Account;
  step: number;
  at: number;
  /** gw's id, where the client has learnt it. */
  id: string | undefined;
  status: number;
  /** The answer came to its end. */
  complete: boolean;
}

export interface World {
  clock: VirtualClock;
  zone: string;
  provider: Provider;
  receiver: Receiver;
  /** One daemon, or two on one database. */
  gateways: TestGateway[];
  projects: Project[];
  accounts: Account[];
  caps: Cap[];
  cases: Map<number, Case>;
  /** The records, as they were read after the step that they are of. */
  records: Map<number, LoggedRequest>;
  step: number;
  /** What the step is. */
  kind: string;
  /** Numbers of the cases that ran when a daemon was killed. */
  killed: Set<number>;
  /** The homes are on a file system that a step can fill. */
  hasSmallDisk: boolean;
  /** Where the latest backup is, and when it was made. */
  backup: { path: string; at: number; cases: number } | undefined;
  /** When a backup was last restored; 0: never. */
  restoredAt: number;
  /** Starts a daemon on the database of the home, or on another's. */
  start(home: string, database?: string): Promise<TestGateway>;
  newHome(): string;
}

export const DAY = 86_400_000;
export const HOUR = 3_600_000;
export const MINUTE = 60_000;
export const KEPT_DAYS = 10;
/** What a daemon may log when its disk is full or another process has locked the database. */
const FAULTS = /background job failed|could not be|can't be|cannot be|disk|database|storage|settle|write/i;

export interface WorldOptions {
  zone: string;
  startMs: number;
  whenDone: (undo: () => unknown) => void;
  settings?: Record<string, unknown>;
  /** Mounts a small file system for the homes, where that is allowed. */
  smallDisk?: boolean;
}

export async function createMonth({
  zone,
  startMs,
  whenDone,
  settings,
  smallDisk = false,
}: WorldOptions): Promise<World> {
  const clock = createVirtualClock(startMs);
  const provider = await startProvider(whenDone);
  const receiver = await createReceiver(clock);
  const upstream = await startUpstream();
  for (const part of [provider, receiver, upstream]) whenDone(() => part.close());
  let homes = 0;
  const root = tmpHome(whenDone as (undo: () => Promise<void>) => void);
  const world: World = {
    clock,
    zone,
    provider,
    receiver,
    gateways: [],
    projects: [],
    accounts: [],
    caps: [],
    cases: new Map(),
    records: new Map(),
    step: 0,
    kind: '',
    killed: new Set(),
    hasSmallDisk: smallDisk && mount(root, whenDone),
    backup: undefined,
    restoredAt: 0,
    newHome() {
      const home = join(root, `home-${++homes}`);
      mkdirSync(home);
      return home;
    },
    start: (home, database) => start(world, { home, database, upstream, whenDone, settings }),
  };
  world.gateways = [await world.start(world.newHome())];
  await furnish(world);
  return world;
}

const DISK = 'size=96m';

/** Whether it could be done: root can. */
function mount(path: string, whenDone: WorldOptions['whenDone']): boolean {
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', DISK, 'tmpfs', path]).status !== 0) return false;
  whenDone(() => void spawnSync('umount', ['-l', path]));
  return true;
}

interface StartOptions {
  home: string;
  database: string | undefined;
  upstream: Upstream;
  whenDone: WorldOptions['whenDone'];
  settings: WorldOptions['settings'];
}

function start(
  world: World,
  { home, database, upstream, whenDone, settings }: StartOptions,
): Promise<TestGateway> {
  const { clock, zone, provider } = world;
  return startGateway({
    alone: true,
    home,
    clock,
    upstream,
    price: null,
    credentials: Object.fromEntries(PROVIDERS.map((name) => [name, `key-${name}`])),
    settings: {
      timezone: zone,
      providers: Object.fromEntries(PROVIDERS.map((name) => [name, { baseUrl: provider.urls[name] }])),
      aliases: { team: 'openai/m, mock/m', solo: 'mock/m' },
      attribution: 'off',
      'retention.requests': `${KEPT_DAYS}d`,
      'admission.max_wait_ms': 200,
      'upstream.first_byte_timeout_ms': 2_000,
      'upstream.idle_timeout_ms': 2_000,
      ...settings,
    } as object,
    mayLog: FAULTS,
    // Another daemon's, or those of a daemon that is killed; the rules of the ledger look for them.
    leavesHolds: true,
    whenDone,
    ...(database === undefined ? {} : { database }),
  });
}

/** Two projects with two keys each, a budget of every kind, and a webhook. */
async function furnish(world: World): Promise<void> {
  const [gateway] = world.gateways as [TestGateway];
  const second = await gateway.newProject('second');
  world.projects = [gateway.project, second];
  for (const project of world.projects)
    for (let i = 0; i < 2; i++) world.accounts.push(await openAccount(world, project));
  for (const provider of PROVIDERS) await setPrices(world, provider);
  const usd = 1e9;
  const [hint] = world.accounts.map((account) => account.hint);
  const budgets: Cap[] = [
    { project: 'default', period: 'daily', capNanoUsd: 0.25 * usd },
    { project: 'default', period: 'monthly', capNanoUsd: 4 * usd },
    { project: 'default', period: 'rolling', windowMs: 6 * HOUR, capNanoUsd: 0.15 * usd },
    {
      project: 'default',
      period: 'daily',
      scope: { kind: 'key', value: hint ?? '' },
      capNanoUsd: 0.12 * usd,
    },
    { project: 'second', period: 'weekly', capNanoUsd: 1 * usd },
    { project: 'second', period: 'daily', scope: { kind: 'each', value: 'session' }, capNanoUsd: 0.06 * usd },
    {
      project: 'second',
      period: 'monthly',
      scope: { kind: 'label:customer', value: 'acme' },
      capNanoUsd: 1.2 * usd,
    },
    {
      project: 'second',
      period: 'daily',
      scope: { kind: 'provider', value: 'anthropic' },
      capNanoUsd: 0.12 * usd,
    },
  ];
  for (const cap of budgets) await addCap(world, cap);
  const answer = await request(`${gateway.url}/webhooks`, {
    headers: { authorization: `Bearer ${gateway.adminKey}` },
    body: { url: `${world.receiver.url}/hook`, project_id: 'default' },
  });
  if (answer.status !== 201) throw new Error(`no webhook: ${answer.text()}`);
}

export async function addCap(world: World, cap: Cap): Promise<void> {
  const project = world.projects.find(({ name }) => name === cap.project);
  const { capNanoUsd, project: _name, ...terms } = cap;
  const [gateway] = world.gateways as [TestGateway];
  const keyed =
    cap.scope?.kind === 'key'
      ? { scope: { kind: 'key' as const, value: keyIdOf(world, cap.scope.value) } }
      : {};
  await gateway.setBudget({ ...terms, ...keyed, capUsd: capNanoUsd / 1e9 }, project);
  const known = world.caps.find(
    (other) => other.project === cap.project && other.period === cap.period && other.scope === cap.scope,
  );
  if (known) known.capNanoUsd = capNanoUsd;
  else world.caps.push(cap);
}

function keyIdOf({ gateways }: World, hint: string): string {
  return String(gateways[0]?.db.prepare('SELECT id FROM keys WHERE hint = ?').pluck().get(hint));
}

export async function openAccount(world: World, project: Project, expiresAt?: number): Promise<Account> {
  const [gateway] = world.gateways as [TestGateway];
  const now = world.clock.now();
  const { key } = await createKey(gateway.db, {
    projectId: project.id,
    now,
    ...(expiresAt ? { expiresAt } : {}),
  });
  const hint = key.slice(-4);
  const sessions = Array.from({ length: 2 }, (_, i) => ({ id: `first-${i}-${hint}`, turns: [] }));
  return { project: project.name, key, hint, sessions, expiresAt: expiresAt ?? Infinity };
}

export async function setPrices(
  { gateways, provider }: World,
  name: (typeof PROVIDERS)[number],
): Promise<void> {
  const { input, output } = provider.prices[name];
  await gateways[0]?.setPrice({
    provider: name,
    model: 'm',
    inputPicoUsd: input * 1_000,
    outputPicoUsd: output * 1_000,
  });
}

/** Waits for work of the daemons, moving the virtual clock on as slowly as the machine works. */
export async function pump<T>({ clock }: World, work: Promise<T>): Promise<T> {
  let isDone = false;
  const end = () => {
    isDone = true;
  };
  work.then(end, end);
  for (let i = 0; !isDone; i++) {
    if (i > 20_000) throw new Error('a step does not end');
    await wait(i < 10 ? 1 : 5);
    await clock.advance(10);
  }
  return work;
}

/** Waits until nothing is held. */
export async function comeToRest(world: World): Promise<void> {
  const [gateway] = world.gateways as [TestGateway];
  for (let i = 0; gateway.holds() > 0; i++) {
    if (i > 5_000) throw new Error(`${gateway.holds()} holds stay open`);
    await wait(2);
    await world.clock.advance(50);
  }
  await gateway.committed();
}

/** Copies what a kill would leave on disk at this moment. The log comes first: a checkpoint in between does no harm. */
export function copyHome(from: string, to: string): void {
  for (const name of ['gw.db-wal', 'gw.db'])
    if (existsSync(join(from, name))) copyFileSync(join(from, name), join(to, name));
}
