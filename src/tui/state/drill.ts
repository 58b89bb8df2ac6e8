import type { BudgetView, RequestView, UsageViewRow } from '../../reading/schemas.ts';
import { listMove, type Move } from './move.ts';

/** The way from a budget to the sessions that have spent it, to the requests of one, to one request. */
export interface Drill {
  budget: BudgetView;
  /** Highest cost first; null while they are read. */
  sessions: UsageViewRow[] | null;
  session: number;
  /** Of the chosen session; undefined while none is chosen, null while they are read. */
  requests: RequestView[] | null | undefined;
  request: number;
  detailOpen: boolean;
  problem: string | null;
}

/** What usage without a session is listed under. Its requests can't be told from others. */
const NO_SESSION = 'unknown';

export function drillInto(budget: BudgetView): Drill {
  return {
    budget,
    sessions: null,
    session: 0,
    requests: undefined,
    request: 0,
    detailOpen: false,
    problem: null,
  };
}

/** The session whose requests are shown or to be read; undefined while sessions are chosen from. */
export function chosenSession({ sessions, session, requests }: Drill): string | undefined {
  return requests === undefined ? undefined : sessions?.[session]?.session;
}

export function moveInDrill(drill: Drill, move: Move): Drill {
  if (drill.detailOpen) return drill;
  if (drill.requests === undefined)
    return { ...drill, session: listMove(drill.sessions?.length ?? 0, drill.session, move) };
  return { ...drill, request: listMove(drill.requests?.length ?? 0, drill.request, move) };
}

/** One step down: from a session to its requests, from a request to its detail. */
export function enterDrill(drill: Drill): Drill {
  if (drill.requests) return { ...drill, detailOpen: drill.requests.length > 0 };
  const session = drill.sessions?.[drill.session]?.session ?? NO_SESSION;
  if (drill.requests === null || session === NO_SESSION) return drill;
  return { ...drill, requests: null, request: 0 };
}

/** One step up; null leaves to the panels. */
export function leaveDrill(drill: Drill): Drill | null {
  if (drill.detailOpen) return { ...drill, detailOpen: false };
  return drill.requests === undefined ? null : { ...drill, requests: undefined };
}
