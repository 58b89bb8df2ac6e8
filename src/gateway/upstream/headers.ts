import { type Provider, WIRE_HEADERS } from '../../providers/registry.ts';
import { headerOf, type RawHeaders, withoutHeaders } from '../../raw-headers.ts';
import type { Redactor } from '../../redact.ts';
import { canDecompress } from '../intake/decompress.ts';
import { type Beside, passesHeader } from './closed-lists.ts';

/** Hop-by-hop headers (RFC 9110, 7.6.1), and those that gw or undici sets itself. */
// biome-ignore format: they fit a few lines
const NOT_FORWARDED = new Set([
  'connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer',
  'transfer-encoding', 'upgrade', 'host', 'content-length', 'expect',
  // gw reads the answers, so it asks for `identity`
  'accept-encoding',
  // the client's credentials are for gw
  'authorization', 'api-key', 'x-api-key', 'x-goog-api-key', 'x-gw-key', 'x-amz-security-token', 'cookie',
  // reads are free and pass an exhausted budget, so nothing may turn one into a write
  'x-http-method', 'x-http-method-override', 'x-method-override', 'origin', 'referer',
  // trace ids and baggage of the client's system are no business of a provider
  'traceparent', 'tracestate', 'baggage',
]);

// biome-ignore format: they fit a few lines
const NOT_RETURNED = new Set([
  'connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade', 'trailer', 'proxy-authenticate',
  // a browser would keep these for localhost, which other programs share
  'set-cookie', 'strict-transport-security', 'alt-svc',
  // gw asks for the same answer for everyone, but for the origins that may read it
  'vary',
]);

/** Headers that only gw sets: savings, cost, and the origins that may read an answer. */
const isOwn = (name: string) => name.startsWith('x-service-') || name.startsWith('access-control-');

/** Headers that belong to another API and are dropped when a request is translated. */
const FOREIGN: Readonly<Record<Provider['wire'], RegExp>> = {
  openai: /^(?:anthropic|x-goog)-/,
  anthropic: /^(?:openai|x-goog)-/,
  gemini: /^(?:openai|anthropic)-/,
};

/**
 * The headers for the provider, as a flat list: the client's without its credentials, then the provider's own. With
 * `beside`, only those of a closed list and what the owner of gw lets pass.
 */
export function upstreamHeaders(
  rawHeaders: RawHeaders,
  { wire, authHeaders }: Pick<Provider, 'wire' | 'authHeaders'>,
  { isTranslated = false, beside }: { isTranslated?: boolean; beside?: Beside | undefined } = {},
): string[] {
  let headers: string[] = [];
  let connection = '';
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase();
    if (NOT_FORWARDED.has(name) || name.startsWith('x-service-')) {
      if (name === 'connection') connection += `,${rawHeaders[i + 1]}`;
      continue;
    }
    if (isTranslated && FOREIGN[wire].test(name)) continue;
    if (beside && !passesHeader(name) && !beside.names.has(name)) {
      beside.leaveOut(name);
      continue;
    }
    // gw has decoded such a body.
    if (name === 'content-encoding' && canDecompress(rawHeaders[i + 1] ?? '')) continue;
    // gw has read the body by the first content type; a provider might take the last.
    if (name === 'content-type' && headerOf(headers, name) !== undefined) continue;
    headers.push(name, rawHeaders[i + 1] ?? '');
  }
  if (connection !== '' && connection !== ',keep-alive') headers = withoutHopByHop(headers, connection);
  headers.push('accept-encoding', 'identity', ...authHeaders);
  const defaults = WIRE_HEADERS[wire];
  for (let i = 0; i < defaults.length; i += 2) {
    const [name = '', value = ''] = defaults.slice(i, i + 2);
    if (headerOf(headers, name) === undefined) headers.push(name, value);
  }
  return headers;
}

/** Removes the headers that the `connection` header names as hop-by-hop. */
function withoutHopByHop(headers: RawHeaders, connection: string): string[] {
  const names = new Set(connection.split(',').map((name) => name.trim().toLowerCase()));
  return withoutHeaders(headers, names);
}

/**
 * The provider's headers for the client and the record, as a flat list, without the credential that the provider was
 * sent. The relay sets `content-length`.
 */
export function returnedHeaders(rawHeaders: readonly Buffer[], credential: Redactor): string[] {
  const headers: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toString('latin1').toLowerCase() ?? '';
    if (NOT_RETURNED.has(name) || name === 'content-length' || isOwn(name)) continue;
    headers.push(name, credential.redact(rawHeaders[i + 1]?.toString('latin1') ?? ''));
  }
  return headers;
}

/** Headers for a translated answer: its content type has changed, and each API has its own name for the request id. */
export function translatedHeaders(headers: RawHeaders, isStream: boolean): string[] {
  const translated = ['content-type', isStream ? 'text/event-stream; charset=utf-8' : 'application/json'];
  for (let i = 0; i < headers.length; i += 2) {
    const [name = '', value = ''] = headers.slice(i, i + 2);
    if (name === 'content-type' || name === 'content-encoding') continue;
    translated.push(name, value);
    const other = name === 'request-id' ? 'x-request-id' : name === 'x-request-id' ? 'request-id' : undefined;
    if (other && headerOf(headers, other) === undefined) translated.push(other, value);
  }
  return translated;
}
