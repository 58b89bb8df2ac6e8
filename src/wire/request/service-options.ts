import type { IncomingHttpHeaders } from 'node:http';
import { lifetime, OPTIMIZER_LEVELS, type OptimizerLevel } from '../../config/values.ts';
import { badRequest, messageOf } from '../../errors.ts';
import { isObject } from '../../json/object.ts';
import { type Labels, mergeLabels, parseLabels, readLabels } from '../../labels.ts';

/** A request's options for gw, from the body's `service` object or the `x-service-*` headers. */
export interface ServiceOptions {
  /** Off, on at the configured level, or a level for this request. Undefined keeps the configuration. */
  optimize?: boolean | OptimizerLevel;
  route?: boolean;
  /** Name of a budget or project. */
  budgetId?: string;
  /** What the client says that the request is for. */
  labels?: Labels;
  /** How long the answer may be replayed, in milliseconds; 0 for not at all. Undefined keeps the configuration. */
  replayMs?: number;
  /** Send nothing upstream, and respond with gw's decisions for the request. */
  explain?: boolean;
}

/** Fits a project's name, a period and a repository path. */
const MAX_BUDGET_ID = 300;

const OPTION_NAMES = new Set(['optimize', 'route', 'budget_id', 'labels', 'explain', 'replay']);

/** Reads the `service` object. Throws GwError 400 with `param` for an unknown or mistyped field. */
export function readServiceObject(value: unknown): ServiceOptions {
  if (value === null || value === undefined) return {};
  if (!isObject(value)) throw badRequest('"service" must be an object', 'service');
  const unknown = Object.keys(value).find((key) => !OPTION_NAMES.has(key));
  if (unknown !== undefined) {
    throw badRequest(
      `"service.${unknown}" is not an option: use ${[...OPTION_NAMES].join(', ')}`,
      `service.${unknown}`,
      'unknown_parameter',
    );
  }
  const options = readOptions(value.optimize, value.route, value.budget_id, {
    optimize: 'service.optimize',
    route: 'service.route',
    budget: 'service.budget_id',
  });
  const { explain = false, labels, replay } = value;
  if (typeof explain !== 'boolean')
    throw badRequest('"service.explain" must be true or false', 'service.explain');
  if (labels !== undefined && labels !== null) options.labels = readLabels(labels, 'service.labels');
  if (replay !== undefined && replay !== null) options.replayMs = readReplay(replay, 'service.replay');
  return explain ? { ...options, explain } : options;
}

/** Adds the options from headers. The body's options take precedence, field by field. */
export function withServiceHeaders(options: ServiceOptions, headers: IncomingHttpHeaders): ServiceOptions {
  const optimize = headers['x-service-optimize'];
  const route = headers['x-service-route'];
  const budget = headers['x-service-budget'];
  const labels = headers['x-service-labels'];
  const replay = headers['x-service-replay'];
  if (replay !== undefined) return withReplay(String(replay), options, headers);
  if (labels !== undefined) return withLabels(String(labels), options, headers);
  if (optimize === undefined && route === undefined && budget === undefined) return options;
  const fromHeaders = readOptions(headerValue(optimize), headerValue(route, ['off']), budget, {
    optimize: 'x-service-optimize',
    route: 'x-service-route',
    budget: 'x-service-budget',
  });
  return { ...fromHeaders, ...options };
}

function withReplay(text: string, options: ServiceOptions, headers: IncomingHttpHeaders): ServiceOptions {
  const { 'x-service-replay': _, ...others } = headers;
  return { replayMs: readReplay(text, 'x-service-replay'), ...withServiceHeaders(options, others) };
}

/** A time such as `1h`, or `off`. Throws GwError 400. */
function readReplay(value: unknown, name: string): number {
  try {
    return lifetime(typeof value === 'string' ? value.trim().toLowerCase() : value).ms;
  } catch (error) {
    throw badRequest(`"${name}": ${messageOf(error)}`, name);
  }
}

/** Labels of the header join those of the body, which take precedence, name by name. */
function withLabels(text: string, options: ServiceOptions, headers: IncomingHttpHeaders): ServiceOptions {
  const { 'x-service-labels': _, ...others } = headers;
  const name = 'x-service-labels';
  const labels = mergeLabels(name, options.labels, parseLabels(utf8Of(text, name), name));
  return { ...withServiceHeaders(options, others), ...(labels && { labels }) };
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** The text of a header, whose bytes Node reads as Latin-1. Throws GwError 400 if they are no UTF-8. */
function utf8Of(text: string, name: string): string {
  try {
    return UTF8.decode(Buffer.from(text, 'latin1'));
  } catch {
    throw badRequest(`"${name}" is "${text}", which is not UTF-8`, name);
  }
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
  const level = OPTIMIZER_LEVELS.find((name) => name === value);
  if (level === undefined) {
    throw badRequest(`"${name}" must be true, false or one of ${OPTIMIZER_LEVELS.join(', ')}`, name);
  }
  return level;
}

/**
 * Reads `true`, `1` and `on` as true; `false`, `0` and the `negatives` as false. `off` is not always a negative,
 * because the optimizer has a level of that name.
 */
function headerValue(value: string | string[] | undefined, negatives: readonly string[] = []): unknown {
  if (typeof value !== 'string') return value;
  const text = value.trim().toLowerCase();
  if (text === 'true' || text === '1' || text === 'on') return true;
  if (text === 'false' || text === '0' || negatives.includes(text)) return false;
  return text;
}
