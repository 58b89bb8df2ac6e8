import fc from 'fast-check';
import { expect, test } from 'vitest';
import { setBudget } from '../../../src/store/budgets/budgets.ts';
import type { Db } from '../../../src/store/database/open.ts';
import type { Ledger } from '../../../src/store/ledger/ledger.ts';
import type { FallenConversation } from '../../../src/store/ledger/standing.ts';
import { fallNow } from '../../../src/store/ledger/terms.ts';
import {
  addProjects,
  admissionOf,
  createWorld,
  eventsOf,
  memoryDatabase,
  PROPERTY_TIMEOUT_MS,
  recordOf,
  runs,
  startDaemon,
  type World,
} from '../../support/simulator.ts';
import { checkDatabase } from '../../support/simulator-check.ts';

const DEAR = { provider: 'a', model: 'dear' };
const CHEAP = { provider: 'b', model: 'cheap' };
const CAP = 100;
const SHARE = 80;
const DAY_MS = 86_400_000;

interface Step {
  kind: 'ask' | 'ask' | 'settle' | 'raise' | 'day';
  project: number;
  conversation: number;
  pick: number;
  amount: number;
  costPercent: number;
}

const steps = fc.array(
  fc.record<Step>({
    kind: fc.constantFrom('ask', 'ask', 'ask', 'ask', 'settle', 'settle', 'raise', 'day'),
    project: fc.constantFrom(1, 1, 1, 2),
    conversation: fc.nat({ max: 2 }),
    pick: fc.nat(),
    amount: fc.integer({ min: 10, max: 60 }),
    costPercent: fc.constantFrom(0, 40, 100),
  }),
  { minLength: 6, maxLength: 50 },
);

type Head = Parameters<Ledger['admit']>[0];
/** Something done to what a ledger is asked, which the property has to notice. */
type Change = (head: Head) => Partial<Head>;

/** In project 1, what the dear model costs in a day bends from a share on, and all of it once nothing is left. */
async function setAll(db: Db, world: World, modelCap: number): Promise<void> {
  const project = { id: 1, name: 'p1', plan: 'pro', createdAt: 0, pausedAt: null } as const;
  const context = { calendar: world.calendar, now: world.clock.now() };
  const bends = { period: 'daily', onLimit: 'fallback', fallback: 'b/cheap' } as const;
  const scope = { kind: 'model', value: 'a/dear' } as const;
  await setBudget(db, project, { ...bends, capNanoUsd: modelCap, scope, fallbackPercent: SHARE }, context);
  await setBudget(db, project, { ...bends, capNanoUsd: 2 * CAP }, context);
}

interface Played {
  id: number;
  projectId: number;
  model: string;
  cost: number;
  day: number;
  isOpen: boolean;
}

/** Plays steps, and compares what the budgets have counted and announced with what the requests have cost. */
async function play(drawn: readonly Step[], change: Change): Promise<void> {
  const db = await memoryDatabase();
  addProjects(db, 2);
  const world = createWorld();
  let modelCap = CAP;
  await setAll(db, world, modelCap);
  const { ledger, nextId } = startDaemon(db, world, 0);
  const played: Played[] = [];
  /** Where conversations have gone down, on which day, and at which cap of a budget that is raised. */
  const fallen = new Map<number, FallenConversation & { day: number; cap: number | undefined }>();
  /** The budgets' periods and caps in which requests have gone down. */
  const falls = new Set<string>();
  let day = 0;
  const admit = (head: Head) => {
    const result = ledger.admit({ ...head, ...change(head) });
    ledger.flush();
    return result;
  };
  const sumOf = (projectId: number, model?: string) =>
    played
      .filter(
        (each) => each.projectId === projectId && each.day === day && (model ?? each.model) === each.model,
      )
      .reduce((sum, { cost }) => sum + cost, 0);
  for (const { kind, project: projectId, conversation, pick, amount, costPercent } of drawn) {
    if (kind === 'day') {
      world.clock.set(world.clock.now() + DAY_MS);
      day++;
    } else if (kind === 'raise') {
      modelCap += 10;
      await setAll(db, world, modelCap);
    } else if (kind === 'settle') {
      const open = played.filter(({ isOpen }) => isOpen);
      const request = open[pick % Math.max(1, open.length)];
      if (!request) continue;
      request.isOpen = false;
      request.cost = Math.floor((request.cost * costPercent) / 100);
      const target = request.model === DEAR.model ? DEAR : CHEAP;
      const settled = ledger.settle(
        recordOf(request.id, { projectId: request.projectId, ...target, costNanoUsd: request.cost }),
      );
      ledger.flush();
      await settled;
    } else {
      const key = conversation + 10 * projectId;
      const before = fallen.get(key);
      const id = nextId();
      const first = await admit(admissionOf(id, amount, { projectId, ...DEAR, mayFallBack: { before } }));
      const start = { id, projectId, day, isOpen: true };
      const full = first.kind === 'fallback' ? first.standings[0] : undefined;
      const bendsAt = (modelCap * SHARE) / 100;
      const mustFall =
        projectId === 1 &&
        (sumOf(1, DEAR.model) + amount > bendsAt ||
          sumOf(1) + amount > 2 * CAP ||
          (before?.day === day && (before.cap ?? modelCap) === modelCap));
      expect(first.kind).toBe(mustFall ? 'fallback' : 'held');
      if (!full) {
        played.push({ ...start, model: DEAR.model, cost: amount });
        continue;
      }
      const cheap = Math.floor(amount / 10);
      const second = await admit(admissionOf(id, cheap, { projectId, ...CHEAP, fallenFrom: full.budget.id }));
      expect(second.kind).toBe(sumOf(1) + cheap <= 2 * CAP ? 'held' : 'elsewhere');
      if (second.kind !== 'held') continue;
      played.push({ ...start, model: CHEAP.model, cost: cheap });
      const { budget } = full;
      const cap = budget.scopeKind === 'model' ? modelCap : undefined;
      fallen.set(key, { budgetId: budget.id, ...fallNow(budget, world.clock.now()), day, cap });
      falls.add(`${budget.id} ${day} ${cap}`);
    }
    checkDatabase(db);
  }
  const counted = db
    .prepare<[], { scope: string; sum: number; cap: number }>(`
      SELECT b.scope_value AS scope, p.posted_nano_usd + p.pending_nano_usd AS sum, b.cap_nano_usd AS cap
      FROM budgets b JOIN budget_periods p ON p.budget_id = b.id AND p.start = b.current_start`)
    .all();
  day = new Date(world.clock.now()).getUTCDate() - new Date(createWorld().clock.now()).getUTCDate();
  const isCurrent = played.some((each) => each.projectId === 1 && each.day === day);
  for (const { scope, sum, cap } of isCurrent ? counted : []) {
    expect(sum).toBe(scope === '' ? sumOf(1) : sumOf(1, DEAR.model));
    expect(sum).toBeLessThanOrEqual(cap);
  }
  const said = eventsOf(db, 'budget.threshold_reached').filter(({ data }) => data.kind === 'fallback');
  expect(said).toHaveLength(falls.size);
  db.close();
}

const property = (change: Change = () => ({})) => fc.asyncProperty(steps, (drawn) => play(drawn, change));

test(
  'requests go down where a cap bends, count where they are served, and are announced once a period',
  async () => {
    await fc.assert(property(), runs(0.2));
  },
  PROPERTY_TIMEOUT_MS,
);

test.each<[string, Change]>([
  ['the cheaper model is counted as the dear one', ({ fallenFrom }) => (fallenFrom ? DEAR : {})],
  ['the dear model is counted as the cheaper one', ({ mayFallBack }) => (mayFallBack ? CHEAP : {})],
  ['a share is ignored', () => ({ mayFallBack: undefined })],
  [
    'a conversation goes up again',
    ({ mayFallBack }) => (mayFallBack ? { mayFallBack: { before: undefined } } : {}),
  ],
  ['nothing is announced', () => ({ fallenFrom: undefined })],
  ['the cheaper model counts in another project', ({ fallenFrom }) => (fallenFrom ? { projectId: 2 } : {})],
])('a ledger in which %s is found out', async (_name, change) => {
  await expect(fc.assert(property(change), { ...runs(0.8), endOnFailure: true })).rejects.toThrow();
});
