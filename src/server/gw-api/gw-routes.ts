import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../store/accounts/callers.ts';
import { mustBeAdmin, mustNameOwn } from '../caller-rights.ts';
import type { ToHandler } from '../json-handlers.ts';
import { readJson } from '../read-json.ts';
import { type PathParameters, queryOf, type RouteTable } from '../routes.ts';
import type { AccessOptions } from './access.ts';
import { GW_ROUTES, type GwRoute } from './route-list.ts';

type Answer = (route: GwRoute, call: Incoming) => Promise<unknown>;

interface Incoming {
  caller: Caller;
  request: IncomingMessage;
  parameters: PathParameters;
}

/** The routes of `/v1/gw`, which commands on other machines use. */
export function gwRoutes(json: ToHandler, options: AccessOptions): RouteTable {
  let loaded: Promise<Answer> | undefined;
  const handlerOf = (route: GwRoute) =>
    json(async (caller, { request }, parameters) => {
      loaded ??= load(options);
      return (await loaded)(route, { caller, request, parameters });
    }, GW_ROUTES[route]);
  return Object.fromEntries((Object.keys(GW_ROUTES) as GwRoute[]).map((route) => [route, handlerOf(route)]));
}

async function load(options: AccessOptions): Promise<Answer> {
  const { OPERATIONS } = await import('./operations.ts');
  const { createAccess } = await import('./access.ts');
  const { createPolls } = await import('./polls.ts');
  const { parseInput } = await import('./parse-input.ts');
  const now = () => options.gateway.clock.now();
  const accessOf = createAccess(options);
  const polls = createPolls({ now, random: options.random });
  return async (route, { caller, request, parameters }) => {
    const { admin, query, body, parseBody, run } = OPERATIONS[route];
    const given = queryOf(request.url ?? '');
    for (const fields of [parameters, given]) mustNameOwn(caller, fields);
    if (admin) {
      if (body && !caller.admin) mustNameOwn(caller, await readJson(request).catch(() => undefined));
      mustBeAdmin(caller, ...admin);
    }
    const parsedQuery = query && parseInput(query, given, 'parameter');
    const sent = body && (await readJson(request));
    const parsedBody = body && (parseBody ? parseBody(sent) : parseInput(body, sent, 'field'));
    const access = accessOf(caller);
    // Parsed by the schemas of the operation.
    const input = { query: parsedQuery as never, body: parsedBody as never };
    return run({ caller, reader: access.reader, admin: access.admin, polls, now, parameters, ...input });
  };
}
