import type { IncomingMessage } from 'node:http';
import { GwError } from '../errors.ts';
import type { Exchange } from '../gateway/context/exchange.ts';

/** Answers one request, or throws GwError. */
export type Handler = (exchange: Exchange, parameters: Readonly<Record<string, string>>) => Promise<void>;

/** Handlers by method and path; `{name}` in a path stands for one segment. */
export type RouteTable = Readonly<
  Record<`${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} ${string}`, Handler>
>;

export interface Router {
  /** Throws GwError 404 for an unknown path and 405 for a known one with another method. */
  find(request: IncomingMessage): { handler: Handler; parameters: Readonly<Record<string, string>> };
}

interface Pattern {
  method: string;
  segments: string[];
  handler: Handler;
}

const NONE = Object.freeze({});

/** The first segments behind `/v1` of what gw serves itself, whether or not the rest is known. */
const OWN = /^\/v1\/(complete|usage|budgets|webhooks|deliveries|requests|models)(\/|$)/;

/** `elsewhere` takes what is asked for under `/v1` and is in no table. */
export function createRouter(table: RouteTable, elsewhere?: Handler): Router {
  /** By path, then by method: a key of both would have to be made and hashed for each request. */
  const fixed = new Map<string, Record<string, Handler>>();
  const patterns: Pattern[] = [];
  const methods = new Map<string, string[]>();
  for (const [route, handler] of Object.entries(table)) {
    const [method = '', path = ''] = route.split(' ');
    if (path.includes('{')) patterns.push({ method, segments: path.split('/'), handler });
    else fixed.set(path, { ...fixed.get(path), [method]: handler });
    methods.set(path, [...(methods.get(path) ?? []), method]);
  }
  return {
    find(request) {
      const path = pathOf(request.url ?? '/');
      // Node leaves the body out of an answer to HEAD.
      const method = request.method === 'HEAD' ? 'GET' : (request.method ?? '');
      const handler = fixed.get(path)?.[method];
      if (handler) return { handler, parameters: NONE };
      for (const pattern of patterns) {
        const parameters = pattern.method === method ? matchPath(pattern.segments, path) : undefined;
        if (parameters) return { handler: pattern.handler, parameters };
      }
      const allowed = methodsFor(methods, path);
      if (elsewhere && allowed.length === 0 && /^\/v1\/./.test(path) && !OWN.test(path)) {
        return { handler: elsewhere, parameters: NONE };
      }
      throw noRoute(request.method ?? '', path, allowed);
    },
  };
}

/** The first segments of what clients ask a provider for, by which a path is known that lacks its `/v1`. */
const API =
  /^\/(chat|completions?|complete|responses|embeddings|messages|models|moderations|audio|images|files|batches)(\/|$)/;

/**
 * The path without its query, and with one `/v1`: clients leave it out or double it, as both they and the base URL may
 * have it. Slashes too many come from a base URL that ends in one.
 */
export function pathOf(url: string): string {
  const query = url.indexOf('?');
  const path = query < 0 ? url : url.slice(0, query);
  if (path.startsWith('/v1/') && !path.startsWith('/v1/v1/') && !ODD_SLASHES.test(path)) return path;
  const plain = path.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '');
  const single = plain.startsWith('/v1/v1/') ? plain.slice(3) : plain;
  return API.test(single) ? `/v1${single}` : single;
}

const ODD_SLASHES = /\/(\/|$)/;

/** The query's parameters; the last of a name counts. */
export function queryOf(url: string): Record<string, string> {
  return Object.fromEntries(new URL(url, 'http://localhost').searchParams);
}

function matchPath(segments: string[], path: string): Record<string, string> | undefined {
  const given = path.split('/');
  if (given.length !== segments.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [i, segment] of segments.entries()) {
    const value = given[i] ?? '';
    if (segment.startsWith('{')) parameters[segment.slice(1, -1)] = decode(value);
    else if (segment !== value) return undefined;
  }
  return parameters;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function methodsFor(methods: Map<string, string[]>, path: string): string[] {
  const found = [...methods].filter(
    ([known]) => known === path || matchPath(known.split('/'), path) !== undefined,
  );
  return found.flatMap(([, list]) => list);
}

function noRoute(method: string, path: string, allowed: string[]): GwError {
  if (allowed.length > 0) {
    return new GwError(`${method} is not for ${path}: use ${allowed.join(' or ')}`, {
      status: 405,
      type: 'invalid_request_error',
      code: 'method_not_allowed',
      headers: { allow: allowed.join(', ') },
    });
  }
  return new GwError(`there is nothing at ${path}: ${hintFor(path)}`, {
    status: 404,
    type: 'not_found_error',
    code: 'unknown_endpoint',
  });
}

function hintFor(path: string): string {
  if (path === '/v1') return 'it is the base URL, which clients add /chat/completions and the like to';
  return path.startsWith('/v1/') ? 'gw has no such endpoint' : 'the base URL ends in /v1';
}
