import type { Calendar } from '../calendar.ts';
import type { Claim } from '../store/webhooks/outbox.ts';
import { eventBody, type WebhookEvent } from './event-body.ts';
import { CHAT_FORMATS, ntfyAddress } from './format/chat.ts';
import { describe } from './format/message.ts';
import type { Post } from './send.ts';
import { signatureHeaders } from './sign.ts';

/** The fields of a claim that an attempt needs. Test events have no claim and provide their own. */
export type Outgoing = Omit<
  Claim,
  'id' | 'claims' | 'attempts' | 'endpointId' | 'lapsesAt' | 'eventCount' | 'since'
> &
  Partial<Pick<Claim, 'eventCount' | 'since'>>;

/** Builds the POST of an attempt: the body in the endpoint's format, signed with the attempt's time. */
export function buildPost(outgoing: Outgoing, { calendar, now }: { calendar: Calendar; now: number }): Post {
  const { secret, oldSecret, oldSecretUntil } = outgoing;
  const url = outgoing.format === 'ntfy' ? ntfyAddress(outgoing.url).url : outgoing.url;
  const isRotating = oldSecret !== null && oldSecretUntil !== null && now < oldSecretUntil;
  const secrets = isRotating ? [secret, oldSecret] : [secret];
  const body = Buffer.from(bodyOf(outgoing, calendar));
  const signatures = signatureHeaders({
    id: outgoing.eventId,
    timestamp: Math.floor(now / 1000),
    body,
    secrets,
  });
  return {
    url,
    headers: { 'content-type': 'application/json', 'user-agent': 'gw-webhooks', ...signatures },
    body,
    secrets: [...secrets, ...secretsOfUrl(outgoing)],
  };
}

function bodyOf(outgoing: Outgoing, calendar: Calendar): string {
  const { format, eventId, type, eventAt, project, eventCount, since } = outgoing;
  const event: WebhookEvent = { id: eventId, type, createdAt: eventAt, project, data: dataOf(outgoing) };
  if (format === 'json') return eventBody(event);
  const summary = { ...(eventCount !== undefined && { eventCount }), ...(since !== undefined && { since }) };
  const message = CHAT_FORMATS[format](describe(event, { calendar, ...summary }));
  if (format !== 'ntfy') return JSON.stringify(message);
  return JSON.stringify({ topic: ntfyAddress(outgoing.url).topic, ...message });
}

/** The event's data. For blocked requests: the last event's data with a summary of all. */
function dataOf({ type, data, eventCount = 1, eventAt, since = eventAt }: Outgoing): string {
  if (type !== 'request.blocked') return data;
  const summary = {
    count: eventCount,
    first_at: new Date(since).toISOString(),
    last_at: new Date(eventAt).toISOString(),
  };
  return JSON.stringify({ ...JSON.parse(data), ...summary });
}

/** Secrets in a URL: a chat's path and its last segment; otherwise the query, which may contain a token. */
function secretsOfUrl({ url: text, format }: Outgoing): string[] {
  const url = new URL(text);
  const path = format === 'json' ? [] : [text, url.pathname, url.pathname.split('/').at(-1) ?? ''];
  return [...path, url.search, ...url.searchParams.values()];
}
