import { type Provider, WIRE_HEADERS } from '../../providers/registry.ts';
import { canDecompress } from '../intake/decompress.ts';

/** Headers of one connection only (RFC 9110, 7.6.1), and those that gw or undici sets itself. */
const NOT_FORWARDED = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'content-length',
  'expect',
  // gw reads the answers, so it asks for them unencoded
  'accept-encoding',
  // the client's credentials are for gw
  'authorization',
  'api-key',
  'x-api-key',
  'x-goog-api-key',
  'cookie',
  // a read is let through for nothing, and has to stay one
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'origin',
  'referer',
]);

const NOT_RETURNED = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'trailer',
  'proxy-authenticate',
  // what a browser would keep for localhost, where other programs live as well
  'set-cookie',
  'strict-transport-security',
  'alt-svc',
]);

/** How headers begin that mean nothing to a provider of the other wire: they stay here when a request is translated. */
const FOREIGN: Readonly<Record<Provider['wire'], string>> = { openai: 'anthropic-', anthropic: 'openai-' };

/** The headers of the request to the provider, flat: the client's but for its credentials, then the provider's own. */
export function upstreamHeaders(
  rawHeaders: readonly string[],
  { wire, authHeaders }: Pick<Provider, 'wire' | 'authHeaders'>,
  isCrossing = false,
): string[] {
  let headers: string[] = [];
  let connection = '';
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase();
    if (NOT_FORWARDED.has(name) || name.startsWith('x-service-')) {
      if (name === 'connection') connection += `,${rawHeaders[i + 1]}`;
      continue;
    }
    if (isCrossing && name.startsWith(FOREIGN[wire])) continue;
    // Such a body goes on decoded.
    if (name === 'content-encoding' && canDecompress(rawHeaders[i + 1] ?? '')) continue;
    // The first is what gw read the body by, and a provider might take the last.
    if (name === 'content-type' && headerOf(headers, name) !== undefined) continue;
    headers.push(name, rawHeaders[i + 1] ?? '');
  }
  if (connection !== '' && connection !== ',keep-alive') headers = withoutNamed(headers, connection);
  headers.push('accept-encoding', 'identity', ...authHeaders);
  const defaults = WIRE_HEADERS[wire];
  for (let i = 0; i < defaults.length; i += 2) {
    const [name = '', value = ''] = defaults.slice(i, i + 2);
    if (headerOf(headers, name) === undefined) headers.push(name, value);
  }
  return headers;
}

/** Without the headers that the connection header names: they are meant for gw alone. */
function withoutNamed(headers: readonly string[], connection: string): string[] {
  const named = new Set(connection.split(',').map((name) => name.trim().toLowerCase()));
  return headers.filter((_, i) => !named.has(headers[i - (i % 2)] ?? ''));
}

/** The provider's headers as they go on to the client, flat, but for `content-length`, which is the relay's to set. */
export function returnedHeaders(rawHeaders: readonly Buffer[]): string[] {
  const headers: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toString('latin1').toLowerCase() ?? '';
    if (NOT_RETURNED.has(name) || name === 'content-length' || name.startsWith('x-service-')) continue;
    headers.push(name, rawHeaders[i + 1]?.toString('latin1') ?? '');
  }
  return headers;
}

/** The headers of an answer that was translated: it is another body, and request ids have another name. */
export function translatedHeaders(headers: readonly string[], isStream: boolean): string[] {
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

export function headerOf(headers: readonly string[], name: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) if (headers[i] === name) return headers[i + 1];
  return undefined;
}
