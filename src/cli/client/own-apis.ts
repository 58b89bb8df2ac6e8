import { type Makers, makerOf } from '../../agents/run/makers.ts';
import type { Context } from '../context.ts';
import { knownProviders } from '../providers/known-providers.ts';
import { remoteOf } from '../remote/connection.ts';
import { readSettings } from '../settings.ts';

/** OpenAI has hosts of its own in some regions: https://developers.openai.com/api/docs/guides/your-data */
const HOSTS: Readonly<Record<keyof Makers, RegExp>> = {
  anthropic: /^api\.anthropic\.com$/,
  openai: /^(?:\w+\.)?api\.openai\.com$/,
};

/**
 * Whose models end at their maker's own API. Claude Code's login goes there whatever gw's providers are, and of a gw
 * elsewhere it is assumed for Anthropic.
 */
export function ownApisReached(context: Context, { subscription }: { subscription: boolean }): Makers {
  if (subscription || remoteOf(context)) return { anthropic: true, openai: false };
  const { providers } = knownProviders(context);
  const redirected = Object.keys(readSettings(context).settings.aliases).map(makerOf);
  const isReached = (maker: keyof Makers) => {
    const origin = providers.get(maker)?.origin;
    return origin !== undefined && HOSTS[maker].test(new URL(origin).hostname) && !redirected.includes(maker);
  };
  return { anthropic: isReached('anthropic'), openai: isReached('openai') };
}
