import { headerOf } from '../../raw-headers.ts';
import type { Redactor } from '../../redact.ts';
import { messageIdIn } from '../../wire/answer/message-id.ts';
import { openingOf } from './opening.ts';
import type { Relay } from './relay.ts';

/** The provider's id of a good answer; empty if it has none or can't be read. */
export function upstreamMessageId(relay: Relay, credential: Redactor): string {
  if (relay.status >= 300) return '';
  const answer = openingOf(relay);
  return answer ? credential.redact(messageIdIn(answer, relay.isStream)) : '';
}

const MAX_LENGTH = 128;

/** The provider's id of the request, by the header that OpenAI and Anthropic send; empty without one. */
export function upstreamRequestId({ headers }: Relay): string {
  const id = headerOf(headers, 'x-request-id') ?? headerOf(headers, 'request-id') ?? '';
  return id.length <= MAX_LENGTH ? id : '';
}
