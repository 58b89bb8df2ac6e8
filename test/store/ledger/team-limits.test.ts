import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RequestId } from '../../../src/ids.ts';
import { createTeamLimits } from '../../../src/store/team/limits.ts';
import { addMembership } from '../../../src/store/team/membership.ts';
import { applyTeamBudgets } from '../../../src/store/team/team-budgets.ts';
import { MEMBERSHIP } from '../../support/membership.ts';
import { PROPERTY_TIMEOUT_MS, runs } from '../../support/simulator.ts';
import { openShop, type Shop } from '../../support/simulator-shop.ts';

const DAY_MS = 86_400_000;
const NOON = Date.UTC(2026, 4, 12, 12);
const TODAY = Date.UTC(2026, 4, 12);
const LOCAL_CAP = 600;
const CAP = 1_000;
/** By the team's id: of the whole team, and of project p1. */
const TEAM_BUDGETS = [
  { id: 11, project: '' },
  { id: 12, project: 'p1' },
] as const;

interface Account {
  limit: number;
  posted: number;
  pending: number;
}

type Step =
  | { kind: 'admit'; project: number; amount: number }
  | { kind: 'settle'; which: number; percent: number }
  /** What a message returns, and what the answer to it grants. */
  | { kind: 'sync'; budget: number; returned: number; granted: number; unspent: number }
  | { kind: 'tomorrow' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('admit' as const),
      project: fc.constantFrom(1, 2),
      amount: fc.integer({ min: 1, max: 200 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      which: fc.nat(),
      percent: fc.integer({ min: 0, max: 100 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('sync' as const),
      budget: fc.constantFrom(0, 1),
      returned: fc.integer({ min: 0, max: 300 }),
      granted: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 300 })),
      unspent: fc.integer({ min: 0, max: CAP }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'tomorrow' as const }) },
);

async function openMember(): Promise<Shop> {
  const shop = await openShop({ startMs: NOON });
  await shop.budget({ period: 'monthly', capNanoUsd: LOCAL_CAP });
  addMembership(shop.db, { ...MEMBERSHIP, joinedAt: NOON });
  const terms = {
    period: 'daily' as const,
    capNanoUsd: CAP,
    alertPercents: [80],
    start: TODAY,
    ends: TODAY + DAY_MS,
    allocatedNanoUsd: 0,
    spentNanoUsd: 0,
  };
  applyTeamBudgets(
    shop.db,
    TEAM_BUDGETS.map((budget) => ({ ...budget, ...terms })),
    { now: NOON, version: 1 },
  );
  return shop;
}

test('a ledger whose limits rise and sink admits what fits, and never passes one', {
  timeout: PROPERTY_TIMEOUT_MS,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const shop = await openMember();
      const limits = createTeamLimits(shop.db);
      const accounts = new Map<string, Account>();
      const local = { posted: 0, pending: 0 };
      const open: { id: RequestId; amount: number; charged: Account[]; project: number }[] = [];
      /** What was last heard: unspent less what was posted since. */
      const heard = new Map<number, { unspent: number; posted: number; day: number }>();
      let day = 0;
      const accountOf = (budgetId: number) => {
        const key = `${budgetId} ${TODAY + day * DAY_MS}`;
        const known = accounts.get(key) ?? { limit: 0, posted: 0, pending: 0 };
        accounts.set(key, known);
        return known;
      };
      for (const next of steps) {
        if (next.kind === 'tomorrow') {
          // The local budget's month does not end.
          if (day < 18) shop.clock.set(NOON + ++day * DAY_MS);
        } else if (next.kind === 'admit') {
          const { amount, project } = next;
          const counted = TEAM_BUDGETS.filter(({ id }) => id === 11 || project === 1);
          const charged = counted.map(({ id }) => accountOf(id));
          const fits =
            charged.every(({ limit, posted, pending }) => posted + pending + amount <= limit) &&
            (project === 2 || local.posted + local.pending + amount <= LOCAL_CAP);
          const { id, kind } = await shop.admit(amount, { projectId: project });
          expect([next, kind === 'held']).toEqual([next, fits]);
          if (kind === 'blocked') {
            const isLocal = project === 1 && amount > LOCAL_CAP - local.posted;
            const isTeam = counted.some(({ id }) => {
              const last = heard.get(id);
              return last?.day === day && amount > last.unspent - (accountOf(id).posted - last.posted);
            });
            expect(isLocal || isTeam).toBe(true);
          }
          if (!fits) continue;
          for (const account of charged) account.pending += amount;
          if (project === 1) local.pending += amount;
          open.push({ id, amount, charged, project });
        } else if (next.kind === 'settle') {
          const [hold] = open.splice(next.which % Math.max(1, open.length), 1);
          if (!hold) continue;
          const cost = Math.floor((hold.amount * next.percent) / 100);
          await shop.settle(hold.id, cost, { projectId: hold.project });
          for (const account of [...hold.charged, ...(hold.project === 1 ? [local] : [])]) {
            account.pending -= hold.amount;
            account.posted += cost;
          }
        } else {
          const budgetId = TEAM_BUDGETS[next.budget]?.id ?? 0;
          const account = accountOf(budgetId);
          const start = TODAY + day * DAY_MS;
          const { posted, pending } = account;
          // Down first, as the message declares it; up when the answer comes.
          account.limit = Math.max(posted + pending, account.limit - next.returned);
          const { ledger } = shop.daemon;
          await ledger.writeBudgets(() => limits.set([{ budgetId, start, limit: account.limit }]));
          account.limit += next.granted;
          await ledger.writeBudgets(() => {
            limits.set([{ budgetId, start, limit: account.limit, heard: { limit: account.limit, posted } }]);
            const standing = {
              budgetId,
              start,
              ends: start + DAY_MS,
              left: 0,
              unspent: next.unspent,
              posted,
            };
            limits.setStanding(
              { ...standing, reserve: 0, tight: false, starved: false, active: 1 },
              shop.clock.now(),
            );
          });
          heard.set(budgetId, { unspent: next.unspent, posted, day });
        }
        for (const { budgetId, start, limit, posted, pending } of limits.accounts()) {
          expect(posted + pending).toBeLessThanOrEqual(limit);
          const known = accounts.get(`${budgetId} ${start}`) ?? { limit: 0, posted: 0, pending: 0 };
          expect({ limit, posted, pending }).toEqual(known);
        }
      }
      shop.db.close();
    }),
    runs(0.08),
  );
});

test('a request waits for what it lacks if the team has just that left, and is cut if it has less', async () => {
  const shop = await openMember();
  const limits = createTeamLimits(shop.db);
  const hear = (left: number) =>
    shop.daemon.ledger.writeBudgets(() => {
      const period = { budgetId: 11, start: TODAY };
      limits.set([{ ...period, limit: 100, heard: { limit: 100, posted: 0 } }]);
      const standing = { ...period, ends: TODAY + DAY_MS, left, unspent: CAP, posted: 0 };
      limits.setStanding(
        { ...standing, reserve: 0, tight: false, starved: false, active: 1 },
        shop.clock.now(),
      );
    });
  const request = { projectId: 2, least: 1, fitInto: (room: number) => ({ amount: room }) };
  await hear(20);
  expect(await shop.admit(120, request)).toMatchObject({ kind: 'wait' });
  await hear(19);
  expect(await shop.admit(120, request)).toMatchObject({ kind: 'held', amount: 100 });
});
