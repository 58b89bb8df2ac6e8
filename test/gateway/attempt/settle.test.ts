import { describe, expect, it } from 'vitest';
import { quoteRequest } from '../../../src/gateway/admission/quote-request.ts';
import { failOver } from '../../../src/gateway/attempt/next-attempt.ts';
import { checkBounds, settle } from '../../../src/gateway/attempt/settle.ts';
import type { TierChoice } from '../../../src/gateway/context/request-context.ts';
import type { Metered } from '../../../src/gateway/metering/metered.ts';
import { amountOf, NO_COST } from '../../../src/money.ts';
import { FLAGS } from '../../../src/store/ledger/record.ts';
import { NO_USAGE } from '../../../src/usage.ts';
import { completion } from '../../support/chat-scripts.ts';
import { completionBody, usageOf } from '../../support/chat-shapes.ts';
import { until } from '../../support/home.ts';
import { json, reset, status } from '../../support/scripts.ts';
import { MANY } from '../../support/several-targets.ts';
import { type Stages, type StagesOptions, startStages } from '../../support/stages.ts';

/** At $1 and $2 for a million tokens, in nano-USD. */
const USAGE = usageOf(10, 5);
const COST = 10 * 1_000 + 5 * 2_000;
const CAP = 1_000_000_000;
const BUDGET = { budget: { period: 'daily' as const, capUsd: 1 } };

/** A request whose first attempt has been answered and not settled. */
async function answered(options: StagesOptions = {}, script = completion({ usage: USAGE })) {
  const stages = await startStages({ ...BUDGET, ...options });
  stages.upstreams[0]?.queue(script);
  const { exchange } = await stages.receive(MANY);
  const attempt = await stages.firstAttempt(exchange);
  return { ...stages, exchange, attempt, result: await stages.send(attempt) };
}

describe('settle()', () => {
  it('replaces the hold by the reported cost and sets the headers', async () => {
    const { gateway, attempt, result, exchange, balance, holds, records } = await answered();
    expect([holds(), await records()]).toEqual([1, []]);
    expect(balance()).toEqual({ posted: 0, pending: attempt.admitted.heldNanoUsd });
    const settlement = await settle(gateway, attempt, result);
    expect(settlement).toMatchObject({ outcome: 'ok', usage: { inputTokens: 10, outputTokens: 5 } });
    expect(result.headers).toMatchObject({ costNanoUsd: COST, remainingNanoUsd: CAP - COST });
    expect([holds(), balance()]).toEqual([0, { posted: COST, pending: 0 }]);
    expect(await records()).toMatchObject([
      {
        id: exchange.id,
        outcome: 'ok',
        status: 200,
        provider: 'a',
        model: 'm-a',
        askedModel: 'many',
        costNanoUsd: COST,
        holdNanoUsd: attempt.admitted.heldNanoUsd,
        detail: { need: { input_bound: 'bytes', output_asked_tokens: 20 } },
      },
    ]);
  });

  it('flags a cost above the hold, and switches off the bound that was too low', async () => {
    const { gateway, attempt, result, records } = await answered(
      {},
      completion({ usage: usageOf(90_000, 5) }),
    );
    attempt.admitted.quote.inputBound = 'exact';
    attempt.admitted.heldNanoUsd = 1_000;
    await settle(gateway, attempt, result);
    const [record] = await records();
    expect(record?.flags).toContain('underheld');
    expect(gateway.boundTrust.isTrusted(attempt.target, 'exact')).toBe(false);
  });

  it('releases the hold after a provider error', async () => {
    const { gateway, attempt, result, balance, holds, records } = await answered({}, status(500));
    const settlement = await settle(gateway, attempt, result);
    expect(settlement.outcome).toBe('upstream_error');
    expect(result.headers).toMatchObject({ costNanoUsd: 0, remainingNanoUsd: CAP });
    expect([holds(), balance()]).toEqual([0, { posted: 0, pending: 0 }]);
    expect(await records()).toMatchObject([{ outcome: 'upstream_error', status: 500, costNanoUsd: 0 }]);
  });

  it('sets no cost header if the price is unknown', async () => {
    const stages = await startStages({ outputUsd: [null] });
    stages.upstreams[0]?.queue(completion({ usage: USAGE }));
    const attempt = await stages.firstAttempt((await stages.receive(MANY)).exchange);
    const result = await stages.send(attempt);
    await settle(stages.gateway, attempt, result);
    expect(result.headers).toMatchObject({ costNanoUsd: undefined, remainingNanoUsd: null });
    expect(await stages.records()).toMatchObject([{ flags: ['unpriced'], costNanoUsd: 0, inputTokens: 10 }]);
  });
});

describe('settle() of several attempts', () => {
  /** Fails over from the first target to the second, which answers. */
  async function failedOver(script = json(200, { choices: [], usage: USAGE })) {
    const first = await answered({ count: 2 }, script);
    const { gateway, attempt, result, upstreams } = first;
    if (!result.failure) throw new Error('the first attempt did not fail');
    upstreams[1]?.queue(json(200, completionBody('m-b', 'Hi', usageOf(20, 15))));
    const next = await failOver(gateway, attempt, result, result.failure);
    if (!next) throw new Error('no target was left');
    return { ...first, attempt: next, result: await first.send(next) };
  }

  it('books the sum of their usage and cost and lists each attempt', async () => {
    const { gateway, attempt, result, balance, records } = await failedOver();
    const second = 20 * 1_000 + 15 * 2_000;
    const settlement = await settle(gateway, attempt, result);
    expect(settlement).toMatchObject({ outcome: 'ok', usage: { inputTokens: 20, outputTokens: 15 } });
    expect(result.headers).toMatchObject({
      costNanoUsd: COST + second,
      remainingNanoUsd: CAP - COST - second,
    });
    expect(balance()).toEqual({ posted: COST + second, pending: 0 });
    const [record, ...others] = await records();
    expect(others).toEqual([]);
    expect(record).toMatchObject({
      provider: 'b',
      inputTokens: 30,
      outputTokens: 20,
      costNanoUsd: COST + second,
      flags: [],
    });
    expect(record?.detail.attempts).toMatchObject([
      { provider: 'a', model: 'm-a', outcome: 'server', cost_usd: COST / 1e9 },
      { provider: 'b', model: 'm-b', outcome: 'ok', cost_usd: second / 1e9 },
    ]);
  });

  it('books the possible cost of a failed attempt with the cost of the answer', async () => {
    const { gateway, attempt, result, balance, records } = await failedOver(reset({ afterBytes: 90 }));
    await settle(gateway, attempt, result);
    const [record] = await records();
    const attempts = (record?.detail.attempts ?? []) as { cost_usd: number }[];
    const [failed, served] = attempts.map(({ cost_usd }) => Math.round(cost_usd * 1e9));
    expect(failed).toBeGreaterThan(0);
    expect(served).toBe(20 * 1_000 + 15 * 2_000);
    expect(record).toMatchObject({ costNanoUsd: (failed ?? 0) + (served ?? 0), flags: ['estimated'] });
    expect(balance()).toEqual({ posted: record?.costNanoUsd, pending: 0 });
  });
});

describe('settle() of a request that was routed to a tier', () => {
  async function settledAtTier(decision: TierChoice['decision'], strong: 'a' | 'b') {
    const { gateway, attempt, result, records } = await answered({ count: 2, outputUsd: [2, 20] });
    const targets = attempt.route.targets;
    const target = targets.find(({ provider }) => provider.name === strong) ?? attempt.route.target;
    attempt.context.tier = {
      decision,
      scored: { score: 0.2, why: [] },
      name: 'fast',
      lacks: [],
      strong: target,
    };
    await settle(gateway, attempt, result);
    return { route: result.headers.route, tier: (await records())[0]?.detail.tier };
  }

  it('adds the savings of the cheaper tier to the header and the record', async () => {
    const { route, tier } = await settledAtTier({ tier: 'weak', applied: true, because: 'share' }, 'b');
    expect(route).toBe('as-asked; saved=$0.000090');
    expect(tier).toMatchObject({ chosen: 'fast', saved_usd: (5 * 18_000) / 1e9 });
  });

  it.each<[string, TierChoice['decision'], 'a' | 'b']>([
    ['the dearer tier answered', { tier: 'strong', applied: true, because: 'share' }, 'b'],
    ['the tier was only recorded', { tier: 'weak', applied: false, because: 'cold_start' }, 'b'],
    ['the tiers cost the same', { tier: 'weak', applied: true, because: 'share' }, 'a'],
  ])('claims no savings if %s', async (_name, decision, strong) => {
    const { route, tier } = await settledAtTier(decision, strong);
    expect(route).toBe('as-asked');
    expect(tier).toMatchObject({ chosen: 'fast' });
  });
});

describe('settle() with a database that cannot be written', () => {
  const fail = ({ db }: Stages) =>
    db.exec(
      "CREATE TRIGGER full BEFORE UPDATE OF outcome ON journal BEGIN SELECT RAISE(ABORT, 'disk is full'); END",
    );

  it.each<[string, StagesOptions]>([
    ['late', BUDGET],
    ['before the answer ends', { budget: { period: 'rolling', windowMs: 3_600_000, capUsd: 1 } }],
  ])('keeps the hold and the answer, and retries until the cost is booked: %s', async (_, options) => {
    const request = await answered(options);
    const { clock, gateway, attempt, result, exchange, balance, holds, records } = request;
    fail(request);
    expect(await settle(gateway, attempt, result)).toMatchObject({ outcome: 'ok' });
    expect(result.headers.costNanoUsd).toBe(COST);
    expect(exchange.recorded).toBe(true);
    await clock.advance(1_000);
    expect([holds(), await records()]).toEqual([1, []]);
    expect(balance()).toEqual({ posted: 0, pending: attempt.admitted.heldNanoUsd });
    request.db.exec('DROP TRIGGER full');
    await clock.advance(1_000);
    expect([holds(), balance()]).toEqual([0, { posted: COST, pending: 0 }]);
    expect(await records()).toMatchObject([{ id: exchange.id, outcome: 'ok', costNanoUsd: COST }]);
  });
});

describe('settle() and requests that wait for room', () => {
  it('admits the next one into the room that the hold took', async () => {
    // Time stands still, so the queue never looks by itself.
    const request = await answered({ budget: { period: 'daily', capUsd: 0.000_25 } });
    const { clock, gateway, attempt, result, balance, upstreams } = request;
    const { timers } = clock;
    const second = await request.receive(MANY);
    const waiting = request.firstAttempt(second.exchange);
    // Set by the queue: the longest wait, and the next look.
    await until(() => clock.timers >= timers + 2);
    expect(balance()).toEqual({ posted: 0, pending: attempt.admitted.heldNanoUsd });
    await settle(gateway, attempt, result);
    const admitted = await waiting;
    expect(balance()).toEqual({ posted: COST, pending: admitted.admitted.heldNanoUsd });
    upstreams[0]?.queue(completion({ usage: USAGE }));
    await settle(gateway, admitted, await request.send(admitted));
    expect(balance()).toEqual({ posted: 2 * COST, pending: 0 });
  });
});

/** At $1 and $2 for a million tokens. */
const IN = 1_000;
const OUT = 2_000;
const LIMIT = 1_000;
/** Of a model that nobody knows. */
const MAXIMUM = 32_000;

type Checked = Partial<Omit<Metered, 'costNanoUsd'>> & { costNanoUsd?: number };

async function start() {
  const stages = await startStages();
  const { exchange } = await stages.receive({ ...MANY, max_tokens: LIMIT });
  const attempt = await stages.firstAttempt(exchange);
  const { gateway } = stages;
  return {
    ...stages,
    attempt,
    /** Checks an answer with this usage, by default at its price. */
    check(
      inputTokens: number,
      outputTokens: number,
      { costNanoUsd = inputTokens * IN + outputTokens * OUT, ...more }: Checked = {},
    ) {
      const usage = { ...NO_USAGE, inputTokens, outputTokens };
      checkBounds(
        gateway,
        attempt,
        { relay: { usage: undefined } as never, failure: undefined },
        { usage, costNanoUsd: amountOf(costNanoUsd), flags: 0, ...more },
      );
    },
    /** What the next request of a thousand tokens is held at. */
    next: () => quoteRequest(gateway, attempt.context, attempt.target)(1_000),
  };
}

describe('a settlement', () => {
  it('changes nothing where the report is within all bounds', async () => {
    const { check, next, attempt, warnings } = await start();
    const before = next();
    check(attempt.admitted.quote.inputTokens, LIMIT);
    expect([next(), warnings]).toEqual([before, []]);
  });

  it('above the output limit holds the maximum of the model from then on, which no budget lowers', async () => {
    const { check, next, warnings } = await start();
    check(5, LIMIT + 16);
    expect(next()).toMatchObject({ outputTokens: LIMIT, mayLower: true });
    check(5, LIMIT + 17);
    expect(next()).toMatchObject({ outputTokens: MAXIMUM, leastOutputTokens: MAXIMUM, mayLower: false });
    expect(next().amount).toBe(1_000 * IN + MAXIMUM * OUT);
    expect(warnings).toMatchObject([
      expect.stringContaining('a/m-a wrote more output than its limit allowed'),
    ]);
  });

  it('does so where the text alone shows it, and not by an impossible report', async () => {
    const { check, next } = await start();
    check(5, 10_000_000, { flags: FLAGS.estimated });
    expect(next().outputTokens).toBe(LIMIT);
    check(5, LIMIT, { flags: FLAGS.estimated | FLAGS.overrun });
    expect(next().outputTokens).toBe(MAXIMUM);
  });

  it('above the maximum of the model has it written into requests without a limit', async () => {
    const { gateway, attempt } = await start();
    const { provider } = attempt.target;
    const target = { ...attempt.target, provider: { ...provider, name: 'openai' }, model: 'gpt-4o' };
    const ask = (max_tokens?: number) => {
      const request = { ...attempt.context.request, maxOutputTokens: max_tokens };
      return { ...attempt, target, context: { ...attempt.context, request } };
    };
    const quoteOf = (each: ReturnType<typeof ask>) => quoteRequest(gateway, each.context, target)(1_000);
    const before = quoteOf(ask());
    expect(before.mustLimit).toBe(false);
    const usage = { ...NO_USAGE, outputTokens: before.outputTokens + 17 };
    const tried = {
      ...ask(),
      admitted: {
        ...attempt.admitted,
        limit: undefined,
        quote: { ...before, card: attempt.admitted.quote.card },
      },
    };
    checkBounds(
      gateway,
      tried,
      { relay: { usage: undefined } as never, failure: undefined },
      { usage, costNanoUsd: NO_COST, flags: 0 },
    );
    expect(quoteOf(ask())).toEqual({ ...before, mustLimit: true });
    expect(quoteOf(ask(LIMIT))).toMatchObject({ outputTokens: LIMIT, mustLimit: false, mayLower: true });
  });

  it('above the price raises the price of later holds by as much', async () => {
    const { check, next, warnings } = await start();
    const before = next().amount;
    const paid = 1_000 * IN + 500 * OUT;
    check(1_000, 500, { costNanoUsd: paid + 1_000 });
    expect(next().amount).toBe(before);
    check(1_000, 500, { costNanoUsd: 1.32 * paid });
    expect(next().amount).toBe(1.4 * before);
    // The larger of two counts.
    check(1_000, 500, { costNanoUsd: 1.2 * paid });
    expect(next().amount).toBe(1.4 * before);
    check(1_000, 500, { costNanoUsd: 1e6 * paid });
    expect(next().amount).toBe(10 * before);
    expect(warnings[0]).toContain('a/m-a cost more than the price that was held');
  });

  it('settles at the same prices as before, whatever is held', async () => {
    const { check, next } = await start();
    const { card } = next();
    check(1_000, 500, { costNanoUsd: 10_000_000 });
    const raised = next().card;
    expect(raised?.dearest).not.toEqual(card?.dearest);
    expect({ ...raised, dearest: 0 }).toEqual({ ...card, dearest: 0 });
  });

  it('knows raised prices after a restart', async () => {
    const { check, next, gateway } = await start();
    const before = next().amount;
    check(1_000, 500, { costNanoUsd: 4_000_000 });
    await gateway.ledger.write(() => undefined);
    gateway.boundTrust.reload();
    expect(next().amount).toBe(2 * before);
  });
});
