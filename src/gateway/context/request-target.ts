/** The target of a request, with the one spelling of its path that gw routes by, decides by and sends. */
export interface RequestTarget {
  /** Begins with `/`, has no query, and `/v1` in front of the endpoints of providers. */
  path: string;
  /** The query with its `?` as the client wrote it; empty without one. */
  query: string;
}

const PLAIN = /^(?:\/[\w-]+)+$/;
/** Characters that stand for themselves in a path (RFC 3986, 3.3), except `;`: some servers cut a segment there. */
const ITSELF = /^[\w.~!$&'()*+,=:@-]$/;

/** Paths of providers' APIs without their `/v1`. */
const API_PATH =
  /^\/(chat|completions?|complete|responses|embeddings|messages|models|moderations|audio|images|files|batches)(\/|$)/;

/**
 * The target of a request. Servers decode a path before they route by it, so that `/v1/%63hat/completions` is chat
 * completions to a provider: each escape that stands for a plain character is written as that character. Clients leave
 * `/v1` out or double it, and double a slash where their base URL ends in one.
 */
export function requestTarget(url: string): RequestTarget {
  const at = url.indexOf('?');
  const raw = at < 0 ? url : url.slice(0, at);
  const query = at < 0 ? '' : url.slice(at);
  if (raw.startsWith('/v1/') && !raw.startsWith('/v1/v1/') && PLAIN.test(raw)) return { path: raw, query };
  const plain = raw.includes('%') ? raw.replace(/%[0-9a-f]{2}/gi, normalized) : raw;
  const single = plain.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '');
  const once = single.replace(/^(?:\/v1)+(?=\/v1(?:beta)?\/)/, '');
  return { path: API_PATH.test(once) ? `/v1${once}` : once, query };
}

/** An escape as RFC 3986, 6.2.2 normalises it. */
function normalized(escaped: string): string {
  const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
  return ITSELF.test(character) ? character : escaped.toUpperCase();
}

/**
 * A path that every server reads alike, whatever it decodes, cuts or resolves: no escape, `;` or `\`, and no segment that
 * ends in a dot, as `..` does; Windows leaves that dot out.
 */
const UNMISTAKABLE = /^(?:\/[\w.~!$&'()*+,=:@-]*[\w~!$&'()*+,=:@-])+$/;

/** Whether servers can't differ in what they read a path as. */
export const isUnmistakable = (path: string): boolean => UNMISTAKABLE.test(path);
