import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createCalendar } from '../../src/calendar.ts';
import { systemClock } from '../../src/clock.ts';
import { setBudget } from '../../src/store/budgets/budgets.ts';
import { deadDaemons, unregisterDaemon } from '../../src/store/database/daemons.ts';
import { type Db, openDatabase } from '../../src/store/database/open.ts';
import { createLedger } from '../../src/store/ledger/ledger.ts';
import { OUTCOMES } from '../../src/store/ledger/record.ts';
import { addProjects, fileDatabase } from '../support/simulator.ts';
import { checkFile } from '../support/simulator-check.ts';

const SCRIPT = fileURLToPath(new URL('../support/simulator-crash.mjs', import.meta.url));
const BUILT = fileURLToPath(new URL('../../dist/store/database/open.js', import.meta.url));
const KILLS = process.env.GW_LONG ? 1_000 : 6;
const CAPS = [1_500, 1_000_000];

interface Victim {
  name: string;
  child: ChildProcess;
  /** Ids that it said were held, and ids and costs that it said were settled. */
  held: Set<number>;
  settled: Map<number, number>;
  /** Ids whose client had its answer, settled or not. */
  answered: Set<number>;
  ended: Promise<void>;
}

function start(path: string, name: string): Victim {
  const child = spawn(process.execPath, [SCRIPT, path, name], { stdio: ['ignore', 'pipe', 'inherit'] });
  const victim: Victim = {
    name,
    child,
    held: new Set(),
    settled: new Map(),
    answered: new Set(),
    ended: new Promise((resolve) => child.once('close', () => resolve())),
  };
  let rest = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const [what, id, cost] = line.split(' ');
      if (what === 'held') victim.held.add(Number(id));
      if (what === 'answered') victim.answered.add(Number(id));
      if (what === 'settled') victim.settled.set(Number(id), Number(cost));
    }
  });
  return victim;
}

/** Lets a victim work for a random while and kills it. */
async function kill(victim: Victim): Promise<void> {
  while (victim.held.size === 0 && victim.child.exitCode === null) await pause(5);
  await pause(Math.random() * 120);
  victim.child.kill('SIGKILL');
  await victim.ended;
  expect(victim.child.signalCode, 'it ran until it was killed').toBe('SIGKILL');
}

function lost(db: Db, victim: Victim): string[] {
  const costs = new Map(
    db.prepare('SELECT id, cost_nano_usd FROM request_log').raw().all() as unknown as [number, number][],
  );
  const open = new Set(db.prepare('SELECT id FROM open_holds').pluck().all() as number[]);
  const settled = [...victim.settled].filter(([id, cost]) => costs.get(id) !== cost);
  const held = [...victim.held].filter((id) => !open.has(id) && !costs.has(id));
  return [...settled.map(([id]) => `settled ${id}`), ...held.map((id) => `held ${id}`)];
}

/** No cap is passed, and what is posted is what was recorded. */
function checkCaps(db: Db): void {
  const over = db
    .prepare(
      `SELECT * FROM budget_periods p JOIN budgets b ON b.id = p.budget_id
       WHERE p.posted_nano_usd + p.pending_nano_usd > b.cap_nano_usd`,
    )
    .all();
  expect(over).toEqual([]);
  const sums = db.prepare(
    `SELECT b.project_id, sum(p.posted_nano_usd) = (SELECT sum(cost_nano_usd) FROM request_log r WHERE r.project_id = b.project_id)
     FROM budget_periods p JOIN budgets b ON b.id = p.budget_id GROUP BY 1 ORDER BY 1`,
  );
  expect(sums.raw().all()).toEqual([
    [1, 1],
    [2, 1],
  ]);
}

test(
  `kill -9 loses nothing that was acknowledged, at ${KILLS} random points under load`,
  async () => {
    if (!existsSync(BUILT)) throw new Error('dist/ is missing. Run: npm run build');
    for (let kills = 0; kills < KILLS; kills += 2) await round(CAPS[(kills / 2) % 2] ?? 0);
    console.log(
      `${flagged} of ${answered} answers were booked in full after ${KILLS} kills; ${fallen} went to a cheaper model`,
    );
    // A few kills may come before a cap is half spent.
    if (KILLS >= 1_000) expect(fallen).toBeGreaterThan(0);
    // Each of its clients has one settlement under way at the most.
    expect(flagged).toBeLessThanOrEqual(20 * KILLS);
  },
  KILLS * 5_000,
);

let answered = 0;
let flagged = 0;
/** Requests that went to the cheaper model. */
let fallen = 0;

/** Counts the answers whose settlement the kill came before: they are booked in full and flagged. */
function countFlagged(db: Db, victim: Victim): void {
  const crashed = new Set(
    db.prepare(`SELECT id FROM request_log WHERE outcome = ${OUTCOMES.crashed}`).pluck().all() as number[],
  );
  answered += victim.answered.size;
  for (const id of victim.answered) if (crashed.has(id)) flagged++;
}

/** Two daemons on one database: one is killed while the other works, its holds are closed, then the other. */
async function round(cap: number): Promise<void> {
  const path = await fileDatabase();
  const db = await openDatabase(path);
  addProjects(db, 2);
  const calendar = createCalendar('UTC');
  for (const id of [1, 2]) {
    const project = { id, name: `p${id}`, plan: 'pro' as const, createdAt: 0, pausedAt: null };
    const bends = id === 1 ? { onLimit: 'fallback' as const, fallback: 'cheap', fallbackPercent: 50 } : {};
    const terms = { period: 'daily' as const, capNanoUsd: cap, ...bends };
    await setBudget(db, project, terms, { calendar, now: Date.now() });
  }
  const ledger = createLedger({ db, clock: systemClock, calendar: () => calendar, slot: 31 });
  const first = start(path, 'first');
  const second = start(path, 'second');
  for (const victim of [first, second]) {
    await kill(victim);
    expect(lost(db, victim)).toEqual([]);
    const dead = deadDaemons(db, { instanceId: 'test', lockPath: 'none' });
    expect(dead.map(({ instanceId }) => instanceId)).toEqual([victim.name]);
    for (const { slot, instanceId } of dead) {
      await ledger.closeHolds(slot, instanceId);
      unregisterDaemon(db, instanceId);
    }
    expect(lost(db, victim)).toEqual([]);
    countFlagged(db, victim);
    checkCaps(db);
  }
  expect(db.prepare('SELECT count(*) FROM open_holds').pluck().get()).toBe(0);
  const cheap = db.prepare(
    "SELECT project_id AS id, count(*) AS count FROM request_log r JOIN names m ON m.id = r.model_id WHERE m.name = 'cheap' GROUP BY 1",
  );
  fallen += (cheap.all() as { id: number; count: number }[]).reduce(
    (sum, { id, count }) => sum + (id === 1 ? count : Number.NaN),
    0,
  );
  checkFile(db);
  db.close();
}
