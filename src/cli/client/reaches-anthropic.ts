import type { Context } from '../context.ts';
import { knownProviders } from '../providers/known-providers.ts';
import { remoteOf } from '../remote/connection.ts';

/** Whether requests for Anthropic's models end at its own API. Of a gw elsewhere that is assumed. */
export function reachesAnthropic(context: Context, { subscription }: { subscription: boolean }): boolean {
  if (subscription || remoteOf(context)) return true;
  const origin = knownProviders(context).providers.get('anthropic')?.origin;
  return origin !== undefined && /(?:^|\.)anthropic\.com$/.test(new URL(origin).hostname);
}
