import { modelLimits } from '../../pricing/limits.ts';
import { tokenBound } from '../../tokens/bound.ts';
import { encodingOf } from '../../tokens/encoding.ts';
import type { NonTextInput } from '../../wire/request/non-text-input.ts';
import { nonTextTokens } from '../../wire/request/non-text-input.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolve.ts';

/** Added for what a provider puts around messages and tools of its own accord. */
const TOKENS_PER_REQUEST = 64;

const TOKENS_PER_ITEM = 16;

/** Tools make a provider instruct the model: Anthropic's own ones (computer, editor, shell) with some 2,200 tokens. */
const TOKENS_FOR_TOOLS = 2_500;

function tokensAround({ request }: RequestContext): number {
  return TOKENS_PER_REQUEST + (request.members.some(({ key }) => key === 'tools') ? TOKENS_FOR_TOOLS : 0);
}

/** No token is shorter than a byte, and JSON only makes text longer. */
export function inputBound(context: RequestContext, target: Target): number {
  const { bytes, nonText } = context.request;
  return bytes.length + tokensAround(context) + nonTextBound(nonText, target);
}

/** The most that the input which the request only points at may be, in tokens. */
export function nonTextBound(nonText: NonTextInput, { provider, model }: Target): number {
  if (nonText.images === 0 && !nonText.context) return 0;
  return nonTextTokens(nonText, model, modelLimits(provider.name, model)?.contextTokens);
}

export async function exactInput(
  gateway: Gateway,
  context: RequestContext,
  target: Target,
  bound: number,
): Promise<number> {
  const encoding = encodingOf(target.model);
  const { texts, items, tokens, nonText } = context.wire.promptOf(context.request);
  const counted = encoding
    ? await gateway.tokens.count(texts, encoding).catch(() => bound)
    : texts.reduce((sum, text) => sum + tokenBound(text), 0);
  const around = tokensAround(context) + items * TOKENS_PER_ITEM;
  return Math.min(bound, counted + tokens + around + nonTextBound(nonText, target));
}

/** The quick look takes the bytes of images for text, and more for files than there are. */
export function isCountable({ request: { nonText } }: RequestContext, target: Target): boolean {
  return encodingOf(target.model) !== undefined || nonText.images > 0 || nonText.context;
}
