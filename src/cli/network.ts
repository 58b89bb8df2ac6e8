import type { Network } from '../network/network.ts';
import type { Context } from './context.ts';
import { readSettings } from './settings.ts';

/** The way out to other machines, by this machine's settings and the environment. Loads the HTTP client. */
export async function networkOf(context: Context): Promise<Network> {
  const { settings } = readSettings(context);
  const { createNetwork } = await import('../network/network.ts');
  return createNetwork({
    proxyUrl: settings['proxy.url'],
    caFile: settings['tls.ca_file'],
    env: context.env,
  });
}
