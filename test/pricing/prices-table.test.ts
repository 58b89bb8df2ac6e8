import type { ModelPrice } from '@pydantic/genai-prices';
import { test } from 'vitest';
import { capabilitiesOf } from '../../src/pricing/capabilities.ts';
import { createCatalog } from '../../src/pricing/catalog.ts';
import {
  affordableOutputTokens,
  costOf,
  hasNoTokenPrice,
  isFree,
  worstCase,
} from '../../src/pricing/cost.ts';
import { deploymentsWith, learntDeployments, makersModel } from '../../src/pricing/deployments.ts';
import { pricesFromLibrary } from '../../src/pricing/library-prices.ts';
import { modelLimits } from '../../src/pricing/limits.ts';
import { nanoFromPico, picoFromNano, scaleDecimal } from '../../src/pricing/pico.ts';
import {
  cardAt,
  cardFor,
  createPriceCard,
  dependsOn,
  freeCard,
  holdInputFee,
  type PriceCard,
  type Prices,
  raiseHolds,
  scaleCard,
  TOKEN_KINDS,
  withFallbacks,
} from '../../src/pricing/price-card.ts';
import { priceDates } from '../../src/pricing/price-dates.ts';
import { ANY_PRICE, type CacheWrites, longerWrites, PLAIN_TEXT } from '../../src/pricing/price-profile.ts';
import { isLinear } from '../../src/pricing/published/price-file.ts';
import type { Rate } from '../../src/pricing/rate.ts';
import { routerFee } from '../../src/pricing/router-fees.ts';
import { factorOf, regionalCard, serviceFactor, servicePrices } from '../../src/pricing/service-factors.ts';
import { toolFee } from '../../src/pricing/tool-fees.ts';
import { NO_USAGE } from '../../src/usage.ts';
import { expectFrozen, type Row, variationsOf } from '../support/frozen.ts';

const NOW = Date.UTC(2026, 10, 20, 12);

const shown = ({ picoUsd, tiers }: Rate): string =>
  [String(picoUsd), ...tiers.map(({ overTokens, picoUsd }) => `${picoUsd} over ${overTokens}`)].join(', ');
const shownHolds = ({ dearest }: PriceCard) => [
  shown(dearest.input),
  shown(dearest.output),
  String(dearest.perRequestPicoUsd),
];
/** The rates of a card, those that equal the one before them left out. */
function shownRates(prices: Prices) {
  let last = '';
  const rates = TOKEN_KINDS.flatMap((kind) => {
    const text = shown(prices[kind]);
    const isNew = text !== last;
    last = text;
    return isNew ? [[kind, text]] : [];
  });
  return { ...Object.fromEntries(rates), request: String(prices.perRequestPicoUsd) };
}
const shownCard = (card: PriceCard | undefined) =>
  card && {
    source: card.source.replace('genai-prices ', ''),
    ...shownRates(card),
    holds: shownHolds(card).join(' | '),
  };

const row = (name: string, outcome: () => unknown): Row => ({ name, outcome });

const LISTED = {
  input_mtok: { base: 2, tiers: [{ start: 1_000, price: 4 }] },
  output_mtok: 8,
  cache_read_mtok: 0.5,
  cache_write_mtok: 2.5,
  cache_write_1h_mtok: 3,
  input_audio_mtok: 11,
  cache_audio_read_mtok: 1.1,
  input_image_mtok: 5,
  cache_image_read_mtok: 0.7,
  output_audio_mtok: 13,
  output_image_mtok: { base: 17, tiers: [{ start: 500, price: 19 }] },
  output_video_mtok: 6,
  requests_kcount: 3,
};
const USAGE = {
  ...{ inputTokens: 1_000, cachedInputTokens: 400, cacheWriteTokens: 70, cacheWrite1hTokens: 30 },
  ...{ audioInputTokens: 90, cachedAudioInputTokens: 50, imageInputTokens: 60, cachedImageInputTokens: 40 },
  ...{ outputTokens: 300, reasoningTokens: 100, audioOutputTokens: 20, imageOutputTokens: 10 },
};

/** All that is computed from the prices of a model. */
function fromPrices(model: string, listed: ModelPrice) {
  const prices = pricesFromLibrary(model, listed);
  if (!prices) return undefined;
  const card = createPriceCard('list', prices);
  const bound = { inputTokens: 1_000, outputTokens: 300, choices: 2 };
  const most = worstCase(bound, card);
  return {
    ...shownRates(prices),
    holds: shownHolds(card),
    plain: shownHolds(cardFor(card, PLAIN_TEXT)),
    audio: shownHolds(cardFor(card, { ...PLAIN_TEXT, audioInput: true, audioOutput: true })),
    writes: (['default', '1h'] as const).map(
      (cacheWrites) => shownHolds(cardFor(card, { ...ANY_PRICE, cacheWrites, longInput: false }))[0],
    ),
    depends: [{ cacheWrites: '1h' as const }, { audioInput: true }, { audioOutput: true }].map((part) =>
      dependsOn(card, part),
    ),
    cost: [costOf(USAGE, card), costOf({ ...USAGE, inputTokens: 1_001 }, card)],
    most: [most, worstCase({ ...bound, inputTokens: 999 }, card)],
    affordable: [-1, 0, 1].map((more) => affordableOutputTokens(most + more, 1_000, 2, card)),
    free: [isFree(card), hasNoTokenPrice(card)],
  };
}

const otherPrices = (value: unknown) => (typeof value === 'number' ? [0, 3 * value, 0.0000011] : [null]);

test('what is computed from listed prices, and from a list that lacks one or has another', async () => {
  const from = (model: string, prices: ModelPrice): Row => ({
    name: model,
    outcome: () => fromPrices(model, prices),
    variations: Array.from(variationsOf(prices, otherPrices), (other) => ({
      name: other.name,
      outcome: () => fromPrices(model, other.value as ModelPrice),
    })),
  });
  const { input_mtok, output_mtok, cache_read_mtok } = LISTED;
  await expectFrozen(import.meta.dirname, 'prices', [
    from('gpt-x', LISTED),
    ...['claude-x', 'gpt-5.6', 'gpt-5.5', 'gpt-12', 'an-audio', 'an-image', 'gpt-image', 'x:free'].map(
      (model) =>
        row(`${model}, text alone`, () => fromPrices(model, { input_mtok, output_mtok, cache_read_mtok })),
    ),
    row('x:free without a price', () => fromPrices('x:free', {})),
    row('storage, not a price of writes', () => fromPrices('gpt-x', { input_mtok, cache_write_mtok: 0.1 })),
  ]);
});

const CARD = createPriceCard('a', pricesFromLibrary('gpt-x', LISTED) as Prices);
const OTHER = createPriceCard(
  'b',
  pricesFromLibrary('claude-x', { input_mtok: 9, output_mtok: 1 }) as Prices,
);
const LATER = createPriceCard('c', pricesFromLibrary('gpt-x', { input_mtok: 1 }) as Prices, [CARD]);
const HOUR = 3_600_000;

test('what is made of prices', async () => {
  const dates = (['16:30:00Z', '12:00:00Z', '11:59:59Z', '00:00:00Z', '14:15:00Z'] as const).map((time) =>
    row(`dates of a price until ${time}`, () =>
      priceDates(
        [{ constraint: { type: 'time_of_date', start_time: time, end_time: '23:00:00Z' } }] as never,
        NOW,
      ),
    ),
  );
  const starts = [-1, 0, 1, 2.25, 2.26, 100].map((hours) =>
    row(`dates of a price that starts in ${hours} hours`, () =>
      priceDates(
        [
          { constraint: { type: 'start_date', start_date: new Date(NOW + hours * HOUR).toISOString() } },
          { constraint: undefined },
        ] as never,
        NOW,
      ),
    ),
  );
  const decimals = ['0', '1', '0.1', '1.2345678', '1e-7', '1.5e+3', '1e21', '-1', 'x', '1.', '2.0000001'];
  const writes: CacheWrites[] = ['none', 'default', '1h'];
  const [raised, scaled] = [raiseHolds(CARD, 1.5), scaleCard(CARD, 1.1)];
  await expectFrozen(import.meta.dirname, 'price-cards', [
    ...dates,
    ...starts,
    row('another price from tomorrow', () => shownHolds(LATER)),
    row('scaled', () => [shownCard(scaleCard(CARD, 1.1)), scaleCard(CARD, 1.1) === scaled]),
    row('at 1,000 and 1,001 tokens', () => [1_000, 1_001].map((tokens) => shownRates(cardAt(CARD, tokens)))),
    row('raised', () => [shownCard(raised), raiseHolds(CARD, 1.5) === raised]),
    row('with a fee', () => shownHolds(holdInputFee(CARD, { picoUsd: 5n, tiers: [] }))),
    row('with fallbacks of which one is billed', () => shownHolds(withFallbacks(CARD, [OTHER], 'answering'))),
    row('with fallbacks that are all billed', () => shownHolds(withFallbacks(CARD, [OTHER], 'each'))),
    row('without fallbacks', () => withFallbacks(CARD, [], 'each') === CARD),
    row('for a profile, again', () => cardFor(CARD, PLAIN_TEXT) === cardFor(CARD, { ...PLAIN_TEXT })),
    row('free', () => [shownCard(freeCard('free')), isFree(freeCard('free'))]),
    row('free, but for each request', () => {
      const card = createPriceCard('r', { ...freeCard(''), perRequestPicoUsd: 5n });
      return [isFree(card), hasNoTokenPrice(card), affordableOutputTokens(1, 9, 1, card)];
    }),
    row('no usage', () => costOf(NO_USAGE, CARD)),
    ...writes.map((a) => row(`${a} or a longer write`, () => writes.map((b) => longerWrites(a, b)))),
    ...decimals.map((text) =>
      row(`${text} scaled`, () => [0, 2, 6].map((places) => scaleDecimal(text, places))),
    ),
    row('nano-dollars', () => [0n, 1n, 999n, 1_000n, 1_001n, 10n ** 20n].map(nanoFromPico)),
    row('pico-dollars', () => picoFromNano(5)),
  ]);
});

const BILLED = new Map([
  ['mine', { seller: 'azure', deployments: { chat: 'gpt-4o', zone: 'gpt-4o,datazone', odd: 'gpt-4o,x' } }],
  ['ptu', { seller: 'azure', deployments: { chat: 'gpt-4o,provisioned', local: 'gpt-4o,regional' } }],
]);
const ALL = {
  ...{ inputPicoUsd: 1, outputPicoUsd: 2, cachedInputPicoUsd: 3, cacheWritePicoUsd: 4 },
  ...{ cacheWrite1hPicoUsd: 5, audioInputPicoUsd: 6, audioOutputPicoUsd: 7, requestPicoUsd: 8 },
  ...{ imagePicoUsd: 9, secondPicoUsd: 10, characterPicoUsd: 11 },
};

const NAMES: [provider: string, model: string, at?: number][] = [
  ...[
    ...['gpt-4o', 'gpt-5.4', 'gpt-5.6-sol', 'gpt-99', 'whisper-1', 'o1-mini'],
    ...['gpt-4o-audio-preview', 'gpt-image-1', 'gpt-3.5-turbo', 'own', ''],
    ...[
      'dall-e-2',
      'dall-e-3',
      'tts-1',
      'sora-2',
      'sora-2-pro',
      'ft:gpt-4o:me',
      'gpt-4-0314',
      'gpt-oss-120b',
    ],
  ].map((model): [string, string] => ['openai', model]),
  ...['claude-opus-4-6', 'claude-sonnet-4-5-20250929', 'claude-3-opus-20240229', 'claude-2.1'].map(
    (model): [string, string] => ['anthropic', model],
  ),
  ['bedrock', 'eu.anthropic.claude-haiku-4-5-20251001-v1:0'],
  ['vertex', 'claude-opus-4-5@20251101'],
  ['google', 'models/gemini-2.5-pro'],
  ['gemini', 'gemini-3.8-flash'],
  ['google', 'gemini-2.5-flash-image'],
  ['azure', 'model-router'],
  ['azure', 'sora-2'],
  ['openrouter', 'google/gemini-2.5-pro'],
  ['openrouter', 'x-ai/grok-4.20'],
  ['openrouter', 'openai/gpt-4o:online'],
  ['openrouter', 'meta-llama/llama-3.3-70b-instruct:free'],
  ['deepseek', 'deepseek-chat'],
  ['deepseek', 'deepseek-chat', NOW + 5 * HOUR],
  ['deepseek', 'deepseek-v4-pro'],
  ['xai', 'grok-4'],
  ['groq', 'whisper-large-v3'],
  ['groq', 'openai/gpt-oss-120b'],
  ['perplexity', 'sonar-pro'],
  ['ollama', 'qwen2.5:7b'],
  ['sandbox', 'sandbox/echo'],
  ['sandbox', 'sandbox/large'],
  ['sandbox', 'sandbox/free'],
  ['sandbox', 'gpt-4o'],
  ['mine', 'chat'],
  ['mine', 'zone'],
  ['mine', 'odd'],
  ['mine', 'gpt-4o'],
  ['mine', 'toString'],
  ['ptu', 'chat'],
  ['ptu', 'local'],
  ['nobody', 'gpt-4o'],
  ['nobody', 'own'],
  ['nobody', 'requests'],
  ['nobody', 'pictures'],
  ['openai', `gpt-4o-audio-preview${'-'.repeat(240)}`],
];

const catalogNow = () =>
  createCatalog({
    overrides: [
      { provider: 'openai', model: 'own', ...ALL },
      { provider: null, model: 'own', inputPicoUsd: 5, outputPicoUsd: 0, imagePicoUsd: 0 },
      { provider: '', model: 'requests', requestPicoUsd: 9, inputPicoUsd: 0 },
      { provider: null, model: 'pictures', secondPicoUsd: 6, audioInputPicoUsd: null },
    ],
    billedAs: BILLED,
    now: () => NOW,
  });

test('what is known of a model at a provider', async () => {
  const known = (provider: string, model: string, at?: number) => {
    const catalog = catalogNow();
    const media = catalog.media(provider, model, at);
    const sizes = ['', '512x512', '1024x1024', '1792x1024', '1280x720', 'x'];
    return {
      card: shownCard(catalog.find(provider, model, at)),
      media: media && {
        image: sizes
          .flatMap((size) => ['', 'HD'].map((quality) => String(media.image?.(size, quality))))
          .join(),
        second: sizes.map((size) => String(media.second?.(size))).join(),
        character: media.character,
      },
      limits: modelLimits(provider, model),
      lacks: Object.keys(capabilitiesOf(model)).join() || undefined,
      makers: makersModel(model) === model ? undefined : makersModel(model),
      fee: routerFee(provider, model)?.picoUsd,
      services:
        servicePrices(model)
          .map(({ field, value, factor }) => `${field} ${value} ${factor}`)
          .join() || undefined,
    };
  };
  const soon = (at: number) => {
    const catalog = catalogNow();
    const [first] = [catalog.find('deepseek', 'deepseek-chat', NOW)];
    return catalog.find('deepseek', 'deepseek-chat', at) === first;
  };
  await expectFrozen(import.meta.dirname, 'models', [
    row('DeepSeek keeps its price for', () =>
      [-1, 0, HOUR, 2.3 * HOUR, 4.6 * HOUR].map((later) => soon(NOW + later)),
    ),
    row('a batch', () => ['openai', 'mine', 'xai'].map((name) => catalogNow().batchFactor(name))),
    ...NAMES.map(([provider, model, at]) =>
      row(`${provider} ${model.slice(0, 50)}${at === undefined ? '' : ' later'}`, () =>
        known(provider, model, at),
      ),
    ),
  ]);
});

test('what else prices depend on', async () => {
  const regions: [string, string, string, string?][] = [
    ['openai', 'https://eu.api.openai.com', 'gpt-5.4'],
    ['openai', 'https://api.openai.com', 'gpt-5.4'],
    ['openai', 'https://eu.api.openai.com', 'gpt-5.3'],
    ['xai', 'https://us.api.x.ai', 'grok-4'],
    ['vertex', 'https://x.googleapis.com', 'claude-opus-4-5', '/v1/locations/eu/'],
    ['vertex', 'https://x.googleapis.com', 'claude-opus-4-5', '/v1/locations/global/'],
    ['mock', 'https://eu.api.openai.com', 'gpt-5.4'],
  ];
  const services: [string, unknown, string][] = [
    ['service_tier', 'priority', 'openai/gpt-4o'],
    ['service_tier', 'priority', 'gpt-4o-mini'],
    ['service_tier', 'priority', 'o4-mini'],
    ['service_tier', 'priority', 'unknown'],
    ['service_tier', 'auto', 'unknown'],
    ['service_tier', 'toString', 'gpt-4o'],
    ['service_tier', 5, 'gpt-4o'],
    ['toString', 'x', 'gpt-4o'],
    ['inference_geo', 'us', 'claude-opus-4-6'],
    ['speed', 'fast', 'claude-opus-4-7'],
  ];
  const fees: [string, string][] = [
    ...['web_search', 'container', 'code_execution', 'mcp', 'nothing', 'toString'].map(
      (name): [string, string] => ['openai', name],
    ),
    ['xai', 'code_execution'],
    ['xai', 'file_search'],
    ['toString', 'web_search'],
  ];
  const own = { container: { nanoUsd: 7 }, mine: { nanoUsd: 8 }, web_search: { nanoUsd: 9 } };
  const patterns = [
    ...['^a+b', 'a+b', '^a+b+', '^a+|b', '(a|b)c', '(^a+|b)', 'a{3}b?', 'a??', '+a', '(a)+', '(a)?', 'a|*'],
    ...[
      'a|b'.repeat(6),
      'a?b|'.repeat(6),
      'a?b|'.repeat(7),
      '[a-z]+',
      '^[a-z]+$',
      '^\\d*x',
      '\\p{L}',
      '(?=a)b',
      '(?<!a)b',
      '',
    ],
  ];
  await expectFrozen(import.meta.dirname, 'other-prices', [
    ...regions.map(([name, origin, model, basePath]) =>
      row(
        `${name} at ${origin}${basePath ?? ''} ${model}`,
        () => regionalCard(CARD, { name, origin, ...(basePath && { basePath }) }, model)?.source,
      ),
    ),
    row('no card in a region', () =>
      regionalCard(undefined, { name: 'xai', origin: 'https://us.api.x.ai' }, 'g'),
    ),
    row(
      'an own price in a region',
      () =>
        regionalCard(
          { ...CARD, source: 'override m' },
          { name: 'q', knownAs: 'xai', origin: 'https://us.api.x.ai' },
          'g',
        )?.source,
    ),
    ...services.map(([field, value, model]) =>
      row(`${field} ${value} ${model}`, () => serviceFactor(field, value, model)),
    ),
    row('two services', () => factorOf({ inference_geo: 'us', speed: 'fast', x: 'y' }, 'claude-opus-4-7')),
    ...fees.map(([provider, name]) => row(`${provider} ${name}`, () => toolFee(provider, name, {}))),
    ...fees.map(([provider, name]) =>
      row(`${provider} ${name}, own fees`, () => toolFee(provider, name, own)),
    ),
    row('an own tool', () => toolFee('openai', 'mine', own)),
    row('learnt deployments', () => [
      learntDeployments('x'),
      deploymentsWith({ a: { model: 'm', at: 1 }, b: { model: 'n', at: 2 } }, { b: 'own' }),
      deploymentsWith(undefined, undefined),
    ]),
    ...patterns.map((source) => row(`/${source}/`, () => isLinear(source))),
  ]);
});
