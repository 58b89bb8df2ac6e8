import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createCalendar } from '../../src/calendar.ts';
import { createRequestIds } from '../../src/ids.ts';
import { NANO_PER_USD } from '../../src/money.ts';
import { setBudget } from '../../src/store/budgets/budgets.ts';
import { createLedger, type Ledger } from '../../src/store/ledger/ledger.ts';
import type { RequestRecord } from '../../src/store/ledger/record.ts';
import { NO_USAGE } from '../../src/usage.ts';
import { createReceiver, type Receiver } from './support/receiver.ts';
import { createWorld, type World } from './support/world.ts';

const COST = NANO_PER_USD / 10;
const { webhooks } = new Stripe('sk_test_none');

let world: World;
let receiver: Receiver;
let ledger: Ledger;
let newRequestId: () => number;

beforeEach(async () => {
  world = await createWorld();
  receiver = await createReceiver(world.clock);
  const { db, clock, project } = world;
  const calendar = createCalendar('UTC');
  ledger = createLedger({ db, clock, calendar: () => calendar, slot: 0 });
  newRequestId = createRequestIds(0, clock.now);
  const cap = { period: 'daily', capNanoUsd: NANO_PER_USD, alertPercent: 80 } as const;
  await setBudget(db, project, cap, { calendar, now: clock.now() });
  vi.useFakeTimers({ toFake: ['Date'] });
});
afterEach(async () => {
  vi.useRealTimers();
  await receiver.close();
  await world.close();
});

/** One request of ten cents; how the firewall took it. */
async function request(): Promise<string> {
  const record: RequestRecord = {
    id: newRequestId(),
    projectId: world.project.id,
    keyId: 1,
    endpoint: 'chat/completions',
    provider: 'openai',
    model: 'gpt-4.1-mini',
    askedModel: 'gpt-4.1-mini',
    status: 200,
    outcome: 'ok',
    flags: 0,
    usage: NO_USAGE,
    costNanoUsd: COST,
    savedTokens: 0,
    savedNanoUsd: 0,
    durationMs: 5,
    firstByteMs: 1,
  };
  const blockedRecord = (): RequestRecord => ({ ...record, status: 402, outcome: 'blocked', costNanoUsd: 0 });
  const offer = { amount: COST, least: COST, blockedRecord };
  const head = { ...record, stream: false, isFinal: true, offer };
  const { kind } = await ledger.admit(head);
  if (kind === 'held') await ledger.settle(record);
  world.dispatcher.wake();
  return kind;
}

describe('a budget of $1 with its alert at 80 %', () => {
  it('tells of the threshold, the cap, the blocked request and the reset, in order and verifiably', async () => {
    const endpoint = await world.endpoints.get(await world.addEndpoint(`${receiver.url}/hook`));
    const secret = endpoint?.secret ?? '';
    world.dispatcher.start();
    const outcomes: string[] = [];
    while (outcomes.at(-1) !== 'blocked') outcomes.push(await request());
    expect(outcomes).toEqual([...Array.from({ length: 10 }, () => 'held'), 'blocked']);
    await world.quiet();
    world.clock.advance(86_400_000);
    await ledger.roll();
    await world.drain();

    const events = receiver.received.map(({ at, headers, body }) => {
      vi.setSystemTime(at);
      const text = body.toString();
      const signature = String(headers['x-service-signature']);
      const event = new Webhook(secret).verify(text, headers as Record<string, string>);
      expect(webhooks.constructEvent(text, signature, secret)).toEqual(event);
      return event as { id: string; type: string; data: Record<string, unknown> };
    });
    expect(events).toMatchObject([
      { type: 'budget.threshold_reached', data: { budget_id: 'web/daily', spent_usd: 0.8, cap_usd: 1 } },
      { type: 'budget.exceeded', data: { spent_usd: 1, resets_at: '2026-05-13T00:00:00.000Z' } },
      { type: 'request.blocked', data: { model: 'gpt-4.1-mini', remaining_usd: 0, count: 1 } },
      { type: 'budget.reset', data: { spent_usd: 1, skipped: 0 } },
    ]);
    expect(new Set(events.map(({ id }) => id)).size).toBe(4);
  });
});
