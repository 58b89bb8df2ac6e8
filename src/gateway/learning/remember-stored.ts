import { readValue } from '../../json/scan.ts';
import type { TokenUsage } from '../../usage.ts';
import type { PromptBlocks } from '../../wire/request/prompt-block.ts';
import { optionsOf } from '../admission/continued-bound.ts';
import { measurePrompt, rewritesJson } from '../admission/measure-prompt.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { ContinuedResponses } from '../state/continued-responses.ts';
import type { BaseScope, NewBase } from '../state/prompt-bases.ts';
import type { Target } from '../state/resolver.ts';

/** Longer ids are no provider's. */
const MAX_ID_LENGTH = 200;

/**
 * Whether a request can continue the answer by its id. Where a template writes calls anew, an answer's tokens don't bound
 * what it adds to a prompt.
 */
export function mayBeContinued({ wire, request, translator }: RequestContext, target: Target): boolean {
  if (wire.path !== '/responses' || translator || request.serverTools || rewritesJson(target)) return false;
  const store = request.members.find(({ key }) => key === 'store');
  return !store || readValue(request.bytes, store) !== false;
}

/** A prompt that the provider has counted, and what it reported. */
interface CountedResponse {
  scope: BaseScope;
  prompt: PromptBlocks;
  target: Target;
  base: NewBase;
  usage: TokenUsage;
}

/** Remembers what a response brings to a request that continues it. */
export function rememberStored(
  { promptBases, continuedResponses }: Pick<Gateway, 'promptBases' | 'continuedResponses'>,
  { scope, prompt, target, base, usage }: CountedResponse,
  id: string,
  source: Parameters<ContinuedResponses['remember']>[3],
): void {
  // What is at an address may be another by then.
  if (id.length > MAX_ID_LENGTH || prompt.blocks.some(({ addressed }) => addressed > 0)) return;
  const before = prompt.previous === undefined ? undefined : continuedResponses.find(scope, prompt.previous);
  if (prompt.previous !== undefined && !before) return;
  const reasoningBefore = before?.reasoningTokens ?? 0;
  // Some report without what they read from a cache.
  if (before && usage.inputTokens + reasoningBefore < before.inputTokens) return;
  const { blocks, tokensOf } = measurePrompt(prompt, target, promptBases);
  const sent = blocks.reduce((sum, { kind }, i) => (kind === 'reasoning' ? sum + tokensOf(i) : sum), 0);
  const response = {
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    reasoningTokens: reasoningBefore + sent + usage.reasoningTokens,
    trailingSpace: base.trailingSpace,
    options: optionsOf(prompt),
  };
  continuedResponses.remember(scope, id, response, source);
}
