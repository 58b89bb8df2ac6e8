import type { ResponseHeaders } from '../../routing/rate-limits.ts';

/** Whether the headers of an answer, a flat list, say that one of the provider's rate limits is used up. */
export function isLimitExhausted(headers: readonly string[]): boolean {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i + 1] === '0' && /^(x-ratelimit-remaining|anthropic-ratelimit-)/.test(headers[i] ?? ''))
      return true;
  }
  return false;
}

/** Headers by name. Of repeated headers the first counts. */
export function headersByName(headers: readonly string[]): ResponseHeaders {
  const record: Record<string, string | undefined> = Object.create(null);
  for (let i = 0; i < headers.length; i += 2) record[headers[i] ?? ''] ??= headers[i + 1];
  return record;
}
