import { describe, expect, test } from 'vitest';
import { FLAGS } from '../../../src/store/ledger/record.ts';
import { getRequest } from '../../../src/store/requests/request-log.ts';
import { readDocument } from '../../support/console-blocks.ts';
import { admissionOf, eventsOf, NOON, recordOf, startDaemon } from '../../support/simulator.ts';
import { checkDatabase } from '../../support/simulator-check.ts';
import { openShop, type Shop } from '../../support/simulator-shop.ts';

const DAY_MS = 86_400_000;

describe('admit()', () => {
  test('holds the worst case and says what the tightest budget has left', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await shop.budget({ period: 'monthly', capNanoUsd: 70 });
    expect(await shop.admit(30)).toMatchObject({ kind: 'held', amount: 30, remaining: 40 });
    expect((await shop.standings()).map(({ pending }) => pending)).toEqual([30, 30]);
  });

  test('admits exactly what fits of a thousand at once', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 5_000 });
    const asked = Array.from({ length: 1_000 }, () => shop.admit(100));
    const results = await Promise.all(asked);
    expect(results.filter(({ kind }) => kind === 'held')).toHaveLength(50);
    expect(results.filter(({ kind }) => kind === 'wait')).toHaveLength(950);
    for (const { kind, id } of results) if (kind === 'held') await shop.settle(id, 100);
    const later = await Promise.all(Array.from({ length: 950 }, () => shop.admit(100)));
    expect(later.every(({ kind }) => kind === 'blocked')).toBe(true);
    expect((await shop.standings())[0]).toMatchObject({ posted: 5_000, pending: 0 });
    expect(eventsOf(shop.db, 'budget.exceeded')).toHaveLength(1);
    expect(eventsOf(shop.db, 'request.blocked')).toHaveLength(101);
    checkDatabase(shop.db);
  });

  test('holds in all budgets or in none', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await shop.budget({ period: 'monthly', capNanoUsd: 20 });
    expect(await shop.admit(30)).toMatchObject({ kind: 'blocked' });
    expect((await shop.standings()).map(({ pending }) => pending)).toEqual([0, 0]);
  });

  test('waits when running requests hold the room, and is blocked when nothing can free it', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    const running = await shop.admit(80);
    expect(await shop.admit(30)).toMatchObject({ kind: 'wait' });
    await shop.settle(running.id, 80);
    const blocked = await shop.admit(30);
    expect(blocked).toMatchObject({ kind: 'blocked', standing: { posted: 80 } });
    expect(eventsOf(shop.db, 'request.blocked')[0]?.data).toMatchObject({
      budget_id: 'p1/daily',
      model: 'gpt-5-mini',
      estimated_cost_usd: 3e-8,
      remaining_usd: 2e-8,
    });
    expect((await getRequest(shop.db, blocked.id))?.outcome).toBe('blocked');
  });

  test('waits for the whole of what is unspent, and is blocked for a nano-dollar more', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await shop.spend(10);
    await shop.admit(80);
    expect(await shop.admit(90)).toMatchObject({ kind: 'wait' });
    expect(await shop.admit(91)).toMatchObject({ kind: 'blocked' });
  });

  test('does not let a small request pass one of the same turn that waits', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await shop.admit(80);
    const turn = await Promise.all([shop.admit(30), shop.admit(5)]);
    expect(turn.map(({ kind }) => kind)).toEqual(['wait', 'wait']);
    expect(await shop.admit(5)).toMatchObject({ kind: 'held' });
  });

  test('leaves no trace of a first look that is tight', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 10 });
    expect(await shop.admit(30, { isFinal: false })).toMatchObject({ kind: 'needs_count' });
    expect(shop.news()).toEqual([]);
    expect(shop.db.prepare('SELECT count(*) FROM request_log').pluck().get()).toBe(0);
  });

  test('one request that is too large does not exceed a budget that can pay for others', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    expect(await shop.admit(1_000, { small: 5 })).toMatchObject({ kind: 'blocked' });
    expect(shop.news()).toEqual(['request.blocked']);
    const { id } = await shop.admit(96);
    await shop.settle(id, 96);
    expect(shop.news()).toEqual(['budget.threshold_reached']);
    await shop.admit(1_000, { small: 5 });
    await shop.admit(1_000, { small: 5 });
    expect(shop.news()).toEqual(['budget.exceeded', 'request.blocked', 'request.blocked']);
  });

  test('a model that is dear beside the cap does not exceed it, and the end of the money still does', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    // A price of seven caps a request, and one of most of a cap, before and after the alert.
    for (const small of [700, 60]) await shop.admit(700, { small });
    const { id } = await shop.admit(50);
    await shop.settle(id, 50);
    for (const small of [700, 60]) await shop.admit(700, { small });
    expect(shop.news()).toEqual(Array(4).fill('request.blocked'));
    const { id: next } = await shop.admit(48);
    await shop.settle(next, 48);
    await shop.admit(700, { small: 700 });
    expect(shop.news()).toEqual(['budget.threshold_reached', 'request.blocked']);
    await shop.admit(700, { small: 5 });
    expect(shop.news()).toEqual(['budget.exceeded', 'request.blocked']);
  });

  test('a budget whose only alert is its end is exceeded once most of it is spent, like others', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100, alertPercents: [100] });
    await shop.spend(79);
    await shop.admit(700, { small: 30 });
    expect(shop.news()).toEqual(['request.blocked']);
    await shop.spend(1);
    await shop.admit(700, { small: 30 });
    expect(shop.news()).toEqual(['budget.exceeded', 'request.blocked']);
  });

  test('cuts a request to what the budget affords when it may be cut', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 10 });
    const fitInto = (room: number) => (room >= 4 ? { amount: room - 1, outputTokens: 7 } : undefined);
    expect(await shop.admit(30, { least: 4, fitInto })).toMatchObject({
      kind: 'held',
      amount: 9,
      remaining: 1,
      fit: { amount: 9, outputTokens: 7 },
    });
  });

  /** Asks for 30, or for as little as 20 where the shortest answers are asked for. */
  async function askShorter(shop: Shop) {
    const id = shop.daemon.nextId();
    const from = (least: number) => (room: number) => (room >= least ? { amount: room } : undefined);
    const short = admissionOf(id, 30, { small: 5, least: 20, fitInto: from(20) });
    const admission = admissionOf(id, 30, { small: 5, fitInto: from(30), shorter: () => short.offer });
    const { offer = admission.offer, ...result } = await shop.daemon.ledger.admit(admission);
    return { ...result, id, least: offer.least };
  }

  test('cuts a request shorter where it would be refused before the first alert, and not after it', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await shop.spend(75);
    const cut = await askShorter(shop);
    expect(cut).toMatchObject({ kind: 'held', amount: 25 });
    await shop.settle(cut.id, 5);
    expect(await askShorter(shop)).toMatchObject({ kind: 'blocked', least: 30 });
    checkDatabase(shop.db);
  });

  test('refuses a request before the first alert that no shorter answer lets fit', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 19 });
    expect(await askShorter(shop)).toMatchObject({ kind: 'blocked', least: 20 });
    expect(shop.news()).toEqual(['request.blocked']);
  });

  test('lets a model that costs nothing pass an exhausted budget', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 0 });
    expect(await shop.admit(0)).toMatchObject({ kind: 'held', amount: 0, remaining: 0 });
    expect(await shop.admit(1)).toMatchObject({ kind: 'blocked' });
  });

  test('books what a request cost that was thought free, and flags it', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    const { id } = await shop.admit(0);
    await shop.settle(id, 7);
    expect((await shop.standings())[0]?.posted).toBe(7);
    expect((await getRequest(shop.db, id))?.flags).toEqual(['overrun']);
  });
});

describe('settle()', () => {
  test('books the actual cost and frees the rest of the hold', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    const { id } = await shop.admit(80);
    expect(await shop.settle(id, 15)).toEqual({ kind: 'settled', remaining: 85 });
    expect((await shop.standings())[0]).toMatchObject({ posted: 15, pending: 0 });
  });

  test('releases a hold whose request cost nothing', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    const { id } = await shop.admit(80);
    await shop.settle(id, 0, { outcome: 'upstream_failed', status: 502 });
    expect((await shop.standings())[0]).toMatchObject({ posted: 0, pending: 0 });
  });

  test('does nothing the second time, in the same turn or later', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    const { id } = await shop.admit(80);
    const [first, second] = await Promise.all([shop.settle(id, 10), shop.settle(id, 70)]);
    expect([first.kind, second.kind]).toEqual(['settled', 'resolved_before']);
    expect(await shop.settle(id, 70)).toEqual({ kind: 'resolved_before' });
    expect((await shop.standings())[0]?.posted).toBe(10);
  });

  test('charges the period in which the hold was taken', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    const { id } = await shop.admit(80);
    shop.clock.set(NOON + DAY_MS);
    await shop.settle(id, 60);
    expect((await shop.standings())[0]).toMatchObject({ posted: 0, pending: 0 });
    const yesterday = shop.db.prepare('SELECT posted_nano_usd FROM budget_periods ORDER BY start LIMIT 1');
    expect(yesterday.pluck().get()).toBe(60);
  });

  test('flags a cost beyond the hold and refuses the next request', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    const { id } = await shop.admit(90);
    await shop.settle(id, 120, { flags: FLAGS.estimated });
    expect((await getRequest(shop.db, id))?.flags).toEqual(['estimated', 'overrun']);
    expect(await shop.admit(1)).toMatchObject({ kind: 'blocked' });
  });
});

describe('events', () => {
  test('tell of the threshold once, in the transaction that crosses it', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 99, alertPercent: 80 });
    await shop.spend(79);
    expect(shop.news()).toEqual([]);
    await shop.spend(1);
    expect(shop.news()).toEqual(['budget.threshold_reached']);
    await shop.spend(1);
    expect(shop.news()).toEqual([]);
  });

  test('tell that the cap is reached by spend, once', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await shop.spend(100);
    expect(shop.news()).toEqual(['budget.threshold_reached', 'budget.exceeded']);
    await shop.admit(1);
    expect(shop.news()).toEqual(['request.blocked']);
  });

  test('tell that the cap is used up by the first refusal, once', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await shop.spend(90);
    await shop.admit(20);
    await shop.admit(20);
    expect(shop.news()).toEqual([
      'budget.threshold_reached',
      'budget.exceeded',
      'request.blocked',
      'request.blocked',
    ]);
    await shop.spend(10);
    expect(shop.news()).toEqual([]);
  });

  test('are not written for a budget that was removed, though its holds settle', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    const { id } = await shop.admit(100);
    await shop.removeBudget('daily');
    await shop.settle(id, 100);
    expect(shop.news()).toEqual([]);
  });

  test('are not written for a period that is over, though its holds settle', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    const { id } = await shop.admit(100);
    shop.clock.set(NOON + DAY_MS);
    await shop.settle(id, 100);
    expect(shop.news()).toEqual(['budget.reset']);
  });

  test('have the fields that docs/webhooks.md shows', async () => {
    const blocks = readDocument('docs/webhooks.md').matchAll(/```json\n(.*?)```/gs);
    const shown = new Map<string, string[]>();
    for (const [, block = ''] of blocks) {
      const { type, data } = JSON.parse(block) as { type: string; data: object };
      // A delivery adds the summary of all refused requests.
      const summary = type === 'request.blocked' ? ['count', 'first_at', 'last_at'] : [];
      shown.set(
        type,
        Object.keys(data).filter((key) => !summary.includes(key)),
      );
    }
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await shop.spend(100);
    await shop.admit(100);
    shop.clock.set(NOON + DAY_MS);
    await shop.daemon.ledger.roll();
    const fieldsOf = (type: string) => Object.keys(eventsOf(shop.db, type)[0]?.data ?? {});
    expect(fieldsOf('budget.threshold_reached')).toEqual(shown.get('budget.exceeded'));
    for (const type of ['budget.exceeded', 'budget.reset', 'request.blocked'])
      expect(fieldsOf(type)).toEqual(shown.get(type));
  });

  test('are lost with the transaction of their cause', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    const { id } = await shop.admit(100);
    const settled = shop.settle(id, 100);
    const failing = shop.daemon.ledger.write(() => {
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    await settled;
    expect(shop.news()).toEqual(['budget.threshold_reached', 'budget.exceeded']);
  });
});

describe('periods', () => {
  test('end with one reset event', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await shop.spend(70);
    shop.clock.set(NOON + DAY_MS);
    await Promise.all([shop.daemon.ledger.roll(), shop.daemon.ledger.roll(), shop.admit(80)]);
    expect(eventsOf(shop.db, 'budget.reset').map(({ data }) => data)).toEqual([
      {
        budget_id: 'p1/daily',
        period: 'daily',
        period_start: '2026-05-13T00:00:00.000Z',
        resets_at: '2026-05-14T00:00:00.000Z',
        skipped: 0,
        spent_usd: 7e-8,
        cap_usd: 1e-7,
      },
    ]);
  });

  test('that passed while the daemon was off are told as one, with their number', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await shop.budget({ period: 'monthly', capNanoUsd: 100 });
    shop.clock.set(NOON + 40 * DAY_MS);
    await shop.daemon.ledger.roll();
    expect(eventsOf(shop.db, 'budget.reset').map(({ data }) => [data.period, data.skipped])).toEqual([
      ['daily', 39],
      ['monthly', 0],
    ]);
  });

  test('that began in the future are closed when the clock moves back, and the right one is charged', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    shop.clock.set(NOON + DAY_MS);
    await shop.spend(60);
    shop.clock.set(NOON);
    expect(await shop.admit(60)).toMatchObject({ kind: 'blocked', standing: { posted: 60 } });
    shop.clock.set(NOON + DAY_MS);
    expect((await shop.standings())[0]?.posted).toBe(0);
    expect(eventsOf(shop.db, 'budget.reset')).toHaveLength(2);
  });
});

describe('closeHolds()', () => {
  test('books the holds of a dead daemon at what they held, flagged, and those alone', async () => {
    const shop = await openShop();
    const other = startDaemon(shop.db, shop, 1);
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    const dead = await shop.admit(40, { stream: true });
    const alive = other.nextId();
    await other.ledger.admit(admissionOf(alive, 30));
    expect(await other.ledger.closeHolds(0)).toBe(1);
    expect(await other.ledger.closeHolds(0)).toBe(0);
    expect((await shop.standings())[0]).toMatchObject({ posted: 40, pending: 30 });
    expect(await getRequest(shop.db, dead.id)).toMatchObject({
      outcome: 'crashed',
      flags: ['stream', 'estimated'],
      costNanoUsd: 40,
      model: 'gpt-5-mini',
    });
    expect(await shop.settle(dead.id, 5)).toEqual({ kind: 'resolved_before' });
  });
});

describe('a request that a subscription covers', () => {
  test('passes a spent budget, is charged to none, and costs nothing after a crash', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await shop.spend(100);
    const settled = await shop.admit(40, { notBilled: true });
    const dead = await shop.admit(40, { notBilled: true });
    expect(settled).toMatchObject({ kind: 'held', amount: 0, remaining: null });
    // Set while they run.
    await shop.budget({ period: 'monthly', capNanoUsd: 100 });
    await shop.settle(settled.id, 70, { flags: FLAGS.not_billed });
    expect(await shop.daemon.ledger.closeHolds(0)).toBe(1);
    expect((await shop.standings()).map(({ posted, pending }) => [posted, pending])).toEqual([
      [100, 0],
      [100, 0],
    ]);
    expect(await getRequest(shop.db, dead.id)).toMatchObject({
      outcome: 'crashed',
      flags: ['estimated', 'not_billed'],
      costNanoUsd: 0,
    });
  });
});

describe('closeHolds() of a slot that was found dead', () => {
  test('spares the holds of a daemon that has taken the slot since', async () => {
    const shop = await openShop();
    const { ledger } = shop.daemon;
    await shop.admit(40);
    shop.db.prepare("INSERT INTO daemons VALUES (0, 'owner', 1, '/nowhere', 0)").run();
    expect(await ledger.closeHolds(0, 'dead')).toBe(0);
    expect(await ledger.closeHolds(0, 'owner')).toBe(1);
  });

  test('closes those of a slot that has no daemon any more', async () => {
    const shop = await openShop();
    await shop.admit(40);
    expect(await shop.daemon.ledger.closeHolds(0, 'dead')).toBe(1);
  });
});

describe('record()', () => {
  test('writes a request that held nothing, which no budget counts', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    const id = shop.daemon.nextId();
    await shop.daemon.ledger.record(
      recordOf(id, { outcome: 'refused', status: 503, detail: { why: 'test' } }),
    );
    expect(await getRequest(shop.db, id)).toMatchObject({ outcome: 'refused', detail: { why: 'test' } });
    expect((await shop.standings())[0]?.posted).toBe(0);
  });

  test('refuses the same id twice without harm to others of the turn', async () => {
    const shop = await openShop();
    const [id, other] = [shop.daemon.nextId(), shop.daemon.nextId()];
    const { ledger } = shop.daemon;
    await ledger.record(recordOf(id));
    const turn = await Promise.allSettled([ledger.record(recordOf(id)), ledger.record(recordOf(other))]);
    expect(turn.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    checkDatabase(shop.db);
  });
});
