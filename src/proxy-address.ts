import { orElse } from './errors.ts';

/** Setting value that makes a provider, or all providers, ignore the environment's proxy. */
export const NO_PROXY_AT_ALL = 'none';

/** Error text for invalid addresses, with an example. */
export const NO_PROXY_ADDRESS =
  'not the address of an http(s) proxy; an example is http://proxy.example:3128. Special characters of a user or password are percent-encoded: % is %25, @ is %40';

/** Parses a proxy's address. Without a scheme it is http, as in curl. Undefined unless it is an http(s) proxy. */
export function parseProxyAddress(text: string): URL | undefined {
  const withScheme = text.includes('://') ? text : `http://${text}`;
  if (!URL.canParse(withScheme)) return undefined;
  const url = new URL(withScheme);
  const isBare = url.pathname === '/' && !url.search && !url.hash;
  const isHost = /^[\w.:[\]-]+$/.test(url.hostname);
  const isDecodable = orElse(() => decodeURIComponent(url.username + url.password), undefined) !== undefined;
  return /^https?:$/.test(url.protocol) && isHost && isBare && isDecodable ? url : undefined;
}

/** A proxy's address for display, with user and password masked. */
export const withoutPassword = (text: string): string => text.replace(/^([a-z0-9+.-]+:\/\/)?.*@/i, '$1***@');

/** The value of `proxy-authorization` (https://www.rfc-editor.org/rfc/rfc7617#section-2); undefined without a user. */
export function proxyAuthorization({ username, password }: URL): string | undefined {
  if (!username && !password) return undefined;
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

/** The texts that reveal a proxy's password, for redaction. */
export function proxySecrets(text: string): string[] {
  const url = parseProxyAddress(text);
  const authorization = url && proxyAuthorization(url);
  return authorization ? [decodeURIComponent(url.password), url.password, authorization.slice(6)] : [];
}
