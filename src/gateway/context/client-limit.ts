import type { Exchange } from './exchange.ts';

/** How long a client waits for an answer, as it says itself: the header is of the SDKs of OpenAI and Anthropic. */
export function clientLimitMs({ request }: Pick<Exchange, 'request'>): number {
  const seconds = Number(request.headers['x-stainless-timeout']);
  return seconds > 0 ? seconds * 1_000 : Number.POSITIVE_INFINITY;
}
