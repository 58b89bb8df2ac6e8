import type { IncomingMessage } from 'node:http';
import { GwError } from '../errors.ts';
import type { Exchange } from '../gateway/exchange.ts';

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
  const fixed = new Map<string, Handler>();
  const patterns: Pattern[] = [];
  const methods = new Map<string, string[]>();
  for (const [route, handler] of Object.entries(table)) {
    const [method = '', path = ''] = route.split(' ');
    if (path.includes('{')) patterns.push({ method, segments: path.split('/'), handler });
    else fixed.set(`${method} ${path}`, handler);
    methods.set(path, [...(methods.get(path) ?? []), method]);
  }
  return {
    find(request) {
      const path = pathOf(request.url ?? '/');
      const handler = fixed.get(`${request.method} ${path}`);
      if (handler) return { handler, parameters: NONE };
      for (const pattern of patterns) {
        const parameters = pattern.method === request.method ? matchPath(pattern.segments, path) : undefined;
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

/** The path without its query and without a doubled `/v1`, which clients make when both they and the base URL add it. */
export function pathOf(url: string): string {
  const query = url.indexOf('?');
  const path = query < 0 ? url : url.slice(0, query);
  const single = path.startsWith('/v1/v1/') ? path.slice(3) : path;
  return single.length > 1 && single.endsWith('/') ? single.slice(0, -1) : single;
}

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
  const hint = path.startsWith('/v1') ? 'gw has no such endpoint' : 'the base URL ends in /v1';
  return new GwError(`there is nothing at ${path}: ${hint}`, {
    status: 404,
    type: 'not_found_error',
    code: 'unknown_endpoint',
  });
}
