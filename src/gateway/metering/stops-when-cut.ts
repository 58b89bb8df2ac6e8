import type { AnyRequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolver.ts';

/** Whether the provider is known to stop generating, and billing, when gw closes the connection. */
export function stopsWhenCut({ context, target }: { context: AnyRequestContext; target: Target }): boolean {
  return target.provider.stopsOnHangUp && context.request.stream;
}
