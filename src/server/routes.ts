import { badRequest, GwError, orElse } from '../errors.ts';
import type { Exchange } from '../gateway/context/exchange.ts';

/** The values of the `{name}` segments of a path. */
export type PathParameters = Readonly<Record<string, string>>;

/** Answers one request, or throws GwError. */
export type Handler = (exchange: Exchange, parameters: PathParameters) => Promise<void>;

/**
 * Handlers by method and path. `{name}` in a path matches one segment, `{name...}` at its end all that are left. GET
 * handlers answer HEAD as well.
 */
export type RouteTable = Readonly<
  Record<`${'HEAD' | 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} ${string}`, Handler>
>;

export interface Router {
  /**
   * Finds the handler of a method and a path in its own spelling. Throws GwError 404 for an unknown path, 405 for a known
   * one with another method, and 400 `path_spelling` for one whose letters differ in size from a known one's.
   */
  find(method: string, path: string): { handler: Handler; parameters: PathParameters };
}

interface Pattern {
  method: string;
  segments: string[];
  handler: Handler;
}

const NO_PARAMETERS = Object.freeze({});

/** Paths under `/v1` that belong to gw, even if no route matches. */
const OWN_PATH = /^\/v1\/(gw|complete|usage|budgets|webhooks|deliveries|requests|models)(\/|$)/;

/** `fallback` handles paths under `/v1` that have no route and are not gw's own. */
export function createRouter(table: RouteTable, fallback?: Handler): Router {
  /** By path, then by method: a combined key would have to be built and hashed for each request. */
  const fixed = new Map<string, Record<string, Handler>>();
  const patterns: Pattern[] = [];
  const methods = new Map<string, string[]>();
  for (const [route, handler] of Object.entries(table)) {
    const [method = '', path = ''] = route.split(' ');
    if (path.includes('{')) patterns.push({ method, segments: path.split('/'), handler });
    else fixed.set(path, { ...fixed.get(path), [method]: handler });
    if (method !== 'HEAD') methods.set(path, [...(methods.get(path) ?? []), method]);
  }
  return {
    find(asked, path) {
      // Node omits the body of a response to HEAD.
      const method = asked === 'HEAD' ? 'GET' : asked;
      const handlers = fixed.get(path);
      const handler = handlers?.[asked] ?? handlers?.[method];
      if (handler) return { handler, parameters: NO_PARAMETERS };
      for (const pattern of patterns) {
        const parameters = pattern.method === method ? matchPath(pattern.segments, path) : undefined;
        if (parameters) return { handler: pattern.handler, parameters };
      }
      const allowed = methodsFor(methods, path);
      // Some servers don't tell them apart.
      const lower = path.toLowerCase();
      if (lower !== path && allowed.length === 0 && methodsFor(methods, lower).length > 0)
        throw badRequest(`no endpoint at ${path}. Use ${lower}`, undefined, 'path_spelling');
      if (fallback && allowed.length === 0 && /^\/v1\/./.test(path) && !OWN_PATH.test(path)) {
        return { handler: fallback, parameters: NO_PARAMETERS };
      }
      throw noRoute(asked, path, allowed);
    },
  };
}

/** The query's parameters; the last one of a name wins. */
export function queryOf(url: string): Record<string, string> {
  return Object.fromEntries(new URL(url, 'http://localhost').searchParams);
}

function matchPath(segments: string[], path: string): Record<string, string> | undefined {
  const rest = segments.at(-1)?.endsWith('...}') ? segments.length - 1 : undefined;
  const all = path.split('/');
  const values =
    rest === undefined || all.length <= rest ? all : [...all.slice(0, rest), all.slice(rest).join('/')];
  if (values.length !== segments.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [i, segment] of segments.entries()) {
    const value = values[i] ?? '';
    if (segment.startsWith('{'))
      parameters[segment.slice(1, -1).replace('...', '')] = orElse(() => decodeURIComponent(value), value);
    else if (segment !== value) return undefined;
  }
  return parameters;
}

function methodsFor(methods: Map<string, string[]>, path: string): string[] {
  return [...methods].flatMap(([pattern, allowed]) =>
    pattern === path || matchPath(pattern.split('/'), path) ? allowed : [],
  );
}

function noRoute(method: string, path: string, allowed: string[]): GwError {
  if (allowed.length > 0) {
    return new GwError(`${method} is not supported by ${path}: use ${allowed.join(' or ')}`, {
      status: 405,
      type: 'invalid_request_error',
      code: 'method_not_allowed',
      headers: { allow: allowed.join(', ') },
    });
  }
  return new GwError(`no endpoint at ${path}${hintFor(path)}`, {
    status: 404,
    type: 'not_found_error',
    code: 'unknown_endpoint',
  });
}

function hintFor(path: string): string {
  if (path === '/v1') return ': this is the base URL, to which clients add paths such as /chat/completions';
  return path.startsWith('/v1/') ? '' : ': the base URL ends in /v1';
}
