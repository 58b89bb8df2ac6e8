import { describe, expect, test } from 'vitest';
import { needOf } from '../../../src/gateway/admission/need.ts';
import { type Quote, quote } from '../../../src/gateway/admission/quote.ts';
import { completePrices, createPriceCard } from '../../../src/pricing/price-card.ts';
import { flatRate } from '../../../src/pricing/rate.ts';
import { chatWire } from '../../../src/wire/apis/chat.ts';

/** $1 a million tokens in, $2 out. */
const CARD = createPriceCard(
  'test',
  completePrices({ input: flatRate(1_000_000n), output: flatRate(2_000_000n) }, 'm'),
);

function quoteOf(body: object): Quote {
  const request = chatWire.parse(
    Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...body })),
  );
  return quote(request, {
    provider: 'mock',
    model: 'm',
    card: CARD,
    listed: CARD,
    priceFactor: 1,
    inputTokens: 1_000,
    inputBound: 'exact',
    minOutputTokens: 50,
  });
}

describe('needOf()', () => {
  test('splits the worst case into input and output, whose sum it is', () => {
    const quoted = quoteOf({ max_tokens: 300, n: 2 });
    const need = needOf(quoted, {
      amount: quoted.amount,
      outputTokens: 300,
      calls: undefined,
      maxOutputTokens: 300,
    });
    expect(need).toEqual({
      inputTokens: 1_000,
      inputBound: 'exact',
      outputTokens: 600,
      outputAskedTokens: 600,
      inputNanoUsd: 1_000_000,
      outputNanoUsd: 1_200_000,
      feesNanoUsd: 0,
    });
    expect(quoted.amount).toBe(2_200_000);
  });

  test('tells a lowered limit from the one that was asked for', () => {
    const quoted = quoteOf({});
    const need = needOf(quoted, {
      amount: 1_200_000,
      outputTokens: 100,
      calls: undefined,
      maxOutputTokens: undefined,
    });
    expect(need).toMatchObject({ outputTokens: 100, outputAskedTokens: null, outputNanoUsd: 200_000 });
  });

  test('is undefined when the price is unknown', () => {
    const quoted = { ...quoteOf({}), card: undefined };
    const options = { amount: 0, outputTokens: 1, calls: undefined, maxOutputTokens: undefined };
    expect(needOf(quoted, options)).toBeUndefined();
  });
});
