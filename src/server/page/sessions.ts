import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { GwError } from '../../errors.ts';
import type { Random } from '../../ids.ts';

/**
 * The half of a session that the page sends as a header. Browsers send cookies to every port of a host, so that another
 * user's server on `localhost` could see the cookie; the header's value is in the storage of gw's own origin. Only
 * scripts of that origin can send it without asking: https://fetch.spec.whatwg.org/#cors-preflight-fetch
 */
const HEADER = 'x-gw-page';

const LINK_MS = 60_000;
const IDLE_MS = 12 * 60 * 60_000;
/** The oldest go first beyond these. */
const MAX_LINKS = 100;
const MAX_SESSIONS = 1_000;
const SECRET_BYTES = 32;

interface Link {
  authorization: string;
  expiresAt: number;
}

interface Session {
  /** The header with the key whose rights the session has. */
  authorization: string;
  secret: string;
  usedAt: number;
}

/** What a browser gets: a cookie that scripts can't read, and a secret that other origins can't. */
export interface NewSession {
  cookie: string;
  secret: string;
}

/** Where a request came in, which gives the cookie its name: cookies are shared by the ports of a host. */
export interface Place {
  port: number;
  isSecure: boolean;
}

export interface RequestHead {
  headers: IncomingHttpHeaders;
  place: () => Place;
}

export type PageSessions = ReturnType<typeof createPageSessions>;

interface PageSessionsOptions {
  /** UTC milliseconds. */
  now: () => number;
  random: Random;
  /** Whether the page is on; sessions count only then. */
  isEnabled: () => boolean;
}

/** The sessions of the page in browsers. They are in memory alone: a restart ends them. */
export function createPageSessions({ now, random, isEnabled }: PageSessionsOptions) {
  const links = new Map<string, Link>();
  const sessions = new Map<string, Session>();

  function open(authorization: string): NewSession {
    const [cookie, secret] = [newSecret(random), newSecret(random)];
    sessions.set(cookie, { authorization, secret, usedAt: now() });
    dropOldest(sessions, MAX_SESSIONS);
    return { cookie, secret };
  }

  /** The session of both halves; undefined for an unknown or expired one. */
  function find({ headers, place }: RequestHead): { id: string; session: Session } | undefined {
    const id = cookieIn(headers, cookieName(place()));
    const session = id === undefined ? undefined : sessions.get(id);
    if (id === undefined || !session) return undefined;
    if (now() - session.usedAt >= IDLE_MS) {
      sessions.delete(id);
      return undefined;
    }
    return isEqual(String(headers[HEADER]), session.secret) ? { id, session } : undefined;
  }

  return {
    /** A link that opens one session with the rights of a key, within a minute. */
    createLink(authorization: string): { token: string; expiresAt: number } {
      const token = newSecret(random);
      const expiresAt = now() + LINK_MS;
      links.set(token, { authorization, expiresAt });
      dropOldest(links, MAX_LINKS);
      return { token, expiresAt };
    },
    /** Undefined for a link that is unknown, used or expired. */
    redeemLink(token: string): NewSession | undefined {
      const link = links.get(token);
      links.delete(token);
      return link && now() < link.expiresAt ? open(link.authorization) : undefined;
    },
    open,
    /**
     * The headers to authenticate a request to gw's own API by: those of its session if the page sent it, else its own.
     * Throws GwError 401 for a session that has ended, and 403 for a request from another origin.
     */
    headersOf(head: RequestHead): IncomingHttpHeaders {
      if (head.headers[HEADER] === undefined || !isEnabled()) return head.headers;
      mustBeSameOrigin(head.headers);
      const found = find(head);
      if (!found) throw sessionEnded();
      found.session.usedAt = now();
      return { authorization: found.session.authorization };
    },
    /** Ends the session of a request, if it has both halves. */
    close(head: RequestHead): void {
      const found = find(head);
      if (found) sessions.delete(found.id);
    },
  };
}

/** What a session is found by. */
export function headOf(request: IncomingMessage): RequestHead {
  return { headers: request.headers, place: () => placeOf(request) };
}

/** A reverse proxy says by its header whether the browser uses TLS. A forged one only forges its own cookie. */
export function placeOf({ socket, headers }: IncomingMessage): Place {
  const isSecure = (socket as Partial<TLSSocket>).encrypted === true;
  return { port: socket.localPort ?? 0, isSecure: isSecure || headers['x-forwarded-proto'] === 'https' };
}

/** `__Host-`: the browser accepts the cookie over TLS alone, for this host and not from another of its domain. */
function cookieName({ port, isSecure }: Place): string {
  return `${isSecure ? '__Host-' : ''}gw-session-${port}`;
}

/** Value of `set-cookie`. Without a cookie, the browser drops its own. */
export function cookieHeader(place: Place, cookie?: string): string {
  const end = cookie === undefined ? '; Max-Age=0' : '';
  return `${cookieName(place)}=${cookie ?? ''}; Path=/; HttpOnly; SameSite=Strict${place.isSecure ? '; Secure' : ''}${end}`;
}

function cookieIn({ cookie = '' }: IncomingHttpHeaders, name: string): string | undefined {
  const found = cookie.split('; ').find((each) => each.startsWith(`${name}=`));
  return found?.slice(name.length + 1);
}

/** Scripts can set neither header. `localhost` is one site on all ports, so `same-site` is not enough. */
function mustBeSameOrigin({ origin, host, 'sec-fetch-site': site = 'same-origin' }: IncomingHttpHeaders) {
  const isOwn = origin === undefined || (URL.canParse(origin) && new URL(origin).host === host);
  if (isOwn && site === 'same-origin') return;
  throw new GwError(`the page's session is for the page itself, not for ${origin ?? 'another page'}`, {
    status: 403,
    type: 'permission_error',
    code: 'forbidden_host',
  });
}

function newSecret(random: Random): string {
  return random(SECRET_BYTES).toString('base64url');
}

function isEqual(given: string, secret: string): boolean {
  const [bytes, own] = [Buffer.from(given), Buffer.from(secret)];
  return bytes.length === own.length && timingSafeEqual(bytes, own);
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  for (const oldest of map.keys()) {
    if (map.size <= most) return;
    map.delete(oldest);
  }
}

function sessionEnded(): GwError {
  return new GwError('the session of this page has ended: run gw open, or sign in with a key of gw', {
    status: 401,
    type: 'authentication_error',
    code: 'session_ended',
  });
}
