import { modelLimits } from '../../pricing/limits.ts';
import { tokenBound } from '../../tokens/bound.ts';
import { encodingOf } from '../../tokens/encoding.ts';
import type { Unseen } from '../../wire/request/non-text-input.ts';
import { unseenTokens } from '../../wire/request/non-text-input.ts';
import type { Gateway } from '../context/gateway.ts';
import type { Job } from '../context/request-context.ts';
import type { Target } from '../state/resolve.ts';

/** Added for what a provider puts around messages and tools of its own accord. */
const TOKENS_PER_REQUEST = 64;

const TOKENS_PER_ITEM = 16;

/** Tools make a provider instruct the model: Anthropic's own ones (computer, editor, shell) with some 2,200 tokens. */
const TOKENS_FOR_TOOLS = 2_500;

function tokensAround({ asked }: Job): number {
  return TOKENS_PER_REQUEST + (asked.members.some(({ key }) => key === 'tools') ? TOKENS_FOR_TOOLS : 0);
}

/** No token is shorter than a byte, and JSON only makes text longer. */
export function inputBound(job: Job, target: Target): number {
  const { bytes, unseen } = job.asked;
  return bytes.length + tokensAround(job) + unseenBound(unseen, target);
}

/** The most that the input which the request only points at may be, in tokens. */
export function unseenBound(unseen: Unseen, { provider, model }: Target): number {
  if (unseen.images === 0 && !unseen.context) return 0;
  return unseenTokens(unseen, model, modelLimits(provider.name, model)?.contextTokens);
}

export async function exactInput(gateway: Gateway, job: Job, target: Target, bound: number): Promise<number> {
  const encoding = encodingOf(target.model);
  const { texts, items, tokens, unseen } = job.wire.promptOf(job.asked);
  const counted = encoding
    ? await gateway.tokens.count(texts, encoding).catch(() => bound)
    : texts.reduce((sum, text) => sum + tokenBound(text), 0);
  const around = tokensAround(job) + items * TOKENS_PER_ITEM;
  return Math.min(bound, counted + tokens + around + unseenBound(unseen, target));
}

/** The quick look takes the bytes of images for text, and more for files than there are. */
export function isCountable({ asked: { unseen } }: Job, target: Target): boolean {
  return encodingOf(target.model) !== undefined || unseen.images > 0 || unseen.context;
}
