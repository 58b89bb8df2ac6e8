import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BatchPriceParts } from '../../../src/gateway/pass-through/batch-cost.ts';
import { BatchResults } from '../../../src/gateway/pass-through/batch-results.ts';
import type { Target } from '../../../src/gateway/state/resolver.ts';
import { createCatalog } from '../../../src/pricing/catalog.ts';

const catalog = createCatalog();
/** The parts that pricing results reads. */
const gateway = {
  catalog: () => catalog,
  clock: { now: () => Date.UTC(2026, 10, 1) },
  settings: () => ({ fees: {} }),
} as unknown as BatchPriceParts;
const target = { provider: { name: 'openai', wire: 'openai', origin: '' }, model: 'gpt-4.1-mini' } as Target;

const answered = (input: number, output: number) =>
  JSON.stringify({
    custom_id: 'é',
    response: {
      status_code: 200,
      body: {
        model: 'gpt-4.1-mini',
        choices: [{ message: { content: 'line\nbreak' } }],
        usage: { prompt_tokens: input, completion_tokens: output },
      },
    },
  });
const failed = JSON.stringify({ response: { status_code: 429, body: { error: { message: 'Slow down.' } } } });

function billOf(text: string, cuts: readonly number[]) {
  const results = new BatchResults(gateway, target);
  const bytes = Buffer.from(text);
  const at = [0, ...cuts.map((cut) => cut % bytes.length).sort((a, b) => a - b), bytes.length];
  for (let i = 1; i < at.length; i++) results.take(bytes.subarray(at[i - 1], at[i]));
  return results.end();
}

test('results cost the same wherever their bytes are cut, and with or without a last line break', () => {
  const line = fc.oneof(
    fc.tuple(fc.nat(9_999), fc.integer({ min: 1, max: 9_999 })).map(([input, output]) => ({ input, output })),
    fc.constant(undefined),
  );
  const property = fc.property(
    fc.array(line, { minLength: 1, maxLength: 8 }),
    fc.array(fc.nat(), { maxLength: 6 }),
    fc.constantFrom('', '\n', '\r\n'),
    (lines, cuts, end) => {
      const text = lines.map((each) => (each ? answered(each.input, each.output) : failed)).join('\n') + end;
      const bill = billOf(text, cuts);
      const sum = (count: (each: { input: number; output: number }) => number) =>
        lines.reduce((total, each) => total + (each ? count(each) : 0), 0);
      expect(bill?.usage.inputTokens).toBe(sum(({ input }) => input));
      expect(bill?.usage.outputTokens).toBe(sum(({ output }) => output));
      // Half of $0.40 and $1.60 per million tokens, in nano-dollars.
      expect(bill?.costNanoUsd).toBe(sum(({ input, output }) => input * 200 + output * 800));
    },
  );
  fc.assert(property, { numRuns: 200 });
});

test.each([
  ['that are no JSON', `${answered(1, 1)}\n{"response":`],
  ['without usage', JSON.stringify({ response: { status_code: 200, body: { choices: [] } } })],
  ['that are empty', '\n\n'],
])('the bill of results %s is not known', (_, text) => {
  expect(billOf(text, [])).toBeUndefined();
});
