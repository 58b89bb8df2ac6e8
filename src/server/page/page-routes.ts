import { badRequest, notFound } from '../../errors.ts';
import type { Exchange } from '../../gateway/context/exchange.ts';
import type { Gateway } from '../../gateway/context/gateway.ts';
import { formatRequestId } from '../../ids.ts';
import { isObject } from '../../json/object.ts';
import { readJson } from '../json-handlers.ts';
import { respondJson } from '../respond.ts';
import { type Handler, queryOf, type RouteTable } from '../routes.ts';
import { type Asset, createAssets } from './assets.ts';
import { cookieHeader, headOf, type NewSession, type PageSessions, placeOf } from './sessions.ts';

/** No inline code, no other origin, no frame: https://www.w3.org/TR/CSP3/ */
const CONTENT_POLICY = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"],
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
].join('; ');

const SECURITY = {
  'content-security-policy': CONTENT_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** The names of built files have a hash of their content. */
const FOR_GOOD = 'private, max-age=31536000, immutable';

interface PageOptions {
  gateway: Pick<Gateway, 'authenticator' | 'settings'>;
  sessions: PageSessions;
  /** Prepares what the page asks for first. */
  warm: () => void;
}

/** The page in a browser: its files, and signing in and out. With `page.enabled off`, paths without an endpoint. */
export function pageRoutes({ gateway, sessions, warm }: PageOptions): RouteTable {
  const find = createAssets();
  const ifEnabled =
    (handler: Handler): Handler =>
    async (exchange, parameters) => {
      if (gateway.settings()['page.enabled'] === 'on') return handler(exchange, parameters);
      const { path } = exchange.target;
      throw notFound(
        `no endpoint at ${path}: the base URL ends in /v1, and the page is off. To show it: gw config set page.enabled on`,
        'unknown_endpoint',
      );
    };
  const sendPage = (exchange: Exchange, status = 200) => {
    sendAsset(exchange, find('index.html'), { status });
    warm();
  };

  return {
    'GET /': ifEnabled(async (exchange) => sendPage(exchange)),
    'GET /assets/{file}': ifEnabled(async (exchange, { file }) =>
      sendAsset(exchange, find(`assets/${file}`), { caching: FOR_GOOD }),
    ),
    'GET /login': ifEnabled(async (exchange) => {
      const { link } = queryOf(exchange.request.url ?? '');
      const session = link === undefined ? undefined : sessions.redeemLink(link);
      if (session) enter(exchange, session);
      else sendPage(exchange, link === undefined ? 200 : 401);
    }),
    'POST /login': ifEnabled(async (exchange) => {
      const { headers } = exchange.request;
      if (headers.authorization !== undefined) answerLink(exchange, headers.authorization);
      else await signIn(exchange);
    }),
    'POST /logout': ifEnabled(async ({ request, response, id }) => {
      const head = headOf(request);
      sessions.close(head);
      const headers = { 'set-cookie': cookieHeader(head.place()) };
      respondJson(response, 200, { object: 'page_session', ended: true }, { id, headers });
    }),
  };

  /** Opens a browser's session, whose page finds its secret in the fragment, which is sent to nobody. */
  function enter({ request, response, id }: Exchange, { cookie, secret }: NewSession): void {
    response.writeHead(303, {
      ...SECURITY,
      'cache-control': 'no-store',
      location: `/#session=${secret}`,
      'set-cookie': cookieHeader(placeOf(request), cookie),
      'x-service-request-id': formatRequestId(id),
    });
    response.end();
  }

  /** A link with the rights of the key that asks. Throws GwError 401. */
  function answerLink({ response, id, request }: Exchange, authorization: string): void {
    gateway.authenticator.authenticate(request.headers);
    const { token, expiresAt } = sessions.createLink(authorization);
    const link = { object: 'page_link', path: `/login?link=${token}`, expires_at: new Date(expiresAt) };
    respondJson(response, 201, link, { id });
    warm();
  }

  /** Opens a session with the key in the body. Throws GwError 400 and 401. */
  async function signIn({ request, response, id }: Exchange): Promise<void> {
    const body = await readJson(request);
    const key = isObject(body) ? body.key : undefined;
    if (typeof key !== 'string' || !/^[\x21-\x7e]+$/.test(key))
      throw badRequest('the body has no key: use {"key": "sk-gw-..."}', 'key');
    const authorization = `Bearer ${key}`;
    gateway.authenticator.authenticate({ authorization });
    const { cookie, secret } = sessions.open(authorization);
    const headers = { 'set-cookie': cookieHeader(placeOf(request), cookie), 'cache-control': 'no-store' };
    respondJson(response, 200, { object: 'page_session', session: secret }, { id, headers });
  }
}

function sendAsset(
  { request, response, id }: Exchange,
  { type, plain, zipped }: Asset,
  { status = 200, caching = 'no-cache' }: { status?: number; caching?: string },
): void {
  const isZipped = /\bgzip\b/.test(String(request.headers['accept-encoding']));
  const bytes = isZipped ? zipped : plain;
  response.writeHead(status, {
    ...SECURITY,
    'cache-control': caching,
    'content-type': type,
    'content-length': bytes.length,
    vary: 'accept-encoding',
    ...(isZipped ? { 'content-encoding': 'gzip' } : {}),
    'x-service-request-id': formatRequestId(id),
  });
  response.end(bytes);
}
