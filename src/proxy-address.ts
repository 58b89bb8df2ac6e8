/** Takes a provider, or all of them, past the proxy of the environment. */
export const NO_PROXY_AT_ALL = 'none';

/** What is wrong with any other text, and how one looks. */
export const NO_PROXY_ADDRESS =
  'not the address of an http(s) proxy; an example is http://proxy.example:3128. Special characters of a user or password are percent-encoded: % is %25, @ is %40';

/** A proxy's address. As for curl, one without a scheme is http. Undefined for anything but an http(s) proxy. */
export function parseProxyAddress(text: string): URL | undefined {
  const written = text.includes('://') ? text : `http://${text}`;
  if (!URL.canParse(written)) return undefined;
  const url = new URL(written);
  const isBare = url.pathname === '/' && !url.search && !url.hash;
  const isHost = /^[\w.:[\]-]+$/.test(url.hostname);
  return /^https?:$/.test(url.protocol) && isHost && isBare && isDecodable(url) ? url : undefined;
}

/** A proxy's address for display. */
export function withoutPassword(text: string): string {
  return text.replace(/^([a-z0-9+.-]+:\/\/)?.*@/i, '$1***@');
}

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

function isDecodable({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}
