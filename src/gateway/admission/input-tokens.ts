import { modelLimits } from '../../pricing/limits.ts';
import { tokenBound } from '../../tokens/bound.ts';
import { encodingOf } from '../../tokens/encoding.ts';
import type { NonTextInput } from '../../wire/request/non-text-input.ts';
import { nonTextTokens } from '../../wire/request/non-text-input.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { InputBound } from '../state/input-bound.ts';
import type { Target } from '../state/resolver.ts';

/** Tokens that a provider adds to any request. */
const TOKENS_PER_REQUEST = 64;

/** Tokens that a provider adds to each message, tool or field. */
const TOKENS_PER_ITEM = 16;

/** Tools make the provider add instructions: about 2,200 tokens for Anthropic's computer, editor and shell tools. */
const TOKENS_FOR_TOOLS = 2_500;

function overheadTokens({ request }: RequestContext): number {
  return TOKENS_PER_REQUEST + (request.members.some(({ key }) => key === 'tools') ? TOKENS_FOR_TOOLS : 0);
}

/** Upper bound of the input tokens without counting: a token is at least one byte, and JSON only makes text longer. */
export function inputBound(context: RequestContext, target: Target): number {
  const { bytes, nonText } = context.request;
  return bytes.length + overheadTokens(context) + nonTextBound(nonText, target);
}

/** Upper bound, in tokens, of input that the request only refers to: images, files, stored context. */
export function nonTextBound(nonText: NonTextInput, { provider, model }: Target): number {
  if (nonText.images === 0 && !nonText.context) return 0;
  return nonTextTokens(nonText, model, modelLimits(provider.name, model)?.contextTokens);
}

/** Counts the input tokens exactly where the model's tokenizer is known; never more than `bound`. */
export async function countInput(
  gateway: Pick<Gateway, 'tokens'>,
  context: RequestContext,
  target: Target,
  bound: number,
): Promise<number> {
  const encoding = encodingOf(target.model);
  const { texts, items, tokens, nonText } = context.wire.promptOf(context.request);
  const textTokens = encoding
    ? await gateway.tokens.count(texts, encoding).catch(() => bound)
    : texts.reduce((sum, text) => sum + tokenBound(text), 0);
  const overhead = overheadTokens(context) + items * TOKENS_PER_ITEM;
  return Math.min(bound, textTokens + tokens + overhead + nonTextBound(nonText, target));
}

/** Whether counting can lower the bound, which takes the bytes of inline images for text. */
export function isCountable({ request: { nonText } }: RequestContext, target: Target): boolean {
  return encodingOf(target.model) !== undefined || nonText.images > 0 || nonText.context;
}

/** What `countInput` gives for a target: an exact count only where the tokenizer is public. */
export function countedBound({ model }: Target): InputBound {
  return encodingOf(model) ? 'exact' : 'bytes';
}
