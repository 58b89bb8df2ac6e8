import type { Address } from './address.ts';
import { conditionsIn } from './address.ts';
import type { InputOf, Route } from './ask.ts';
import { type Grouping, groupingIn, isLabel } from './groupings.ts';

/** What a view reads, with the arguments of `useReading`. */
const asked = <Each extends Route>(route: Each, input: InputOf<Each>, isLive = false) =>
  [route, input, { isLive }] as const;

export const WHOAMI = asked('GET /v1/gw/whoami', undefined);

/** How many requests the first view shows. */
const LATEST = 10;

export const dayOf = (address: Address) =>
  asked('GET /v1/gw/dashboard', { window: 'day', limit: LATEST, by: byOf(address) }, true);

export const windowsOf = (isLive: boolean) => asked('GET /v1/gw/limits', undefined, isLive);

export const BYS = ['model', 'agent', 'project'] as const;
export const byOf = ({ parameters }: Address) => BYS.find((by) => by === parameters.by) ?? 'model';

/** How the report of spend is grouped, and what its curve is of. */
export function groupsOf({ parameters }: Address) {
  const by = groupingIn(parameters.by) ?? 'model';
  const and = groupingIn(parameters.and);
  // A report is by one label at most.
  const isPair = and !== undefined && and !== by && !(isLabel(by) && isLabel(and));
  // Sessions are too many for a curve.
  const series: Grouping = ['day', 'hour', 'session'].includes(by) ? 'model' : by;
  return { by, and: isPair ? and : undefined, series };
}

const daysOf = (address: Address) => {
  const { from = '29d', to } = address.parameters;
  return { ...conditionsIn(address), from, ...(to ? { to } : {}) };
};

export const curveOf = (address: Address) =>
  asked('GET /v1/gw/usage', { ...daysOf(address), group_by: `day,${groupsOf(address).series}` });

export function reportOf(address: Address) {
  const { by, and } = groupsOf(address);
  return asked('GET /v1/gw/usage', { ...daysOf(address), group_by: and ? `${by},${and}` : by });
}

const SESSIONS = 100;
export const MOST_SESSIONS = 1_000;

export function sessionsOf({ parameters: { project_id, agent, show } }: Address) {
  const limit = Math.min(MOST_SESSIONS, Number(show) || SESSIONS);
  const input = { limit, ...(project_id ? { project_id } : {}), ...(agent ? { agent } : {}) };
  return asked('GET /v1/gw/sessions', input);
}

const REQUESTS = 100;

export function requestsOf(address: Address) {
  const { cursor } = address.parameters;
  const input = { ...conditionsIn(address), limit: REQUESTS, ...(cursor ? { cursor } : {}) };
  return asked('GET /v1/gw/requests', input, cursor === undefined);
}

/** What a view reads first. It is asked for while the code that shows it is still being loaded. */
export function firstOf(address: Address) {
  if (address.id !== undefined) return [];
  switch (address.view) {
    case '':
      return [dayOf(address)];
    case 'spend':
      return [curveOf(address), reportOf(address)];
    case 'sessions':
      return [sessionsOf(address)];
    case 'requests':
      return [requestsOf(address)];
    default:
      return [];
  }
}
