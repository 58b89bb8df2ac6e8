import { z } from 'zod';
import { badRequest, type GwError } from '../errors.ts';
import { WEBHOOK_FORMATS, type WebhookFormat } from '../store/webhooks/endpoints.ts';
import { DEFAULT_EVENTS, EVENT_TYPES, type EventType } from '../store/webhooks/event-types.ts';
import { type AddressPolicy, refusalOfUrl } from './address-check.ts';
import { ntfyAddress } from './format/chat.ts';
import { isRetiredTeamsUrl, recogniseFormat } from './format/recognise.ts';

const MAX_URL_LENGTH = 2048;

/** Strict: a misspelt field would silently have no effect. */
export const REGISTRATION = z.strictObject({
  url: z.string(),
  events: z.array(z.enum(EVENT_TYPES)).min(1).optional(),
  project_id: z.string().optional(),
  format: z.enum(WEBHOOK_FORMATS).optional(),
});
export const CHANGE = REGISTRATION.omit({ project_id: true })
  .partial()
  .extend({ enabled: z.boolean().optional() });

export interface Registration {
  url: string;
  format: WebhookFormat;
  events: EventType[];
  /** The project's name, if the request has one. */
  project: string | undefined;
}

export type EndpointChange = Partial<Pick<Registration, 'url' | 'format' | 'events'>> & { enabled?: boolean };

/**
 * Parses a registration. `events` defaults to DEFAULT_EVENTS, `format` to the one recognised from the URL. Throws 400.
 */
export function parseRegistration(input: unknown, policy: AddressPolicy): Registration {
  const { url, events, project_id, format } = parse(REGISTRATION, input);
  const parsed = checkUrl(url, policy);
  checkTopic(parsed, format);
  return {
    url: asWritten(url, parsed),
    format: format ?? recogniseFormat(parsed),
    events: uniqueEvents(events ?? DEFAULT_EVENTS),
    project: project_id,
  };
}

/** Parses a change of a webhook with format `current`. A new URL changes the format, unless it is set. Throws 400. */
export function parseChange(input: unknown, policy: AddressPolicy, current: WebhookFormat): EndpointChange {
  const { url, events, format, enabled } = parse(CHANGE, input);
  const parsed = url === undefined ? undefined : checkUrl(url, policy);
  const newFormat = format ?? (parsed && formatOfNewUrl(parsed, current));
  if (parsed) checkTopic(parsed, newFormat);
  return {
    ...(parsed && { url: asWritten(url ?? '', parsed) }),
    ...(newFormat && { format: newFormat }),
    ...(events && { events: uniqueEvents(events) }),
    ...(enabled !== undefined && { enabled }),
  };
}

/** ntfy's URLs end with the topic that its app subscribes to. */
function checkTopic(url: URL, format: WebhookFormat | undefined): void {
  if (format !== 'ntfy' || /^[\w-]{1,64}$/.test(ntfyAddress(url.href).topic)) return;
  throw badRequest(`the URL of an ntfy webhook ends with its topic, such as ${url.origin}/my-alerts`, 'url');
}

/** URLs of Mattermost and self-hosted ntfy can't be recognised, so webhooks with these formats keep them. */
function formatOfNewUrl(url: URL, current: WebhookFormat): WebhookFormat {
  const recognised = recogniseFormat(url);
  return recognised === 'json' && (current === 'mattermost' || current === 'ntfy') ? current : recognised;
}

/** Parses a body. Throws GwError 400. */
export function parse<T>(schema: z.ZodType<T>, input: unknown): T {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw issue === undefined ? badRequest('the request body is not valid') : explain(issue, input);
}

function explain(issue: z.core.$ZodIssue, input: unknown): GwError {
  const param = String(issue.path[0] ?? '');
  const value = JSON.stringify(issue.path.reduce<unknown>(memberOf, input) ?? null).slice(0, 100);
  if (issue.code === 'unrecognized_keys') {
    const [key = ''] = issue.keys;
    return badRequest(`unknown field "${key}": ${FIELDS}`, key, 'unknown_field');
  }
  if (param === '') return badRequest('the request body must be a JSON object such as {"url":"https://..."}');
  if (param === 'events' && issue.path.length === 1)
    return badRequest(`events must be a list of at least one of: ${EVENT_TYPES.join(', ')}`, 'events');
  if (param === 'events') {
    return badRequest(
      `unknown event ${value}: choose from ${EVENT_TYPES.join(', ')}`,
      'events',
      'unknown_event',
    );
  }
  if (param === 'format')
    return badRequest(`unknown format ${value}: choose from ${WEBHOOK_FORMATS.join(', ')}`, param);
  if (issue.code === 'invalid_type')
    return badRequest(`${param} must be a ${issue.expected}, not ${value}`, param);
  return badRequest(`${param}: ${issue.message}`, param);
}

const FIELDS = 'a webhook has url, events, project_id and format, and takes enabled when it is changed';

function memberOf(value: unknown, key: PropertyKey): unknown {
  return typeof value === 'object' && value !== null
    ? (value as Record<PropertyKey, unknown>)[key]
    : undefined;
}

/** Checks a URL as far as possible without a DNS lookup; resolved addresses are checked at each connection. */
function checkUrl(text: string, policy: AddressPolicy): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw badRequest(
      `url must be an http:// or https:// address, not ${JSON.stringify(text).slice(0, 100)}`,
      'url',
    );
  }
  if (text.length > MAX_URL_LENGTH)
    throw badRequest(`url is longer than ${MAX_URL_LENGTH} characters`, 'url');
  if (url.username !== '' || url.password !== '')
    throw badRequest('url must not hold a user name or password: deliveries are signed instead', 'url');
  if (isRetiredTeamsUrl(url)) {
    throw badRequest(
      'url is a connector of Office 365, which Microsoft has retired: in Teams, add the workflow "Post to a channel when a webhook request is received" and register its URL',
      'url',
      'teams_connector_retired',
    );
  }
  const refusal = refusalOfUrl(url, policy);
  if (refusal !== undefined) throw badRequest(`url: ${refusal}`, 'url', 'address_forbidden');
  return url;
}

/** Keeps a URL as written, unless it contains characters that only the parser tolerates, such as spaces. */
const asWritten = (text: string, url: URL): string => (/^[\x21-\x7e]+$/.test(text) ? text : url.href);

/** Event types in the order of EVENT_TYPES, without duplicates. */
function uniqueEvents(events: readonly EventType[]): EventType[] {
  return EVENT_TYPES.filter((type) => events.includes(type));
}
