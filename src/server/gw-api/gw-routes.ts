import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { type Name, ROUTES, statusOf } from '../../operations/registry.ts';
import type { Caller } from '../../store/accounts/callers.ts';
import { mustBeAdmin, mustNameOwn } from '../caller-rights.ts';
import type { ToHandler } from '../json-handlers.ts';
import { readJson } from '../read-json.ts';
import { type PathParameters, queryOf, type RouteTable } from '../routes.ts';
import type { SourceOptions } from './sources-of.ts';
import { type Answered, withoutIntegers } from './without-integers.ts';

type Answer = (route: string, call: Incoming) => Promise<unknown>;

interface Incoming {
  caller: Caller;
  request: IncomingMessage;
  parameters: PathParameters;
}

/** Earlier endpoints that answer as an operation does, without integer amounts. They ignore what they don't know. */
const VIEWS: Readonly<Record<string, Name>> = {
  'GET /v1/usage': 'usage',
  'GET /v1/budgets': 'budgets',
  'PUT /v1/budgets': 'setBudget',
  'DELETE /v1/budgets/{project}/{period}': 'removeBudget',
};

/** The routes of the operations, which commands on other machines use, and of their views. */
export function gwRoutes(json: ToHandler, options: SourceOptions): RouteTable {
  let loaded: Promise<Answer> | undefined;
  const handlerOf = (route: string) =>
    json(async (caller, { request }, parameters) => {
      loaded ??= load(options);
      return (await loaded)(route, { caller, request, parameters });
    }, statusOf(route));
  return Object.fromEntries(
    [...Object.keys(VIEWS), ...ROUTES.keys()].map((route) => [route, handlerOf(route)]),
  );
}

/** Schemas and the library behind them take 8 MB, and load on first use. */
async function load(options: SourceOptions): Promise<Answer> {
  const { describedBy } = await import('../../operations/registry.ts');
  const { EARLIER } = await import('../../operations/schemas/earlier.ts');
  const { runOf } = await import('../../operations/local.ts');
  const { createSources } = await import('./sources-of.ts');
  const { parseInput } = await import('./parse-input.ts');
  const sourcesOf = createSources(options);
  return async (route, { caller, request, parameters }) => {
    const view = VIEWS[route];
    const name = view ?? ROUTES.get(route);
    if (!name) throw new Error(`${route} has no operation`);
    const { admin, query, body, parseBody } = await describedBy(name);
    const all = queryOf(request.url ?? '');
    const given = view ? knownTo(EARLIER[route]?.query, all) : all;
    mustNameOwn(caller, parameters);
    if (view || route.includes(' /v1/gw/')) mustNameOwn(caller, given);
    if (admin) {
      if (body && !caller.admin) mustNameOwn(caller, await readJson(request).catch(() => undefined));
      mustBeAdmin(caller, ...admin);
    }
    const parsedQuery = view ? given : query && parseInput(query, given, 'parameter');
    const sent = body && (await readJson(request));
    const parsedBody = body && (parseBody ? parseBody(sent) : parseInput(body, sent, 'field'));
    const input = Object.assign({}, parsedQuery, parsedBody, parameters);
    const answer = await (await runOf(name))(sourcesOf(caller), input);
    const listed = Array.isArray(answer) ? { object: 'list', data: answer } : answer;
    return view ? withoutIntegers(listed as Answered) : listed;
  };
}

/** The parameters that the schema has. An empty project or grouping is the default. */
function knownTo(query: z.ZodObject | undefined, given: Record<string, string>) {
  const isGiven = (name: string, value: string) => value !== '' || !/^(project_id|group_by)$/.test(name);
  return Object.fromEntries(
    Object.entries(given).filter(([name, value]) => query?.shape[name] && isGiven(name, value)),
  );
}
