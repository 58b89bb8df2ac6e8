import fc from 'fast-check';

/** Tokens of an answer by the kinds that are billed apart, and what a report says of them. */
export interface Truth {
  fresh: number;
  cached: number;
  written: number;
  written1h: number;
  audio: number;
  cachedAudio: number;
  images: number;
  cachedImages: number;
  text: number;
  reasoning: number;
  audioOut: number;
  imagesOut: number;
}
export type Kind = keyof Truth;

/** A report as an API sends it: the events of a stream in order, or one body; and who sends it. */
export interface Report {
  dialect: string;
  provider: string;
  model: string;
  endpoint?: string;
  wire: 'messages' | 'chat' | 'responses' | 'body';
  payloads: object[];
  truth: Truth;
  /** Further tokens, of other models (`dear`) or of the same one. */
  more: { model: string | undefined; truth: Truth }[];
}

const NONE: Truth = {
  ...{ fresh: 0, cached: 0, written: 0, written1h: 0, audio: 0, cachedAudio: 0, images: 0, cachedImages: 0 },
  ...{ text: 0, reasoning: 0, audioOut: 0, imagesOut: 0 },
};

const some = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 9 }), fc.integer({ min: 10, max: 200_000 }));
const least1 = fc.integer({ min: 1, max: 200_000 });
const of = (kinds: Partial<Record<Kind, fc.Arbitrary<number>>>): fc.Arbitrary<Truth> =>
  fc.record({ fresh: least1, text: least1, ...kinds } as Record<Kind, fc.Arbitrary<number>>).map((each) => ({
    ...NONE,
    ...each,
  }));

const inputOf = (t: Truth) =>
  t.fresh + t.cached + t.written + t.written1h + t.audio + t.cachedAudio + t.images + t.cachedImages;
const outputOf = (t: Truth) => t.text + t.reasoning + t.audioOut + t.imagesOut;

const plain = (
  dialect: string,
  wire: Report['wire'],
  payloads: object[],
  truth: Truth,
  who: Partial<Report> = {},
): Report => ({
  ...{ dialect, wire, payloads, truth, provider: 'mock', model: 'gpt-x', more: [] },
  ...who,
});

const openaiChat = fc
  .tuple(
    of({ cached: some, written: some, audio: some, cachedAudio: some, reasoning: some, audioOut: some }),
    fc.boolean(),
  )
  .map(([t, hasTotal]) =>
    plain(
      'OpenAI chat',
      'body',
      [
        {
          prompt_tokens: inputOf(t),
          completion_tokens: outputOf(t),
          ...(hasTotal && { total_tokens: inputOf(t) + outputOf(t) }),
          prompt_tokens_details: {
            cached_tokens: t.cached + t.cachedAudio,
            cache_write_tokens: t.written,
            audio_tokens: t.audio + t.cachedAudio,
            cached_tokens_details: { audio_tokens: t.cachedAudio },
          },
          completion_tokens_details: { reasoning_tokens: t.reasoning, audio_tokens: t.audioOut },
        },
      ],
      t,
    ),
  );

const openaiImages = of({ cached: some, images: some, cachedImages: some, imagesOut: some }).map((t) =>
  plain(
    'OpenAI images',
    'body',
    [
      {
        input_tokens: inputOf(t),
        output_tokens: outputOf(t),
        total_tokens: inputOf(t) + outputOf(t),
        input_tokens_details: {
          text_tokens: t.fresh + t.cached,
          image_tokens: t.images + t.cachedImages,
          cached_tokens: t.cached + t.cachedImages,
          cached_tokens_details: { image_tokens: t.cachedImages },
        },
        output_tokens_details: { text_tokens: t.text, image_tokens: t.imagesOut },
      },
    ],
    t,
  ),
);

const responses = of({ cached: some, written: some, reasoning: some }).map((t) =>
  plain(
    'OpenAI responses',
    'responses',
    [
      {
        input_tokens: inputOf(t),
        input_tokens_details: { cached_tokens: t.cached, cache_write_tokens: t.written },
        output_tokens: outputOf(t),
        output_tokens_details: { reasoning_tokens: t.reasoning },
        total_tokens: inputOf(t) + outputOf(t),
      },
    ],
    t,
  ),
);

/** Reasoning lies beside the completion, and within the total. */
const reasoningBeside = fc
  .tuple(
    of({ cached: some, reasoning: some }),
    fc.constantFrom(['xai', 'grok-4'], ['google', 'g'], ['mock', 'gemini-3-pro']),
  )
  .map(([t, [provider = '', model = '']]) =>
    plain(
      'xAI and Gemini',
      'body',
      [
        {
          prompt_tokens: inputOf(t),
          completion_tokens: t.text,
          total_tokens: inputOf(t) + outputOf(t),
          prompt_tokens_details: { cached_tokens: t.cached },
          completion_tokens_details: { reasoning_tokens: t.reasoning },
        },
      ],
      t,
      { provider, model },
    ),
  );

const cachedElsewhere = fc
  .tuple(
    of({ cached: some }),
    fc.constantFrom('prompt_cache_hit_tokens', 'cached_tokens', 'cached_prompt_text_tokens'),
  )
  .map(([t, field]) =>
    plain(
      'DeepSeek, Moonshot, xAI of old',
      'chat',
      [{ prompt_tokens: inputOf(t), completion_tokens: t.text, [field]: t.cached }],
      t,
    ),
  );

const litellm = of({ cached: some, written: some, written1h: some }).map((t) =>
  plain(
    'LiteLLM',
    'body',
    [
      {
        prompt_tokens: inputOf(t),
        completion_tokens: t.text,
        prompt_tokens_details: {
          cached_tokens: t.cached,
          cache_creation_tokens: t.written + t.written1h,
          cache_creation_token_details: {
            ephemeral_5m_input_tokens: t.written,
            ephemeral_1h_input_tokens: t.written1h,
          },
        },
      },
    ],
    t,
  ),
);

/** A relay that copies Anthropic's `input_tokens`, which exclude what was cached: only seen where that is more. */
const relay = of({ cached: least1 })
  .filter((t) => t.cached > t.fresh)
  .map((t) =>
    plain(
      'a relay',
      'body',
      [
        {
          prompt_tokens: t.fresh,
          completion_tokens: t.text,
          prompt_tokens_details: { cached_tokens: t.cached },
        },
      ],
      t,
    ),
  );

const embeddings = of({ text: fc.constant(0) }).map((t) =>
  plain('Voyage', 'body', [{ total_tokens: t.fresh }], t, { endpoint: 'embeddings' }),
);

const claude = (t: Truth) => ({
  input_tokens: t.fresh,
  cache_read_input_tokens: t.cached,
  cache_creation_input_tokens: t.written + t.written1h,
  cache_creation: { ephemeral_5m_input_tokens: t.written, ephemeral_1h_input_tokens: t.written1h },
  output_tokens: outputOf(t),
});
const claudeTruth = of({ cached: some, written: some, written1h: some });

const messages = claudeTruth.map((t) => plain('Anthropic', 'body', [claude(t)], t));

const iterations = fc
  .tuple(
    claudeTruth,
    fc.array(fc.tuple(fc.constantFrom('compaction', 'advisor_message', 'message'), claudeTruth), {
      maxLength: 4,
    }),
  )
  .map(([t, listed]) => {
    const entries = listed.map(([type, truth]) => ({
      type,
      truth,
      model: type === 'advisor_message' || (type === 'message' && truth.text % 2 === 0) ? 'dear' : undefined,
    }));
    const within = entries.filter(({ type }) => type === 'message');
    // The totals are those of all iterations but the ones beside.
    const totals = within.reduce((sum, { truth }) => addTruth(sum, truth), t);
    const usage = {
      ...claude(totals),
      iterations: [
        ...entries.map(({ type, truth, model }) => ({ type, ...claude(truth), ...(model && { model }) })),
        { type: 'message', ...claude(t) },
      ],
    };
    return plain('Anthropic, by iteration', 'body', [usage], t, { more: entries });
  });

/** The events of a stream, whose end says what its start did not, or says it otherwise. */
const streamed = fc
  .tuple(
    claudeTruth,
    claudeTruth,
    fc.constantFrom('output', 'same', 'grown', 'changed', 'zeros', 'nulls', 'dashscope'),
  )
  .map(([t, other, how]) => {
    const { output_tokens, ...input } = claude(t);
    const { cache_creation: _, ...counts } = input;
    const start = { ...input, output_tokens: 1 };
    const ends: Record<string, [object, object]> = {
      output: [start, { output_tokens }],
      same: [start, { ...counts, output_tokens }],
      grown: [
        {
          input_tokens: Math.min(1, t.fresh),
          cache_read_input_tokens: 0,
          cache_creation_input_tokens: 0,
          output_tokens: 1,
        },
        { ...input, output_tokens },
      ],
      changed: [
        { ...claude(other), output_tokens: 1 },
        { ...input, output_tokens },
      ],
      zeros: [
        start,
        { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens },
      ],
      nulls: [start, { input_tokens: null, cache_read_input_tokens: null, output_tokens }],
      dashscope: [
        { input_tokens: t.fresh + t.cached, output_tokens: 0 },
        { cache_read_input_tokens: t.cached, output_tokens },
      ],
    };
    const [first, last] = ends[how] ?? [start, start];
    const truth = how === 'dashscope' ? { ...t, written: 0, written1h: 0 } : t;
    return plain(`Anthropic, streamed: ${how}`, 'messages', [first, last], truth);
  });

/** Usage with every chunk, larger each time. */
const cumulative = fc
  .tuple(of({ cached: some }), fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }))
  .map(([t, shares]) => {
    const at = (share: number) => ({
      prompt_tokens: inputOf(t),
      completion_tokens: Math.floor(t.text * share),
      prompt_tokens_details: { cached_tokens: t.cached },
    });
    return plain('cumulative chunks', 'chat', [...shares.sort((a, b) => a - b), 1].map(at), t);
  });

function addTruth(a: Truth, b: Truth): Truth {
  const kinds = Object.keys(NONE) as Kind[];
  return Object.fromEntries(kinds.map((kind) => [kind, a[kind] + b[kind]])) as unknown as Truth;
}

/** Members in another order, and others that say nothing. */
function withNoise(report: Report, seed: number): Report {
  const noise = [
    ['service_tier', 'default'],
    ['cost_details', { upstream_inference_cost: null }],
    ['num_sources_used', 0],
    ['prompt_audio_seconds', null],
    ['tokens_details', []],
  ] as const;
  const shuffle = (payload: object): object => {
    const entries = [...Object.entries(payload), ...noise.filter((_, i) => (seed >> i) & 1)];
    const turn = seed % entries.length;
    return Object.fromEntries([...entries.slice(turn), ...entries.slice(0, turn)]);
  };
  return { ...report, payloads: report.payloads.map(shuffle) };
}

export const anyReport: fc.Arbitrary<Report> = fc
  .tuple(
    fc.oneof(
      ...[openaiChat, openaiImages, responses, reasoningBeside, cachedElsewhere, litellm, relay, embeddings],
      ...[messages, iterations, streamed, cumulative],
    ),
    fc.nat(1_000),
  )
  .map(([report, seed]) => withNoise(report, seed));
