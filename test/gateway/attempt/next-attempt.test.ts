import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { createCalendar } from '../../../src/calendar.ts';
import { systemClock } from '../../../src/clock.ts';
import type { RoutedAttempt } from '../../../src/gateway/attempt/attempt.ts';
import { failOver } from '../../../src/gateway/attempt/next-attempt.ts';
import { settle } from '../../../src/gateway/attempt/settle.ts';
import { costOf } from '../../../src/pricing/cost.ts';
import { createLedger } from '../../../src/store/ledger/ledger.ts';
import { NO_USAGE } from '../../../src/usage.ts';
import { usageOf } from '../../support/chat-shapes.ts';
import { json, type Script, status } from '../../support/scripts.ts';
import { MANY } from '../../support/several-targets.ts';
import { type Stages, type StagesOptions, startStages } from '../../support/stages.ts';

const BUDGET = { budget: { period: 'daily' as const, capUsd: 1 } };
/** An answer without content that is billed: $1 and $2 for a million tokens, in nano-USD. */
const BILLED: Script = json(200, { choices: [], usage: usageOf(10, 5) });
const BILLED_COST = 10 * 1_000 + 5 * 2_000;

interface FailedOptions extends StagesOptions {
  script?: Script;
  body?: object;
  headers?: Record<string, string>;
}

/** A request whose attempt at the first of three targets has failed. */
async function failed({ script = status(503), body, headers, ...options }: FailedOptions = {}) {
  const stages = await startStages({ count: 3, ...BUDGET, ...options });
  stages.upstreams[0]?.queue(script);
  const received = await stages.receive({ ...MANY, ...body }, headers);
  const attempt = await stages.firstAttempt(received.exchange);
  return { ...stages, ...received, attempt, ...(await sendFailing(stages, attempt)) };
}

/** Makes an attempt; `next` looks for another target after its failure. */
async function sendFailing({ gateway, send }: Stages, attempt: RoutedAttempt) {
  const result = await send(attempt);
  const { failure } = result;
  if (!failure) throw new Error('the attempt did not fail');
  return { result, next: () => failOver(gateway, attempt, result, failure) };
}

const nameOf = (attempt: RoutedAttempt | undefined) => attempt?.target.provider.name;

/** The amounts of the open holds. */
function amounts({ db }: Stages): number[] {
  return db.prepare<[], number>('SELECT hold_nano_usd FROM open_holds').pluck().all();
}

describe('failOver() chooses', () => {
  it('the next target in order, and adds the failed attempt to the history of the route', async () => {
    const { attempt, next } = await failed();
    const second = await next();
    expect(nameOf(second)).toBe('b');
    expect(second?.route).toBe(attempt.route);
    expect(attempt.route).toMatchObject({
      target: { model: 'm-b' },
      first: { model: 'm-a' },
      history: { entries: [{ provider: 'a', model: 'm-a', outcome: '503', cost_usd: 0 }] },
    });
  });

  it('no target in its cooldown', async () => {
    const { gateway, attempt, next } = await failed();
    const [, b] = attempt.route.targets;
    if (!b) throw new Error('there is one target');
    const permit = gateway.router.health.begin(b.candidate);
    permit.failed({ class: 'rate_limit', scope: 'target', next: 'elsewhere', cooldownMs: 30_000 }, 1);
    permit.ended();
    expect(nameOf(await next())).toBe('c');
  });

  it('no target whose API cannot express the request', async () => {
    const { next } = await failed({ wires: ['openai', 'anthropic', 'openai'], body: { logprobs: true } });
    expect(nameOf(await next())).toBe('c');
  });

  it('a target of the other API, with the request translated from what the client sent', async () => {
    const { attempt, next } = await failed({ wires: ['openai', 'anthropic', 'openai'] });
    const second = await next();
    expect(nameOf(second)).toBe('b');
    expect(second?.context.wire.path).toBe('/messages');
    expect(second?.context.translator).toBeDefined();
    expect(attempt.route.context.translator).toBeUndefined();
  });

  it('no target that the budget has no room for', async () => {
    const stages = await failed({ outputUsd: [1, 1_000, 1], budget: { period: 'daily', capUsd: 0.005 } });
    expect(nameOf(await stages.next())).toBe('c');
    expect(amounts(stages)).toHaveLength(1);
  });

  it('no target twice', async () => {
    const stages = await failed();
    for (const upstream of stages.upstreams) upstream.queue(status(500));
    const second = await stages.next();
    if (!second) throw new Error('no second target');
    const third = await (await sendFailing(stages, second)).next();
    if (!third) throw new Error('no third target');
    expect([nameOf(second), nameOf(third)]).toEqual(['b', 'c']);
    expect(await (await sendFailing(stages, third)).next()).toBeUndefined();
    expect(stages.upstreams.map(({ requests }) => requests.length)).toEqual([1, 1, 1]);
  });
});

describe('failOver() replaces the hold', () => {
  it('by what was spent and the worst case at the next target', async () => {
    const stages = await failed({ script: BILLED, outputUsd: [2, 8] });
    const { attempt, result, next, balance } = stages;
    expect(amounts(stages)).toEqual([attempt.admitted.heldNanoUsd]);
    const second = await next();
    if (!second) throw new Error('no target was left');
    const { quote, heldNanoUsd } = second.admitted;
    if (!quote.card) throw new Error('the price is unknown');
    const worst = { ...NO_USAGE, inputTokens: quote.inputTokens, outputTokens: MANY.max_tokens };
    expect(quote.card).not.toEqual(attempt.admitted.quote.card);
    expect(heldNanoUsd).toBe(costOf(worst, quote.card));
    expect(result.metered?.costNanoUsd).toBe(BILLED_COST);
    expect(amounts(stages)).toEqual([BILLED_COST + heldNanoUsd]);
    expect(balance()).toEqual({ posted: 0, pending: BILLED_COST + heldNanoUsd });
    expect(second.admitted.remaining).toBe(1e9 - BILLED_COST - heldNanoUsd);
  });

  it('by what was spent alone, where no other target has room in the budget', async () => {
    const stages = await failed({
      count: 2,
      script: BILLED,
      outputUsd: [2, 1_000],
      budget: { period: 'daily', capUsd: 0.005 },
    });
    const { gateway, attempt, result, next, balance, records } = stages;
    expect(await next()).toBeUndefined();
    expect(amounts(stages)).toEqual([BILLED_COST]);
    expect(attempt.route.target.model).toBe('m-a');
    await settle(gateway, attempt, result);
    expect(balance()).toEqual({ posted: BILLED_COST, pending: 0 });
    expect(await records()).toMatchObject([
      { provider: 'a', outcome: 'upstream_error', costNanoUsd: BILLED_COST },
    ]);
  });

  it('not once another daemon has closed it: the request ends, booked once', async () => {
    const stages = await failed({ script: BILLED });
    const { gateway, attempt, result, next, balance, records } = stages;
    const { heldNanoUsd } = attempt.admitted;
    const slot = stages.db.prepare<[], number>('SELECT slot FROM open_holds').pluck().get();
    const other = createLedger({
      db: stages.db,
      clock: systemClock,
      calendar: () => createCalendar('UTC'),
      slot: 9,
    });
    expect(await other.closeHolds(slot ?? -1)).toBe(1);
    expect(await next()).toBeUndefined();
    await settle(gateway, attempt, result);
    expect(balance()).toEqual({ posted: heldNanoUsd, pending: 0 });
    expect(await records()).toMatchObject([{ outcome: 'crashed', costNanoUsd: heldNanoUsd }]);
  });
});

describe('failOver() finds no target and keeps the hold as it is', () => {
  it('where the only other one cannot express the request', async () => {
    const stages = await failed({ count: 2, wires: ['openai', 'anthropic'], body: { logprobs: true } });
    expect(await stages.next()).toBeUndefined();
    expect(amounts(stages)).toEqual([stages.attempt.admitted.heldNanoUsd]);
  });

  it.each<[string, Record<string, string>, number]>([
    ["gw's own", {}, 10_000],
    ["the client's", { 'x-stainless-timeout': '5' }, 5_000],
  ])('where %s deadline is over, and not a moment before', async (_name, headers, deadlineMs) => {
    const late = { headers, settings: { 'routing.deadline_ms': 10_000 } };
    for (const [elapsedMs, name] of [
      [deadlineMs - 1, 'b'],
      [deadlineMs, undefined],
    ] as const) {
      const stages = await failed(late);
      stages.clock.advanceNow(elapsedMs);
      expect([elapsedMs, nameOf(await stages.next())]).toEqual([elapsedMs, name]);
      if (!name) expect(amounts(stages)).toEqual([stages.attempt.admitted.heldNanoUsd]);
    }
  });

  it('where the client has hung up', async () => {
    const stages = await failed();
    stages.connection.hangUp();
    await once(stages.exchange.response, 'close');
    expect(stages.exchange.gone).toBe(true);
    expect(await stages.next()).toBeUndefined();
    expect(amounts(stages)).toEqual([stages.attempt.admitted.heldNanoUsd]);
  });

  it('where the request itself is at fault', async () => {
    const stages = await failed({ script: status(400) });
    expect(await stages.next()).toBeUndefined();
    expect(amounts(stages)).toEqual([stages.attempt.admitted.heldNanoUsd]);
  });
});
