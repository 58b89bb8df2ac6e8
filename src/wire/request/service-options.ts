import type { IncomingHttpHeaders } from 'node:http';
import { OPTIMIZER_LEVELS, type OptimizerLevel } from '../../config/settings.ts';
import { badRequest } from '../../errors.ts';
import { isObject } from '../../json/object.ts';

/** What a request says to gw itself: the `service` object of the body, or the `x-service-*` headers. */
export interface ServiceOptions {
  /** Off, on at the configured level, or a level of its own. Undefined: as configured. */
  optimize?: boolean | OptimizerLevel;
  route?: boolean;
  /** A budget or a project, by name. */
  budgetId?: string;
  /** Nothing is sent: the answer says what would become of the request. */
  explain?: boolean;
}

/** A project's name, a period and the path of a repository. */
const MAX_BUDGET_ID = 300;

const KNOWN = new Set(['optimize', 'route', 'budget_id', 'explain']);

/** Reads the `service` object. 400 with `param` for an unknown or mistyped field. */
export function readServiceObject(value: unknown): ServiceOptions {
  if (value === null || value === undefined) return {};
  if (!isObject(value)) throw badRequest('"service" must be an object', 'service');
  const unknown = Object.keys(value).find((key) => !KNOWN.has(key));
  if (unknown !== undefined) {
    throw badRequest(
      `"service.${unknown}" is not an option: there are ${[...KNOWN].join(', ')}`,
      `service.${unknown}`,
      'unknown_parameter',
    );
  }
  const options = readOptions(value.optimize, value.route, value.budget_id, {
    optimize: 'service.optimize',
    route: 'service.route',
    budget: 'service.budget_id',
  });
  const { explain = false } = value;
  if (typeof explain !== 'boolean')
    throw badRequest('"service.explain" must be true or false', 'service.explain');
  return explain ? { ...options, explain } : options;
}

/** Reads the headers; the body's object wins over them, field by field. */
export function withServiceHeaders(options: ServiceOptions, headers: IncomingHttpHeaders): ServiceOptions {
  const optimize = headers['x-service-optimize'];
  const route = headers['x-service-route'];
  const budget = headers['x-service-budget'];
  if (optimize === undefined && route === undefined && budget === undefined) return options;
  const fromHeaders = readOptions(word(optimize), word(route, ['off']), budget, {
    optimize: 'x-service-optimize',
    route: 'x-service-route',
    budget: 'x-service-budget',
  });
  return { ...fromHeaders, ...options };
}

function readOptions(
  optimize: unknown,
  route: unknown,
  budget: unknown,
  names: { optimize: string; route: string; budget: string },
): ServiceOptions {
  const options: ServiceOptions = {};
  if (optimize !== undefined && optimize !== null) options.optimize = readOptimize(optimize, names.optimize);
  if (route !== undefined && route !== null) {
    if (typeof route !== 'boolean') throw badRequest(`"${names.route}" must be true or false`, names.route);
    options.route = route;
  }
  if (budget !== undefined && budget !== null) {
    if (typeof budget !== 'string' || budget === '' || budget.length > MAX_BUDGET_ID) {
      throw badRequest(`"${names.budget}" must be the name of a budget or a project`, names.budget);
    }
    options.budgetId = budget;
  }
  return options;
}

function readOptimize(value: unknown, name: string): boolean | OptimizerLevel {
  if (typeof value === 'boolean') return value;
  const level = OPTIMIZER_LEVELS.find((known) => known === value);
  if (level === undefined) {
    throw badRequest(`"${name}" must be true, false or one of ${OPTIMIZER_LEVELS.join(', ')}`, name);
  }
  return level;
}

/**
 * A header has only text: `true` and `false` (also 1, 0, on) are taken as booleans, and what else means no. For the
 * optimizer `off` is a level.
 */
function word(value: string | string[] | undefined, no: readonly string[] = []): unknown {
  if (typeof value !== 'string') return value;
  const text = value.trim().toLowerCase();
  if (text === 'true' || text === '1' || text === 'on') return true;
  if (text === 'false' || text === '0' || no.includes(text)) return false;
  return text;
}
