import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readReport, readUsage, usageRules } from '../../src/pricing/usage-payload.ts';
import { NO_USAGE, type TokenUsage } from '../../src/usage.ts';

/** Output of no stated kind may be images. */
function usage(counts: Partial<TokenUsage>): TokenUsage {
  const all = { ...NO_USAGE, ...counts };
  const imageOutputTokens = Math.max(0, all.outputTokens - all.reasoningTokens - all.audioOutputTokens);
  return { ...all, imageOutputTokens, ...counts };
}

test('readUsage() takes output that is not said to be text for images', () => {
  const read = (output_tokens_details: object) =>
    readUsage({ input_tokens: 5, output_tokens: 100, output_tokens_details })?.imageOutputTokens;
  expect(read({ text_tokens: 60 })).toBe(40);
  expect(read({ text_tokens: 60, image_tokens: 30 })).toBe(30);
  expect(read({ text_tokens: 60, audio_tokens: 10 })).toBe(30);
});

describe('readUsage() reads the input', () => {
  test('of chat completions, with the cached part inside', () => {
    const raw = {
      prompt_tokens: 100,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens: 64, cache_write_tokens: 20 },
    };
    expect(readUsage(raw)).toEqual(
      usage({ inputTokens: 100, cachedInputTokens: 64, cacheWriteTokens: 20, outputTokens: 7 }),
    );
  });

  test('of responses, with the cached part inside', () => {
    const raw = { input_tokens: 100, output_tokens: 7, input_tokens_details: { cached_tokens: 64 } };
    expect(readUsage(raw)).toEqual(usage({ inputTokens: 100, cachedInputTokens: 64, outputTokens: 7 }));
  });

  test("of Anthropic's messages, with the cached parts beside it", () => {
    const raw = {
      input_tokens: 100,
      output_tokens: 7,
      cache_read_input_tokens: 64,
      cache_creation_input_tokens: 20,
      cache_creation: { ephemeral_5m_input_tokens: 15, ephemeral_1h_input_tokens: 5 },
    };
    expect(readUsage(raw)).toEqual(
      usage({
        inputTokens: 184,
        cachedInputTokens: 64,
        cacheWriteTokens: 15,
        cacheWrite1hTokens: 5,
        outputTokens: 7,
      }),
    );
  });

  test("of a proxy that puts Anthropic's fields beside OpenAI's, where they are inside", () => {
    const raw = {
      prompt_tokens: 100,
      completion_tokens: 7,
      total_tokens: 107,
      prompt_tokens_details: { cached_tokens: 64, cache_creation_tokens: 20 },
      cache_read_input_tokens: 64,
      cache_creation_input_tokens: 20,
    };
    expect(readUsage(raw)).toEqual(
      usage({ inputTokens: 100, cachedInputTokens: 64, cacheWriteTokens: 20, outputTokens: 7 }),
    );
  });

  test("of a proxy that fills in OpenAI's newer names with zeros", () => {
    const raw = { prompt_tokens: 100, completion_tokens: 7, input_tokens: 0, output_tokens: 0 };
    expect(readUsage(raw)).toEqual(usage({ inputTokens: 100, outputTokens: 7 }));
  });

  test.each([
    ['Moonshot', { cached_tokens: 64 }],
    ['DeepSeek', { prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36 }],
    ["xAI's older models", { cached_prompt_text_tokens: 64 }],
  ])('of %s, whose cached count has a name of its own', (_, fields) => {
    const raw = { prompt_tokens: 100, completion_tokens: 7, prompt_tokens_details: null, ...fields };
    expect(readUsage(raw)).toEqual(usage({ inputTokens: 100, cachedInputTokens: 64, outputTokens: 7 }));
  });

  test('takes a reported zero for zero, not for a missing figure', () => {
    const raw = {
      prompt_tokens: 100,
      completion_tokens: 0,
      prompt_tokens_details: { cached_tokens: 0 },
      prompt_cache_hit_tokens: 64,
    };
    expect(readUsage(raw)).toEqual(usage({ inputTokens: 100 }));
    expect(readUsage({ input_tokens: 0, output_tokens: 0 })).toEqual(NO_USAGE);
  });

  test('counts what was cached and written beside a total that is less, as relays of Anthropic report it', () => {
    const raw = {
      prompt_tokens: 100,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens: 90, cache_write_tokens: 50 },
      cache_creation: { ephemeral_1h_input_tokens: 30 },
    };
    const parts = { cachedInputTokens: 90, cacheWriteTokens: 20, cacheWrite1hTokens: 30 };
    expect(readReport(raw)).toMatchObject({
      usage: usage({ inputTokens: 240, ...parts, outputTokens: 7 }),
      conflicts: ['cached 90 and written 50 exceed the input of 100'],
    });
  });

  test('cuts other parts down to the total, and says so', () => {
    const raw = {
      prompt_tokens: 100,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens: 90, audio_tokens: 500, image_tokens: 500 },
      completion_tokens_details: { audio_tokens: 8, image_tokens: 9 },
    };
    expect(readReport(raw)).toMatchObject({
      usage: usage({
        inputTokens: 100,
        cachedInputTokens: 90,
        audioInputTokens: 10,
        cachedAudioInputTokens: 90,
        outputTokens: 7,
        audioOutputTokens: 7,
      }),
      conflicts: ['8 of audio exceed 7 of output', '1000 of audio and images exceed 100 of input'],
    });
  });

  test.each([
    [
      'more by lifetime than in all',
      {
        cache_creation_input_tokens: 100,
        cache_creation: { ephemeral_5m_input_tokens: 50, ephemeral_1h_input_tokens: 60 },
      },
      { inputTokens: 110, cacheWriteTokens: 50, cacheWrite1hTokens: 60 },
      ['110 written by lifetime exceed 100 written'],
    ],
    [
      'some of which no lifetime is stated',
      { cache_creation_input_tokens: 100, cache_creation: { ephemeral_1h_input_tokens: 60 } },
      { inputTokens: 100, cacheWriteTokens: 40, cacheWrite1hTokens: 60 },
      [],
    ],
  ])('of writes to the cache: %s', (_, reported, expected, conflicts) => {
    const raw = { input_tokens: 0, output_tokens: 0, ...reported };
    expect(readReport(raw)).toMatchObject({ usage: usage(expected), conflicts });
  });

  test('of pictures beside text, with those that were cached', () => {
    const raw = {
      input_tokens: 100,
      output_tokens: 50,
      input_tokens_details: {
        text_tokens: 30,
        image_tokens: 70,
        cached_tokens: 40,
        cached_tokens_details: { image_tokens: 25 },
      },
      output_tokens_details: { text_tokens: 10, image_tokens: 40 },
    };
    expect(readUsage(raw)).toEqual(
      usage({
        inputTokens: 100,
        cachedInputTokens: 40,
        imageInputTokens: 45,
        cachedImageInputTokens: 25,
        outputTokens: 50,
        imageOutputTokens: 40,
      }),
    );
  });

  test("of writes for an hour in LiteLLM's shape", () => {
    const raw = {
      prompt_tokens: 100,
      completion_tokens: 1,
      prompt_tokens_details: {
        cache_creation_tokens: 80,
        cache_creation_token_details: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 60 },
      },
    };
    expect(readUsage(raw)).toMatchObject({ cacheWriteTokens: 20, cacheWrite1hTokens: 60 });
  });

  test('of embeddings that report a total alone', () => {
    const rules = usageRules('voyage', 'voyage-3', 'embeddings');
    expect(readUsage({ total_tokens: 12 }, rules)).toEqual(usage({ inputTokens: 12 }));
    expect(readUsage({ total_tokens: 12 })).toBeUndefined();
  });

  test('takes audio for fresh as far as nothing says that it was cached', () => {
    const details = { cached_tokens: 50, audio_tokens: 40 };
    const raw = { prompt_tokens: 100, completion_tokens: 7, prompt_tokens_details: details };
    expect(readUsage(raw)).toMatchObject({ audioInputTokens: 40, cachedAudioInputTokens: 0 });
    const split = { ...details, cached_tokens_details: { text_tokens: 20, audio_tokens: 30 } };
    expect(readUsage({ ...raw, prompt_tokens_details: split })).toMatchObject({
      audioInputTokens: 10,
      cachedAudioInputTokens: 30,
    });
  });
});

describe('readUsage() reads the output', () => {
  test('with reasoning inside', () => {
    const raw = {
      prompt_tokens: 10,
      completion_tokens: 100,
      total_tokens: 110,
      completion_tokens_details: { reasoning_tokens: 90 },
    };
    expect(readUsage(raw)).toEqual(usage({ inputTokens: 10, outputTokens: 100, reasoningTokens: 90 }));
  });

  test('with reasoning that only the total includes', () => {
    expect(readUsage({ prompt_tokens: 10, completion_tokens: 100, total_tokens: 200 })).toEqual(
      usage({ inputTokens: 10, outputTokens: 190 }),
    );
  });

  test('does not believe a total that is too small', () => {
    expect(readUsage({ prompt_tokens: 10, completion_tokens: 100, total_tokens: 0 })).toEqual(
      usage({ inputTokens: 10, outputTokens: 100 }),
    );
  });

  test('with reasoning that the total has once more as xAI and Gemini count it, and as nobody else does', () => {
    const raw = {
      prompt_tokens: 64,
      completion_tokens: 135,
      completion_tokens_details: { reasoning_tokens: 78 },
      total_tokens: 277,
    };
    expect(readReport(raw, usageRules('mock', 'gpt-5.4'))).toMatchObject({
      usage: { outputTokens: 135 },
      conflicts: ['the total leaves 213 of output, and 135 are stated'],
    });
    for (const [provider, model] of [
      ['xai', 'grok-4'],
      ['google', 'g'],
      ['mock', 'gemini-3-pro'],
    ] as const)
      expect(readReport(raw, usageRules(provider, model))).toMatchObject({
        usage: { outputTokens: 213, reasoningTokens: 78 },
        conflicts: [],
      });
  });

  test('with reasoning beside it where there is more of it than of the whole', () => {
    const raw = {
      prompt_tokens: 10,
      completion_tokens: 9,
      completion_tokens_details: { reasoning_tokens: 91 },
    };
    expect(readUsage(raw)).toEqual(usage({ inputTokens: 10, outputTokens: 100, reasoningTokens: 91 }));
    expect(readReport({ ...raw, total_tokens: 19 })).toMatchObject({
      usage: usage({ inputTokens: 10, outputTokens: 100, reasoningTokens: 91 }),
      conflicts: ['reasoning of 91 exceeds the output of 9'],
    });
  });

  test("of Anthropic's thinking", () => {
    const raw = { input_tokens: 1, output_tokens: 9, output_tokens_details: { thinking_tokens: 8 } };
    expect(readUsage(raw)).toEqual(usage({ inputTokens: 1, outputTokens: 9, reasoningTokens: 8 }));
  });

  test('of an embedding, which has none', () => {
    expect(readUsage({ prompt_tokens: 8, total_tokens: 8 })).toEqual(usage({ inputTokens: 8 }));
    expect(readUsage({ prompt_tokens: 8, completion_tokens: null })).toEqual(usage({ inputTokens: 8 }));
  });

  test('from the total where it cannot be read itself', () => {
    expect(readUsage({ prompt_tokens: 8, completion_tokens: '5', total_tokens: 13 })).toEqual(
      usage({ inputTokens: 8, outputTokens: 5 }),
    );
  });
});

test('readUsage() adds the tokens of compaction and of an advisor, which are beside the totals', () => {
  const raw = {
    input_tokens: 20,
    output_tokens: 3,
    cache_read_input_tokens: 5,
    iterations: [
      { type: 'compaction', input_tokens: 100, cache_read_input_tokens: 50, output_tokens: 30 },
      { type: 'message', input_tokens: 20, cache_read_input_tokens: 5, output_tokens: 3 },
      { type: 'advisor_message', input_tokens: 1_000, output_tokens: 1_000 },
      null,
    ],
  };
  expect(readUsage(raw)).toEqual(usage({ inputTokens: 1_175, cachedInputTokens: 55, outputTokens: 1_033 }));
});

test('readUsage() reads the two events of an Anthropic stream, merged', () => {
  const start = {
    input_tokens: 25,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 12,
    output_tokens: 1,
  };
  expect(readUsage({ ...start, output_tokens: 15 })).toEqual(
    usage({ inputTokens: 37, cachedInputTokens: 12, outputTokens: 15 }),
  );
  expect(readUsage({ output_tokens: 15 })).toBeUndefined(); // the second alone doesn't tell the input
});

describe('readUsage() does not know', () => {
  test.each([
    [undefined],
    [null],
    [''],
    ['{"prompt_tokens":1}'],
    [7],
    [true],
    [[]],
    [[{ prompt_tokens: 1 }]],
    [{}],
    [{ total_tokens: 10 }],
    [{ completion_tokens: 10, total_tokens: 20 }],
    [{ type: 'duration', seconds: 12.5 }],
    [{ prompt_tokens: '10', completion_tokens: 5 }],
    [{ prompt_tokens: -1, completion_tokens: 5 }],
    [{ prompt_tokens: 1.5, completion_tokens: 5 }],
    [{ prompt_tokens: Number.NaN, completion_tokens: 5 }],
    [{ prompt_tokens: 1e300, completion_tokens: 5 }],
    [{ prompt_tokens: { tokens: 1 }, completion_tokens: 5 }],
    [{ prompt_tokens: 10, completion_tokens: '5' }],
    [{ prompt_tokens: 10, completion_tokens: -5 }],
    [{ input_tokens: null, output_tokens: 5, cache_read_input_tokens: 5 }],
  ])('%j', (raw) => {
    expect(readUsage(raw)).toBeUndefined();
  });

  test('details that are no counts', () => {
    const details = { cached_tokens: '64', cache_write_tokens: -1, audio_tokens: 0.5 };
    const raw = {
      prompt_tokens: 100,
      completion_tokens: 7,
      total_tokens: 'many',
      prompt_tokens_details: details,
      completion_tokens_details: 'none',
      iterations: 'none',
    };
    expect(readUsage(raw)).toEqual(usage({ inputTokens: 100, outputTokens: 7 }));
    expect(readUsage({ ...raw, prompt_tokens_details: [] })).toEqual(
      usage({ inputTokens: 100, outputTokens: 7 }),
    );
  });
});

describe('whatever a provider sends', () => {
  const value = fc.oneof(
    fc.nat(1_000),
    fc.constantFrom<unknown>(undefined, null, 0, -1, 0.5, '12', true, Number.NaN, Infinity, [], {}),
  );
  const some = (...names: string[]) =>
    fc.record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] });
  const inputDetails = fc.oneof(
    value,
    some('cached_tokens', 'cache_write_tokens', 'cache_creation_tokens', 'audio_tokens', 'image_tokens'),
    fc.record({
      cached_tokens: value,
      audio_tokens: value,
      cached_tokens_details: some('audio_tokens', 'image_tokens'),
    }),
  );
  const outputDetails = fc.oneof(
    value,
    some('reasoning_tokens', 'thinking_tokens', 'audio_tokens', 'image_tokens', 'text_tokens'),
  );
  const lifetimes = fc.oneof(value, some('ephemeral_5m_input_tokens', 'ephemeral_1h_input_tokens'));
  const payload = fc.record(
    {
      prompt_tokens: value,
      completion_tokens: value,
      total_tokens: value,
      prompt_tokens_details: inputDetails,
      completion_tokens_details: outputDetails,
      input_tokens: value,
      output_tokens: value,
      input_tokens_details: inputDetails,
      output_tokens_details: outputDetails,
      prompt_cache_hit_tokens: value,
      cached_tokens: value,
      cache_read_input_tokens: value,
      cache_creation_input_tokens: value,
      cache_creation: lifetimes,
      reasoning_tokens: value,
      citation_tokens: value,
      iterations: fc.array(
        fc.record({ type: fc.constant('compaction'), input_tokens: value, output_tokens: value }),
        { maxLength: 2 },
      ),
    },
    { requiredKeys: [] },
  );

  test('the parts lie within their totals, and all are counts', () => {
    fc.assert(
      fc.property(payload, (raw) => {
        const read = readUsage(raw);
        if (!read) return;
        for (const each of Object.values(read)) expect(Number.isSafeInteger(each) && each >= 0).toBe(true);
        const parts =
          read.cachedInputTokens +
          read.cacheWriteTokens +
          read.cacheWrite1hTokens +
          read.audioInputTokens +
          read.imageInputTokens;
        expect(parts).toBeLessThanOrEqual(read.inputTokens);
        const cachedMedia = read.cachedAudioInputTokens + read.cachedImageInputTokens;
        expect(cachedMedia).toBeLessThanOrEqual(read.cachedInputTokens);
        expect(read.reasoningTokens).toBeLessThanOrEqual(read.outputTokens);
        expect(read.audioOutputTokens + read.imageOutputTokens).toBeLessThanOrEqual(read.outputTokens);
      }),
      { numRuns: 3_000 },
    );
  });

  test('is never counted as less than it states', () => {
    fc.assert(
      fc.property(payload, (raw) => {
        const read = readUsage(raw);
        if (!read) return;
        const stated = (each: unknown) => (typeof each === 'number' && Number.isSafeInteger(each) ? each : 0);
        const input = stated(raw.prompt_tokens ?? raw.input_tokens);
        const output = stated(raw.completion_tokens ?? raw.output_tokens);
        expect(read.inputTokens).toBeGreaterThanOrEqual(input);
        expect(read.outputTokens).toBeGreaterThanOrEqual(output);
        expect(read.inputTokens + read.outputTokens).toBeGreaterThanOrEqual(stated(raw.total_tokens));
      }),
      { numRuns: 3_000 },
    );
  });
});
