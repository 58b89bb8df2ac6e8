import type { Target } from '../state/resolver.ts';
import type { RequestContext } from './request-context.ts';

/**
 * Bounds the input tokens of a request by the provider's own count. That is a round trip with the whole prompt, so it is
 * for requests that no other bound admits.
 */
export interface InputCounter {
  /** Whether the provider can be asked, and its count would cover all that the request is billed for. */
  mayAsk(context: RequestContext, target: Target): boolean;
  /** The bound that an earlier count of the same prompt gave; undefined if there was none within the hour. */
  recall(context: RequestContext, target: Target): number | undefined;
  /** Asks once for each prompt. Undefined if no count comes in time. */
  ask(context: RequestContext, target: Target): Promise<number | undefined>;
}
