import type { RequestId } from '../../ids.ts';
import { formatRequestId } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import { NANO_PER_USD } from '../../money.ts';

/** What gw says about a completion in its headers. */
export interface ServiceHeaders {
  id: RequestId;
  model: string;
  provider: string;
  route: string;
  savedTokens: number;
  /** Undefined where it is not known. */
  costNanoUsd: NanoUsd | undefined;
  /** Null without budgets. */
  remainingNanoUsd: NanoUsd | null;
  /** Asked once more, it would be answered the same. */
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
  if (about.costNanoUsd !== undefined) headers.push('x-service-cost-usd', decimal(about.costNanoUsd));
  if (about.remainingNanoUsd !== null) {
    headers.push('x-service-budget-remaining-usd', decimal(Math.max(0, about.remainingNanoUsd)));
  }
  // The libraries of OpenAI and Anthropic ask again after any 429 unless this says otherwise.
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

/** Model names come from clients, and a header takes only printable ASCII. */
function printable(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  // By way of bytes, since a lone surrogate is no text to encodeURIComponent.
  return encodeURIComponent(Buffer.from(text).toString());
}
