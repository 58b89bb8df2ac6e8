import type { RawHeaders } from '../../raw-headers.ts';

/** Whether the headers of an answer, a flat list, say that one of the provider's rate limits is used up. */
export function isLimitExhausted(headers: RawHeaders): boolean {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i + 1] === '0' && /^(x-ratelimit-remaining|anthropic-ratelimit-)/.test(headers[i] ?? ''))
      return true;
  }
  return false;
}
