import type { Name, OPERATIONS, Operations } from '../../operations/registry.ts';
import { dropSession, sessionHeaders } from './session.ts';

/** `GET /v1/gw/usage` and the others. */
export type Route = (typeof OPERATIONS)[Name][0];

type NameOf<Each extends Route> = {
  [Key in Name]: (typeof OPERATIONS)[Key][0] extends Each ? Key : never;
}[Name];
export type InputOf<Each extends Route> = Parameters<Operations[NameOf<Each>]>[0];
export type AnswerOf<Each extends Route> = Awaited<ReturnType<Operations[NameOf<Each>]>>;

/** Runs an operation of the gw that serves the page. Throws Error with gw's own words. */
export async function ask<Each extends Route>(route: Each, input?: InputOf<Each>): Promise<AnswerOf<Each>> {
  const [method = '', pattern = ''] = route.split(' ');
  const { path, rest } = placed(pattern, (input ?? {}) as Record<string, unknown>);
  const asQuery = method === 'GET' || method === 'DELETE';
  const query = asQuery ? queryOf(rest) : '';
  const answer = await fetch(`${path}${query}`, {
    method,
    // What was spent stays out of the browser's files, and no answer is an old one.
    cache: 'no-store',
    headers: { ...sessionHeaders(), ...(asQuery ? {} : { 'content-type': 'application/json' }) },
    ...(asQuery ? {} : { body: JSON.stringify(rest) }),
  }).catch(() => {
    throw new Error('gw does not answer. If it was stopped: gw start');
  });
  const body = await answer.json().catch(() => ({}));
  if (answer.ok) return unwrapped(body) as AnswerOf<Each>;
  if (answer.status === 401) dropSession();
  throw new Error(body.error?.message ?? `gw answered HTTP ${answer.status}`);
}

/** Puts fields into the `{name}` segments of a path. */
function placed(pattern: string, input: Record<string, unknown>) {
  const rest = { ...input };
  const path = pattern.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = encodeURIComponent(String(rest[name]));
    delete rest[name];
    return value;
  });
  return { path, rest };
}

function queryOf(fields: Record<string, unknown>): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== '');
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return query.size === 0 ? '' : `?${query}`;
}

/** The API wraps lists that have no further fields. */
function unwrapped(body: { object?: string; data?: unknown }): unknown {
  return body.object === 'list' && Object.keys(body).length === 2 ? body.data : body;
}
