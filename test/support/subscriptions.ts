import { SUBSCRIPTIONS, type Subscriptions } from '../../src/providers/subscriptions.ts';
import type { Upstream } from './upstream.ts';

/** The services of logins, on a scripted upstream. */
export function subscriptionsAt({ port }: Pick<Upstream, 'port'>): Subscriptions {
  const origin = `http://127.0.0.1:${port}`;
  const { claude, chatgpt } = SUBSCRIPTIONS;
  return { claude: { ...claude, origin }, chatgpt: { ...chatgpt, origin } };
}
