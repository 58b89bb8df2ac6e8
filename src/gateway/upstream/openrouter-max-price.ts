import { GwError } from '../../errors.ts';
import { type Edit, insertMember, moved, replaceValue } from '../../json/edit.ts';
import { isObject } from '../../json/object.ts';
import { type Member, readValue, scanObject } from '../../json/scan.ts';
import type { PriceCard } from '../../pricing/price-card.ts';
import { describeError, parseObject } from '../../wire/answer/events.ts';
import { imageTokens } from '../../wire/request/non-text-input.ts';
import type { AdmittedRequest } from '../admission/admitted.ts';
import type { Gateway } from '../context/gateway.ts';

/** The only provider that chooses among hosts of different prices. */
const MARKET = 'openrouter';
/** The endpoints that have the field. */
const PATHS = new Set(['/chat/completions', '/completions', '/responses', '/embeddings']);

/**
 * The most that a host may ask, in dollars per million tokens, per request and per image:
 * https://openrouter.ai/docs/features/provider-routing#max-price
 */
interface MaxPrice {
  prompt: number;
  completion: number;
  request: number;
  image?: number;
}

/**
 * Keeps OpenRouter from choosing a host above the listed prices when a budget holds those. Lower limits in the request
 * stay, and so does the rest of its `provider` field.
 */
export function maxPriceEdits(request: AdmittedRequest): Edit[] {
  const ceiling = maxPriceOf(request);
  if (!ceiling) return [];
  const { bytes, members } = request.context.request;
  const providers = members.filter(({ key }) => key === 'provider');
  if (providers.length === 0)
    return [insertMember(members, 'provider', JSON.stringify({ max_price: ceiling }))];
  return providers.flatMap((member) => withCeiling(bytes, member, ceiling));
}

/** Undefined when the target is not OpenRouter's, or the project has no budget. */
function maxPriceOf({ context: { request, wire }, target, admitted }: AdmittedRequest): MaxPrice | undefined {
  const { listed, fallbacks = [] } = admitted.quote;
  const { provider, model } = target;
  if (admitted.remaining === null || provider.name !== MARKET || !PATHS.has(wire.path)) return undefined;
  return (
    listed && ceilingFrom([listed, ...fallbacks], request.nonText.images > 0 ? imageTokens(model) : undefined)
  );
}

/** `cards`: of all models that may answer, since the request has one ceiling for them. */
function ceilingFrom(cards: readonly PriceCard[], perImage: number | undefined): MaxPrice {
  const most = (read: (card: PriceCard) => bigint) => Math.max(...cards.map((card) => Number(read(card))));
  const prompt = most(({ input }) => input.picoUsd);
  return {
    prompt: upTo(prompt / 1e6),
    completion: upTo(most(({ output }) => output.picoUsd) / 1e6),
    request: upTo(most(({ perRequestPicoUsd }) => perRequestPicoUsd) / 1e12),
    ...(perImage !== undefined && { image: upTo((perImage * prompt) / 1e12) }),
  };
}

/** Slightly more than the price: a comparison per token in floating point may find an equal price above it. */
function upTo(usd: number): number {
  return Number((usd * (1 + 1e-9)).toPrecision(12));
}

function withCeiling(bytes: Buffer, provider: Member, ceiling: MaxPrice): Edit[] {
  const replacement = [replaceValue(provider, JSON.stringify({ max_price: ceiling }))];
  try {
    const members = scanObject(bytes.subarray(provider.start, provider.end));
    const prices = members.filter(({ key }) => key === 'max_price');
    if (members.length === 0) return replacement;
    const edits =
      prices.length === 0
        ? [insertMember(members, 'max_price', JSON.stringify(ceiling))]
        : prices.map((member) => replaceValue(member, lower(bytes, provider.start, member, ceiling)));
    return edits.map((edit) => moved(edit, provider.start));
  } catch {
    // Not an object, or not JSON: OpenRouter could not use it either.
    return replacement;
  }
}

/** The ceiling, or the request's own limits if they are lower. */
function lower(bytes: Buffer, offset: number, { start, end }: Member, ceiling: MaxPrice): string {
  const own = readValue(bytes, { start: offset + start, end: offset + end });
  const limits: Record<string, unknown> = isObject(own) ? { ...own } : {};
  for (const [kind, most] of Object.entries(ceiling)) {
    if (!isPriceWithin(limits[kind], most)) limits[kind] = most;
  }
  return JSON.stringify(limits);
}

/** Whether a limit is a price, as a number or a string, up to `most`. */
function isPriceWithin(value: unknown, most: number): boolean {
  if (typeof value !== 'number' && (typeof value !== 'string' || value.trim() === '')) return false;
  const price = Number(value);
  return price >= 0 && price <= most;
}

/** OpenRouter's messages: "No endpoints found that ...", "No allowed providers are available ...", "... by Max Price". */
const NO_HOST = /no endpoints found|no allowed providers|max[ _]?price/i;

/** Explains that OpenRouter has no host within the ceiling, which gw wrote and the client has not seen. */
export function noHostError(
  { settings }: Pick<Gateway, 'settings'>,
  request: AdmittedRequest,
  answer: { body(): string },
): GwError | undefined {
  const ceiling = settings()['admission.host_price'] === 'listed' ? maxPriceOf(request) : undefined;
  const body = ceiling ? answer.body() : '';
  if (!ceiling || !NO_HOST.test(body)) return undefined;
  const { provider, model } = request.target;
  const message = describeError(parseObject(body)?.error);
  return new GwError(
    `${provider.name} has no host for ${model} that takes this request: ${message}. A budget holds the listed price, so gw asks ` +
      `for hosts at up to $${priceText(ceiling.prompt)} in and $${priceText(ceiling.completion)} out per million tokens. ` +
      `If prices have risen: gw prices set ${provider.name}/${model} --input X --output Y. ` +
      'To accept any price: gw config set admission.host_price any',
    { status: 404, type: 'not_found_error', code: 'no_host_at_price' },
  );
}

const priceText = (usd: number): string => String(Number(usd.toPrecision(6)));
