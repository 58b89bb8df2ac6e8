import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { badRequest, GwError } from '../../errors.ts';
import { type Name, ROUTES, statusOf } from '../../operations/registry.ts';
import type { Sources } from '../../operations/sources.ts';
import type { Caller } from '../../store/accounts/callers.ts';
import { mustBeAdmin, mustNameOwn } from '../caller-rights.ts';
import { readJson, type ToHandler } from '../json-handlers.ts';
import { type PathParameters, queryOf, type RouteTable } from '../routes.ts';
import { isReport } from './reports.ts';
import type { SourceOptions } from './sources-of.ts';

type Answer = (route: string, call: Incoming) => Promise<unknown>;

interface Incoming {
  caller: Caller;
  request: IncomingMessage;
  parameters: PathParameters;
}

/** What the page shows first, to whom `gw open` signs in. */
const FIRST = { window: 'day', limit: 10 };
const OWNER = { projectId: 0, project: '', admin: true };

/** Earlier endpoints that answer as an operation does, without integer amounts. They ignore what they don't know. */
const VIEWS: Readonly<Record<string, Name>> = {
  'GET /v1/usage': 'usage',
  'GET /v1/budgets': 'budgets',
  'PUT /v1/budgets': 'setBudget',
  'DELETE /v1/budgets/{project}/{period}': 'removeBudget',
};

/** The routes of the operations, which commands on other machines use, and of their views. */
export function createGwApi(json: ToHandler, options: SourceOptions) {
  let loaded: ReturnType<typeof load> | undefined;
  let isWarming = false;
  const handlerOf = (route: string) =>
    json(async (caller, { request }, parameters) => {
      loaded ??= load(options);
      return (await loaded).answer(route, { caller, request, parameters });
    }, statusOf(route));
  return {
    routes: Object.fromEntries(
      [...Object.keys(VIEWS), ...ROUTES.keys()].map((route) => [route, handlerOf(route)]),
    ) as RouteTable,
    /** Has what the page asks for first loaded and read, while its browser opens. */
    warm() {
      if (isWarming || options.reports.isWarm()) return;
      isWarming = true;
      loaded ??= load(options);
      const done = () => {
        isWarming = false;
      };
      loaded.then(({ warm }) => warm()).then(done, done);
    },
  };
}

/** Schemas and the library behind them take 8 MB, and load on first use. */
async function load(options: SourceOptions): Promise<{ answer: Answer; warm: () => Promise<void> }> {
  const { describedBy } = await import('../../operations/registry.ts');
  const { EARLIER } = await import('../../operations/schemas/earlier.ts');
  const { runOf } = await import('../../operations/local.ts');
  const { createSources } = await import('./sources-of.ts');
  const sourcesOf = createSources(options);

  async function answerOf(name: Name, sources: Sources, input: object): Promise<unknown> {
    const here = async () => (await runOf(name))(sources, input);
    if (!isReport(name)) return here();
    return options.reports.read(name, input, sources).catch((error) => {
      if (error instanceof GwError) throw error;
      // No report is lost for want of a thread.
      return here();
    });
  }

  /** The thread reads while this one loads. */
  async function warm(): Promise<void> {
    const reading = options.reports.read('dashboardView', FIRST, sourcesOf(OWNER));
    await Promise.all([describedBy('dashboardView'), runOf('whoami'), runOf('limits'), reading]);
  }

  const answer: Answer = async (route, { caller, request, parameters }) => {
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
    const answer = await answerOf(name, sourcesOf(caller), input);
    const listed = Array.isArray(answer) ? { object: 'list', data: answer } : answer;
    return view ? withoutIntegers(listed as Answered) : listed;
  };
  return { answer, warm };
}

/** The parameters that the schema has. An empty project or grouping is the default. */
function knownTo(query: z.ZodObject | undefined, given: Record<string, string>) {
  const isGiven = (name: string, value: string) => value !== '' || !/^(project_id|group_by)$/.test(name);
  return Object.fromEntries(
    Object.entries(given).filter(([name, value]) => query?.shape[name] && isGiven(name, value)),
  );
}

/** Parses a query or body. Throws GwError 400 that names the parameter and its value. */
function parseInput(schema: z.ZodObject, input: unknown, kind: 'parameter' | 'field'): unknown {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const { issues } = result.error;
  // First, as a misspelt name is often the reason why another is missing.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0];
  throw issue ? explain(issue, schema, input, kind) : badRequest('the request is not valid');
}

function explain(issue: z.core.$ZodIssue, schema: z.ZodObject, input: unknown, kind: string): GwError {
  const names = Object.keys(schema.shape).join(', ');
  if (issue.code === 'unrecognized_keys') {
    const [key = ''] = issue.keys;
    const known = names === '' ? 'there are none here' : `use ${names}`;
    return badRequest(`unknown ${kind} "${key}": ${known}`, key, `unknown_${kind}`);
  }
  const name = String(issue.path[0] ?? '');
  if (name === '') return badRequest(`the request body must be a JSON object with ${names}`);
  const value = (input as Record<string, unknown>)[name];
  if (value === undefined) return badRequest(`${kind} "${name}" is missing`, name, `missing_${kind}`);
  return badRequest(`"${name}" is ${JSON.stringify(value).slice(0, 100)}: ${issue.message}`, name);
}

interface Answered extends Record<string, unknown> {
  data?: Record<string, unknown>[];
  total?: Record<string, unknown>;
}

/** Fields that only commands read: amounts in nano-USD, and the former names of a budget's fields. */
const INTEGERS = /_nano_usd$|^budget_id$|^remaining_usd$/;

/** An answer as the earlier endpoints give it. */
export function withoutIntegers({ data, total, ...answer }: Answered): object {
  const strip = (fields: object) =>
    Object.fromEntries(Object.entries(fields).filter(([name]) => !INTEGERS.test(name)));
  return {
    ...strip(answer),
    ...(data && { data: data.map(strip) }),
    ...(total && { total: strip(total) }),
  };
}
