import { formatRequestId, type RequestId } from '../../ids.ts';
import { NANO_PER_USD, type NanoUsd } from '../../money.ts';

/** The values of gw's own headers of a completion. */
export interface ServiceHeaders {
  id: RequestId;
  model: string;
  provider: string;
  /** The API that the provider was spoken to in; undefined for one that gw doesn't read. */
  api?: string | undefined;
  route: string;
  savedTokens: number;
  /** Undefined when unknown. */
  costNanoUsd: NanoUsd | undefined;
  /** Null without budgets. */
  remainingNanoUsd: NanoUsd | null;
  /** The output limit that gw sent, if it is lower than the client's. */
  maxOutputTokens?: number | undefined;
  /** Whether it was answered from disk; undefined if it was not to be. */
  replay?: 'hit' | 'miss' | undefined;
  /** A retry would fail in the same way. */
  isFinal?: boolean;
}

export function serviceHeaders(about: ServiceHeaders): string[] {
  const headers = [
    'x-service-request-id',
    formatRequestId(about.id),
    'x-service-model',
    printable(about.model),
    'x-service-provider',
    about.provider,
    'x-service-route',
    about.route,
    'x-service-saved-tokens',
    String(about.savedTokens),
  ];
  if (about.api !== undefined) headers.push('x-service-api', about.api);
  if (about.costNanoUsd !== undefined) headers.push('x-service-cost-usd', decimal(about.costNanoUsd));
  if (about.remainingNanoUsd !== null) {
    headers.push('x-service-budget-remaining-usd', decimal(Math.max(0, about.remainingNanoUsd)));
  }
  if (about.maxOutputTokens !== undefined)
    headers.push('x-service-max-output-tokens', String(about.maxOutputTokens));
  if (about.replay) headers.push('x-service-replay', about.replay);
  // The libraries of OpenAI and Anthropic retry every 429 without this header.
  if (about.isFinal) headers.push('x-should-retry', 'false');
  return headers;
}

/** Plain decimals: 0.0000012, never 1.2e-6. */
function decimal(amount: NanoUsd): string {
  const text = (amount / NANO_PER_USD).toFixed(9);
  let end = text.length;
  while (text.charCodeAt(end - 1) === ZERO) end--;
  return text.slice(0, text.charCodeAt(end - 1) === POINT ? end - 1 : end);
}

const ZERO = 0x30;

const POINT = 0x2e;

/** Model names come from clients, and headers allow only printable ASCII. */
function printable(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  // The detour through bytes replaces lone surrogates, at which encodeURIComponent throws.
  return encodeURIComponent(Buffer.from(text).toString());
}
