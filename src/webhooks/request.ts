import type { Calendar } from '../calendar.ts';
import type { Claim } from '../store/webhooks/outbox.ts';
import { eventBody, type WebhookEvent } from './event-body.ts';
import { CHAT_FORMATS } from './format/chat.ts';
import { describe } from './format/message.ts';
import type { Post } from './send.ts';
import { signatureHeaders } from './sign.ts';

/** What an attempt needs of its claim; a test of an endpoint makes one of its own. */
export type Outgoing = Pick<
  Claim,
  | 'url'
  | 'format'
  | 'secret'
  | 'oldSecret'
  | 'oldSecretUntil'
  | 'project'
  | 'eventId'
  | 'type'
  | 'eventAt'
  | 'data'
> &
  Partial<Pick<Claim, 'eventCount' | 'since'>>;

/** The POST of one attempt: the body in the endpoint's format, signed over its bytes with the time of the attempt. */
export function buildPost(outgoing: Outgoing, { calendar, now }: { calendar: Calendar; now: number }): Post {
  const { url, secret, oldSecret, oldSecretUntil } = outgoing;
  const oldSigns = oldSecret !== null && oldSecretUntil !== null && now < oldSecretUntil;
  const secrets = oldSigns ? [secret, oldSecret] : [secret];
  const body = Buffer.from(bodyOf(outgoing, calendar));
  const signed = signatureHeaders({ id: outgoing.eventId, timestamp: Math.floor(now / 1000), body, secrets });
  return {
    url,
    headers: { 'content-type': 'application/json', 'user-agent': 'gw-webhooks', ...signed },
    body,
    secrets: [...secrets, ...secretsOfUrl(outgoing)],
  };
}

function bodyOf(outgoing: Outgoing, calendar: Calendar): string {
  const { format, eventId, type, eventAt, project, data, eventCount, since } = outgoing;
  const event: WebhookEvent = { id: eventId, type, createdAt: eventAt, project, data };
  if (format === 'json') return eventBody(event);
  const told = { ...(eventCount !== undefined && { eventCount }), ...(since !== undefined && { since }) };
  return JSON.stringify(CHAT_FORMATS[format](describe(event, { calendar, ...told })));
}

/** A chat's path is its secret, whole or by its last part; a program's may be in its query. */
function secretsOfUrl({ url: text, format }: Outgoing): string[] {
  const url = new URL(text);
  const path = format === 'json' ? [] : [text, url.pathname, url.pathname.split('/').at(-1) ?? ''];
  return [...path, url.search, ...url.searchParams.values()];
}
