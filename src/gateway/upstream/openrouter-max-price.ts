import { GwError } from '../../errors.ts';
import { type Edit, insertMember, moved, replaceValue } from '../../json/edit.ts';
import { isObject } from '../../json/object.ts';
import { type Member, readValue, scanObject } from '../../json/scan.ts';
import type { PriceCard } from '../../pricing/price-card.ts';
import { describeError, parseObject } from '../../wire/answer/events.ts';
import { nonTextTokens } from '../../wire/request/non-text-input.ts';
import type { Sending } from '../admission/admitted.ts';
import type { Gateway } from '../context/gateway.ts';

/** OpenRouter alone chooses among hosts of several prices, and these endpoints have the field. */
const MARKET = 'openrouter';
const PATHS = new Set(['/chat/completions', '/completions', '/responses', '/embeddings']);

/**
 * The most that a host may ask, in dollars per million tokens, per request and per image:
 * https://openrouter.ai/docs/features/provider-routing#max-price
 */
export interface MaxPrice {
  prompt: number;
  completion: number;
  request: number;
  image?: number;
}

/**
 * Keeps OpenRouter, where a budget held for the listed prices, from choosing a dearer host; a lower limit of the
 * request's own stays, and the rest of its `provider` as well.
 */
export function maxPriceEdits(sending: Sending): Edit[] {
  const ceiling = maxPriceOf(sending);
  if (!ceiling) return [];
  const { bytes, members } = sending.context.request;
  const given = members.filter(({ key }) => key === 'provider');
  if (given.length === 0) return [insertMember(members, 'provider', JSON.stringify({ max_price: ceiling }))];
  return given.flatMap((member) => withCeiling(bytes, member, ceiling));
}

/** Undefined where a request goes elsewhere, or no budget holds for it. */
export function maxPriceOf({ context: { request, wire }, target, admitted }: Sending): MaxPrice | undefined {
  const { listed } = admitted.quote;
  const { provider, model } = target;
  if (admitted.remaining === null || provider.name !== MARKET || !PATHS.has(wire.path)) return undefined;
  return listed && ceilingFrom(listed, request.nonText.images > 0 ? imageTokens(model) : undefined);
}

function imageTokens(model: string): number {
  return nonTextTokens({ images: 1, context: false }, model);
}

function ceilingFrom(
  { input, output, perRequestPicoUsd }: PriceCard,
  perImage: number | undefined,
): MaxPrice {
  const prompt = Number(input.picoUsd);
  return {
    prompt: upTo(prompt / 1e6),
    completion: upTo(Number(output.picoUsd) / 1e6),
    request: upTo(Number(perRequestPicoUsd) / 1e12),
    ...(perImage !== undefined && { image: upTo((perImage * prompt) / 1e12) }),
  };
}

/** A breath more, as who compares prices by the token in floating point may find the very same price above it. */
function upTo(usd: number): number {
  return Number((usd * (1 + 1e-9)).toPrecision(12));
}

function withCeiling(bytes: Buffer, provider: Member, ceiling: MaxPrice): Edit[] {
  const alone = [replaceValue(provider, JSON.stringify({ max_price: ceiling }))];
  try {
    const members = scanObject(bytes.subarray(provider.start, provider.end));
    const given = members.filter(({ key }) => key === 'max_price');
    if (members.length === 0) return alone;
    const edits =
      given.length === 0
        ? [insertMember(members, 'max_price', JSON.stringify(ceiling))]
        : given.map((member) => replaceValue(member, lower(bytes, provider.start, member, ceiling)));
    return edits.map((edit) => moved(edit, provider.start));
  } catch {
    // No object, or a text inside that is none: nobody could heed it.
    return alone;
  }
}

/** The request's own limits where they are lower. */
function lower(bytes: Buffer, offset: number, { start, end }: Member, ceiling: MaxPrice): string {
  const own = readValue(bytes, { start: offset + start, end: offset + end });
  const limits: Record<string, unknown> = isObject(own) ? { ...own } : {};
  for (const [kind, most] of Object.entries(ceiling)) {
    if (!isPriceWithin(limits[kind], most)) limits[kind] = most;
  }
  return JSON.stringify(limits);
}

/** Prices may be texts. */
function isPriceWithin(value: unknown, most: number): boolean {
  if (typeof value !== 'number' && (typeof value !== 'string' || value.trim() === '')) return false;
  const price = Number(value);
  return price >= 0 && price <= most;
}

/** "No endpoints found that ...", "No allowed providers are available ...", a step that filters "by Max Price". */
const NO_HOST = /no endpoints found|no allowed providers|max[ _]?price/i;

/** What to tell where OpenRouter has no host within the ceiling that gw wrote, of which the client knows nothing. */
export function noHostError(
  { settings }: Pick<Gateway, 'settings'>,
  sending: Sending,
  answer: { body(): string },
): GwError | undefined {
  const ceiling = settings()['admission.host_price'] === 'listed' ? maxPriceOf(sending) : undefined;
  const body = ceiling ? answer.body() : '';
  if (!ceiling || !NO_HOST.test(body)) return undefined;
  const { provider, model } = sending.target;
  const said = describeError(parseObject(body)?.error);
  return new GwError(
    `${provider.name} has no host for ${model} to send this request to: ${said}. A budget holds for the listed price, so gw asks ` +
      `for hosts at up to $${priceText(ceiling.prompt)} in and $${priceText(ceiling.completion)} out per million tokens. ` +
      `If they have become dearer: gw prices set ${provider.name}/${model} --input X --output Y. ` +
      'To leave the price to OpenRouter: gw config set admission.host_price any',
    { status: 404, type: 'not_found_error', code: 'no_host_at_price' },
  );
}

const priceText = (usd: number): string => String(Number(usd.toPrecision(6)));
