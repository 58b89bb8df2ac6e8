import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { resolvePaths } from '../../src/paths.ts';
import { commandLineOf } from '../cli/cli-home.ts';
import type { Dice } from '../fuzz/dice.ts';
import { openConnection, requestBytes } from '../support/client.ts';
import type { TestGateway } from '../support/gateway.ts';
import { nextRequest } from './agents.ts';
import { CASE_HEADER, type Manner, PROVIDERS } from './provider.ts';
import {
  type Account,
  addCap,
  comeToRest,
  copyHome,
  DAY,
  HOUR,
  MINUTE,
  openAccount,
  pump,
  setPrices,
  type World,
} from './world.ts';

/** What happens in a step, with how often it does. */
interface Step {
  weight: number;
  run(world: World, dice: Dice): Promise<void>;
}

const first = ({ gateways }: World): TestGateway => gateways[0] as TestGateway;

/** A few people send requests at the same time. */
async function work(world: World, dice: Dice, whileRunning?: () => Promise<void>): Promise<void> {
  const from = world.cases.size;
  const running = Array.from({ length: 1 + dice.below(6) }, (_, i) => play(world, dice, from + i));
  await pump(world, Promise.all([...running, whileRunning?.()]));
}

const MANNERS: readonly Manner[] = ['breaks off', 'resets', 'deaf', 500, 503, 429];

async function play(world: World, dice: Dice, number: number): Promise<void> {
  // Most people have heard that their key has expired.
  const isValid = ({ expiresAt }: Account) => expiresAt > world.clock.now();
  const account = dice.pick(dice.chance(0.95) ? world.accounts.filter(isValid) : world.accounts);
  const gateway = dice.pick(world.gateways);
  const manner = dice.chance(0.85) ? 'answers' : dice.pick(MANNERS);
  world.provider.manners.set(number, { manner, output: 1 + dice.below(1_800) });
  const { path, headers, body } = nextRequest(dice, account.sessions);
  const hangsUp = manner === 'deaf' || dice.chance(0.05);
  const patienceMs = dice.below(30);
  const one = { account, step: world.step, at: world.clock.now(), id: undefined, status: 0, complete: false };
  world.cases.set(number, one);
  const parts = {
    path,
    body,
    headers: { ...headers, authorization: `Bearer ${account.key}`, [CASE_HEADER]: String(number) },
  };
  try {
    const connection = await openConnection(gateway.origin);
    await connection.send(requestBytes(gateway.origin, parts));
    if (hangsUp) {
      await wait(patienceMs);
      connection.hangUp();
      return;
    }
    const response = await connection.response();
    connection.hangUp();
    const { status, complete } = response;
    Object.assign(one, { status, complete, id: response.header('x-service-request-id') });
  } catch {
    // The daemon was killed, or breaks off with its provider.
  }
}

/** Everything of a machine stands still but the wall clock, and its connections are gone. */
async function sleep(world: World, dice: Dice): Promise<void> {
  world.provider.dropConnections();
  world.clock.setWallTime(world.clock.now() + HOUR + dice.below(10 * HOUR));
  if (dice.chance(0.5)) await world.clock.advance(10_000);
  await work(world, dice);
}

async function restart(world: World): Promise<void> {
  const homes = await stopAll(world);
  world.gateways = [await world.start(homes[0] ?? world.newHome())];
}

async function stopAll(world: World): Promise<string[]> {
  const homes = world.gateways.map(({ paths }) => paths.home);
  for (const gateway of world.gateways.toReversed()) await pump(world, gateway.stop());
  return homes;
}

/** Requests run; the database is what it is at that moment, and the daemons are gone. */
async function kill(world: World, dice: Dice): Promise<void> {
  const to = world.newHome();
  const from = first(world).paths.home;
  const before = world.cases.size;
  const momentMs = dice.below(12);
  await work(world, dice, async () => {
    await wait(momentMs);
    copyHome(from, to);
    // What the old daemon still sends never happens.
    world.provider.isDeaf = true;
    for (let number = before; number < world.cases.size; number++) world.killed.add(number);
    await stopAll(world);
  });
  world.provider.isDeaf = false;
  rmSync(from, { recursive: true, force: true });
  world.gateways = [await world.start(to)];
}

/** A second daemon on the same database comes or goes. */
async function share(world: World): Promise<void> {
  const [one, other] = world.gateways;
  if (other) {
    await pump(world, other.stop());
    world.gateways.pop();
  } else if (one) world.gateways.push(await world.start(world.newHome(), one.paths.database));
}

async function backUp(world: World): Promise<void> {
  const path = join(world.newHome(), 'backup.db');
  await first(world).db.backup(path);
  // The disk is small, and only the last one is ever restored.
  if (world.backup) rmSync(world.backup.path);
  world.backup = { path, at: world.clock.now(), cases: world.cases.size };
}

/** The database of some days ago takes the place of the present one. What was spent since is not in it. */
async function restore(world: World): Promise<void> {
  const { backup } = world;
  if (!backup || world.clock.now() - backup.at > 3 * DAY) return;
  const [to = ''] = await stopAll(world);
  const home = { paths: resolvePaths({ GW_HOME: to }), daemon: { port: 0 }, adminKey: '', origin: '' };
  const cli = commandLineOf(home as Parameters<typeof commandLineOf>[0], 'locally', world.clock);
  const { code, stderr } = await cli.run(['restore', backup.path, '--yes']);
  if (code !== 0) throw new Error(`no restore: ${stderr}`);
  rmSync(backup.path);
  world.backup = undefined;
  world.restoredAt = world.clock.now();
  for (const number of world.cases.keys()) if (number >= backup.cases) world.cases.delete(number);
  world.provider.bills = world.provider.bills.filter((bill) => bill.case < backup.cases);
  for (const [id, { timeMs }] of world.records) if (timeMs >= backup.at) world.records.delete(id);
  world.gateways = [await world.start(to)];
  for (const name of PROVIDERS) await setPrices(world, name);
}

/** The disk is full while people work; then somebody makes room. Elsewhere than on a small file system, a lock does it. */
async function fillDisk(world: World, dice: Dice): Promise<void> {
  if (!world.hasSmallDisk) return lock(world, dice);
  const filler = join(first(world).paths.home, 'filler');
  const { bavail, bsize } = statfsSync(first(world).paths.home);
  writeFileSync(filler, Buffer.alloc(bavail * bsize));
  const makeRoom = async () => {
    await wait(30);
    await world.clock.advance(30_000);
    rmSync(filler);
  };
  await work(world, dice, makeRoom);
  await world.clock.advance(2 * MINUTE);
}

/** Another process has the database for longer than gw waits. */
async function lock(world: World, dice: Dice): Promise<void> {
  const { db } = first(world);
  db.exec('BEGIN IMMEDIATE');
  const unlock = async () => {
    await wait(20);
    await world.clock.advance(30_000);
    db.exec('ROLLBACK');
  };
  await work(world, dice, unlock);
}

/** A reader that doesn't end keeps the write-ahead log from being checkpointed. */
async function pinLog(world: World, dice: Dice): Promise<void> {
  const { db } = first(world);
  db.exec('BEGIN');
  db.prepare('SELECT count(*) FROM journal').get();
  for (let i = 0; i < 3; i++) {
    await work(world, dice);
    await world.clock.advance(5 * MINUTE);
  }
  db.exec('COMMIT');
}

/** The clock is set back, as by NTP, and forward again; not across midnight, which tests of their own do. */
async function setBack(world: World, dice: Dice): Promise<void> {
  const ms = MINUTE + dice.below(50 * MINUTE);
  const hour = Number(
    new Intl.DateTimeFormat('en-GB', { hour: '2-digit', timeZone: world.zone }).format(world.clock.now()),
  );
  if (hour < 5 || hour > 20) return;
  world.clock.setWallTime(world.clock.now() - ms);
  await world.clock.advance(6_000);
  await work(world, dice);
  world.clock.setWallTime(world.clock.now() + ms);
  await world.clock.advance(6_000);
}

const STEPS: Record<string, Step> = {
  work: { weight: 60, run: (world, dice) => work(world, dice) },
  idle: { weight: 6, run: ({ clock }, dice) => clock.advance(10 * MINUTE + dice.below(2 * HOUR)) },
  sleep: { weight: 8, run: sleep },
  outage: {
    weight: 4,
    async run({ provider }, dice) {
      const isOver = Object.keys(provider.outages).length > 0;
      provider.outages = isOver ? {} : { [dice.pick(PROVIDERS)]: dice.pick([500, 503, 429, 'resets']) };
    },
  },
  'new price': {
    weight: 2,
    async run(world, dice) {
      const name = dice.pick(PROVIDERS);
      world.provider.prices[name] = { input: 200 + dice.below(3_000), output: 1_000 + dice.below(12_000) };
      await setPrices(world, name);
    },
  },
  'raised cap': {
    weight: 2,
    async run(world, dice) {
      const cap = dice.pick(world.caps);
      await addCap(world, { ...cap, capNanoUsd: Math.round(cap.capNanoUsd * (1.1 + 0.4 * dice.below(2))) });
    },
  },
  'new key': {
    weight: 2,
    async run(world, dice) {
      const now = world.clock.now();
      const account = await openAccount(world, dice.pick(world.projects), now + HOUR + dice.below(4 * DAY));
      if (world.accounts.length < 10) world.accounts.push(account);
      else world.accounts[4 + dice.below(6)] = account;
    },
  },
  restart: { weight: 3, run: restart },
  kill: { weight: 3, run: kill },
  'second daemon': { weight: 3, run: share },
  backup: { weight: 2, run: backUp },
  restore: { weight: 1, run: restore },
  'full disk': { weight: 2, run: fillDisk },
  'locked database': { weight: 1, run: lock },
  'pinned log': { weight: 2, run: pinLog },
  'clock set back': { weight: 1, run: setBack },
};

/** The name of each step as often as it weighs. */
const NAMES = Object.entries(STEPS).flatMap(([name, { weight }]) => Array<string>(weight).fill(name));

/** Plays one step: what it is follows from the dice alone. */
export async function playStep(world: World, dice: Dice): Promise<void> {
  world.step++;
  const name = dice.pick(NAMES);
  const step = STEPS[name];
  if (!step) throw new Error(`there is no step ${name}`);
  world.kind = name;
  await step.run(world, dice);
  await comeToRest(world);
  await world.clock.advance(dice.below(8 * MINUTE));
}
