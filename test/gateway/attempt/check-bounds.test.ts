import { describe, expect, it } from 'vitest';
import { quoteRequest } from '../../../src/gateway/admission/quote-request.ts';
import { checkBounds } from '../../../src/gateway/attempt/check-bounds.ts';
import type { Metered } from '../../../src/gateway/metering/metered.ts';
import { amountOf, NO_COST } from '../../../src/money.ts';
import { FLAGS } from '../../../src/store/ledger/record.ts';
import { NO_USAGE } from '../../../src/usage.ts';
import { MANY } from '../../support/several-targets.ts';
import { startStages } from '../../support/stages.ts';

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
