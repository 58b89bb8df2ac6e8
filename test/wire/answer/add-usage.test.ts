import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addUsage } from '../../../src/wire/answer/usage.ts';

describe('addUsage()', () => {
  test.each([
    [
      'a later, smaller report',
      { prompt_tokens: 3000, completion_tokens: 7000 },
      { prompt_tokens: 10, completion_tokens: 5 },
    ],
    ['a later 0', { input_tokens: 12, output_tokens: 5 }, { input_tokens: 0, output_tokens: 0 }],
    ['a later null', { input_tokens: 12, cache: { read: 3 } }, { input_tokens: null, cache: null }],
    ['a smaller part', { details: { cached_tokens: 900, text: 1 } }, { details: { cached_tokens: 5 } }],
    ['nothing', { input_tokens: 12 }, undefined],
  ])('keeps its counts after %s', (_, before, later) => {
    expect(addUsage(before, later)).toEqual(before);
  });

  test("lets a 0 take back the output of an answer's start", () => {
    const opening = { input_tokens: 12, output_tokens: 1 };
    expect(addUsage(opening, { output_tokens: 0 }, true)).toEqual({ input_tokens: 12, output_tokens: 0 });
  });

  describe("takes the input of an answer's end for final", () => {
    const start = {
      input_tokens: 9,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 58_352,
      cache_creation: { ephemeral_5m_input_tokens: 8_352, ephemeral_1h_input_tokens: 50_000 },
      output_tokens: 1,
    };
    const merge = (end: object) => addUsage(start, { ...end, output_tokens: 7 }, true);

    test('where a cache changed its mind', () => {
      const end = { input_tokens: 9, cache_read_input_tokens: 58_352, cache_creation_input_tokens: 0 };
      const lifetimes = { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 };
      expect(merge(end)).toEqual({
        ...end,
        cache_creation: lifetimes,
        output_tokens: 7,
        superseded: { input_tokens: 9, cache_read_input_tokens: 0, cache_creation_input_tokens: 58_352 },
      });
    });

    test('with the lifetimes of the start, as far as the end has written', () => {
      const end = { input_tokens: 9, cache_read_input_tokens: 0, cache_creation_input_tokens: 58_352 };
      expect(merge(end)).toEqual({ ...start, output_tokens: 7 });
      expect(merge({ ...end, cache_creation_input_tokens: 60_000 })).toMatchObject({
        cache_creation: { ephemeral_5m_input_tokens: 10_000, ephemeral_1h_input_tokens: 50_000 },
      });
    });

    test.each([
      {},
      { input_tokens: null },
      { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
    ])('unless it is empty: %j', (end) => {
      expect(merge(end)).toMatchObject({ ...start, output_tokens: 7 });
    });

    test('with a cached part of the prompt that the start has counted', () => {
      const whole = { input_tokens: 1_000, output_tokens: 0 };
      const end = { output_tokens: 7, cache_read_input_tokens: 900 };
      expect(addUsage(whole, end, true)).toEqual({ ...end, input_tokens: 100 });
      expect(addUsage({ ...whole, input_tokens: 5 }, end, true)).toEqual({ ...end, input_tokens: 5 });
    });
  });

  test('takes larger counts, new ones, and words', () => {
    const opening = { input_tokens: 12, output_tokens: 1, service_tier: 'standard' };
    const closing = {
      output_tokens: 57,
      server_tool_use: { web_search_requests: 2 },
      service_tier: 'priority',
    };
    expect(addUsage(opening, closing)).toEqual({ input_tokens: 12, ...closing });
  });

  test('never lowers a count, in whatever order reports come', () => {
    const counts = fc.record(
      { input: fc.nat(99), parts: fc.record({ cached: fc.nat(99) }) },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(counts, { minLength: 1 }), (reports) => {
        const sum = reports.reduce<unknown>(
          (sum, report) => addUsage(sum, report),
          undefined,
        ) as (typeof reports)[0];
        const most = (of: (report: (typeof reports)[0]) => number | undefined) =>
          Math.max(...reports.map((report) => of(report) ?? -1));
        expect(sum.input ?? -1).toBe(most(({ input }) => input));
        expect(sum.parts?.cached ?? -1).toBe(most(({ parts }) => parts?.cached));
      }),
    );
  });
});
