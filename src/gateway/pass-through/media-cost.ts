import { hasNoTokenPrice, worstCase } from '../../pricing/cost.ts';
import { modelLimits } from '../../pricing/limits.ts';
import type { MediaPrices } from '../../pricing/media-prices.ts';
import { nanoFromPico } from '../../pricing/pico.ts';
import type { PriceCard } from '../../pricing/price-card.ts';
import type { MediaCost } from '../admission/quote.ts';
import type { Target } from '../state/resolver.ts';
import { audioSeconds } from './audio-length.ts';
import { generatesOnce } from './endpoints.ts';
import { type MediaRequest, readMediaRequest } from './media-request.ts';

/** A call of an endpoint for media, and what is known of its model's prices. */
export interface MediaCall {
  method: string;
  path: string;
  contentType: string;
  bytes: Buffer;
  /** The requested number of pictures. */
  pieces: number;
  target: Target;
  prices: MediaPrices | undefined;
  card: PriceCard | undefined;
}

/** The most that a call for media can cost, by what it asks for. Undefined where nothing bounds it. */
export function mediaCost(call: MediaCall): MediaCost | undefined {
  const { method, path, card, pieces } = call;
  if (!generatesOnce(method, path)) return undefined;
  const fee = card ? nanoFromPico(card.perRequestPicoUsd * BigInt(pieces)) : 0;
  if (card && fee > 0 && hasNoTokenPrice(card)) return { amount: fee, isPrice: true };
  const request = readMediaRequest(call.bytes, call.contentType);
  const [, kind = ''] = path.split('/');
  return request && READERS[kind]?.(call, request);
}

type Reader = (call: MediaCall, request: MediaRequest) => MediaCost | undefined;

const READERS: Readonly<Record<string, Reader>> = {
  images: imageCost,
  audio: (call, request) => (call.path === '/audio/speech' ? speechCost : recordingCost)(call, request),
  videos: videoCost,
  moderations: ({ bytes, card, target }) =>
    MODERATORS.has(target.provider.name) ? tokenCost(card, bytes.length, 0) : undefined,
  // A reranker reads the query with each document.
  rerank: ({ bytes, card, target }, request) =>
    RERANKERS.has(target.provider.name)
      ? tokenCost(
          card,
          bytes.length + Buffer.byteLength(request.text('query')) * request.count('documents'),
          0,
        )
      : undefined,
};

/** Bill the input's tokens, and answer with scores alone: https://docs.mistral.ai/api/#tag/classifiers */
const MODERATORS: ReadonlySet<string> = new Set(['mistral']);
/** The same: https://jina.ai/reranker/, https://docs.voyageai.com/docs/reranker */
const RERANKERS: ReadonlySet<string> = new Set(['jina', 'voyage']);

/** Undefined without a price. What costs nothing by its tokens may have another price, which nobody has set. */
function tokenCost(
  card: PriceCard | undefined,
  inputTokens: number,
  outputTokens: number,
): MediaCost | undefined {
  if (!card || hasNoTokenPrice(card)) return undefined;
  return { amount: worstCase({ inputTokens, outputTokens, choices: 1 }, card), isPrice: false };
}

const priced = (picoUsd: bigint): MediaCost => ({ amount: nanoFromPico(picoUsd), isPrice: true });

function imageCost(call: MediaCall, request: MediaRequest): MediaCost | undefined {
  const { prices, card, pieces, bytes, target } = call;
  const [size, quality] = [request.text('size'), request.text('quality')];
  const price = prices?.image?.(size, quality);
  if (price !== undefined) return priced(price * BigInt(pieces));
  const tokens = imageTokens(target.model, size, quality);
  if (tokens === undefined) return undefined;
  const files = request.files.reduce((sum, file) => sum + file.length, 0);
  const inputs = ['image', 'images', 'mask'].reduce((sum, name) => sum + request.count(name), 0);
  const partial = Number(request.text('partial_images') || 0);
  if (!(partial >= 0 && partial <= MAX_PARTIAL_IMAGES)) return undefined;
  const inputTokens = bytes.length - files + inputs * INPUT_IMAGE_TOKENS;
  return tokenCost(card, inputTokens, (tokens + partial * PARTIAL_IMAGE_TOKENS) * pieces);
}

/**
 * Output tokens of a picture by quality: square, and of other sizes. From the tables and prices at
 * https://developers.openai.com/api/docs/guides/image-generation#calculating-costs. gpt-image-2 has no table.
 */
const IMAGE_TOKENS: Readonly<Record<string, Readonly<Record<string, readonly [number, number]>>>> = {
  'gpt-image-1': { low: [272, 408], medium: [1_056, 1_584], high: [4_160, 6_240] },
  'gpt-image-1.5': { low: [272, 408], medium: [1_056, 1_584], high: [4_160, 6_240] },
  'gpt-image-1-mini': { low: [625, 750], medium: [1_375, 1_875], high: [4_500, 6_500] },
};
/** Each partial picture of a stream: the same page. */
const PARTIAL_IMAGE_TOKENS = 100;
const MAX_PARTIAL_IMAGES = 3;
/** A picture in the input, of high fidelity, in four tiles: https://developers.openai.com/api/docs/guides/images-vision#calculating-costs */
const INPUT_IMAGE_TOKENS = 65 + 4 * 129 + 6_240;

/** The most, if the request leaves the choice to the model. */
function imageTokens(model: string, size: string, quality: string): number | undefined {
  const table = IMAGE_TOKENS[model.replace(/-\d{4}-\d\d-\d\d$/, '')];
  const [square, other] = table?.[quality === '' || quality === 'auto' ? 'high' : quality] ?? [];
  if (size === '1024x1024') return square;
  return ['', 'auto', '1024x1536', '1536x1024'].includes(size) ? other : undefined;
}

function speechCost({ prices }: MediaCall, request: MediaRequest): MediaCost | undefined {
  return prices?.character === undefined
    ? undefined
    : priced(prices.character * BigInt(request.text('input').length));
}

/** A request at Groq counts as ten seconds at least: https://groq.com/pricing */
const LEAST_SECONDS: Readonly<Record<string, number>> = { groq: 10 };

function recordingCost({ prices, card, target }: MediaCall, request: MediaRequest): MediaCost | undefined {
  const second = prices?.second?.('');
  const [file, other] = request.files;
  if (second !== undefined) {
    const seconds = file && !other ? audioSeconds(file) : undefined;
    if (seconds === undefined) return undefined;
    const least = LEAST_SECONDS[target.provider.name] ?? 1;
    const billed = Math.max(Math.ceil(seconds), least);
    return { ...priced(second * BigInt(billed)), second: { picoUsd: second, least } };
  }
  const { contextTokens } = modelLimits(target.provider.name, target.model) ?? {};
  return TRANSCRIBES.test(target.model) && contextTokens !== undefined
    ? tokenCost(card, contextTokens, TRANSCRIPT_TOKENS)
    : undefined;
}

/** Models whose recordings fit their context: https://developers.openai.com/api/docs/models/gpt-4o-transcribe */
const TRANSCRIBES = /^gpt-4o(?:-mini)?-transcribe/;
const TRANSCRIPT_TOKENS = 2_000;

/** https://platform.openai.com/docs/api-reference/videos/create: four seconds, unless the request has others. */
function videoCost({ prices }: MediaCall, request: MediaRequest): MediaCost | undefined {
  const second = prices?.second?.(request.text('size'));
  const seconds = Number(request.text('seconds') || '4');
  return second === undefined || !(seconds > 0 && seconds <= MAX_VIDEO_SECONDS)
    ? undefined
    : priced(second * BigInt(Math.ceil(seconds)));
}

const MAX_VIDEO_SECONDS = 3_600;
