import type { BudgetView } from '../../operations/schemas/budgets.ts';
import type { RequestView } from '../../operations/schemas/requests.ts';
import type { UsageViewRow } from '../../operations/schemas/usage.ts';

/** Navigation from a budget to its sessions, to a session's requests, to one request. */
export interface Drill {
  budget: BudgetView;
  /** Highest cost first; null while loading. */
  sessions: UsageViewRow[] | null;
  session: number;
  /** Requests of the opened session; undefined = none opened, null = loading. */
  requests: RequestView[] | null | undefined;
  request: number;
  detailOpen: boolean;
  /** Part of the names of the sessions that are shown. */
  text: string;
  problem: string | null;
}

/** Row of the usage without a session. Its requests can't be listed separately. */
const NO_SESSION = 'unknown';

export function drillInto(budget: BudgetView): Drill {
  return {
    budget,
    sessions: null,
    session: 0,
    requests: undefined,
    request: 0,
    detailOpen: false,
    text: '',
    problem: null,
  };
}

/** The sessions with the searched text in their name; null while loading. */
export function shownSessions({ sessions, text }: Drill): UsageViewRow[] | null {
  const part = text.toLowerCase();
  return sessions && part !== ''
    ? sessions.filter(({ session = '' }) => session.toLowerCase().includes(part))
    : sessions;
}

export function filterDrill(drill: Drill, text: string): Drill {
  return { ...drill, text, session: 0, requests: undefined, detailOpen: false };
}

/** The opened session; undefined in the list of sessions. */
export function chosenSession(drill: Drill): string | undefined {
  return drill.requests === undefined ? undefined : shownSessions(drill)?.[drill.session]?.session;
}

/** The id of the selected row. */
export function idInDrill(drill: Drill): string | undefined {
  return drill.requests ? drill.requests[drill.request]?.id : shownSessions(drill)?.[drill.session]?.session;
}

export function moveInDrill(drill: Drill, move: Move): Drill {
  if (drill.detailOpen) return drill;
  if (drill.requests === undefined)
    return { ...drill, session: listMove(shownSessions(drill)?.length ?? 0, drill.session, move) };
  return { ...drill, request: listMove(drill.requests?.length ?? 0, drill.request, move) };
}

/** Opens the selected row: a session's requests, or a request's detail. */
export function enterDrill(drill: Drill): Drill {
  if (drill.requests) return { ...drill, detailOpen: drill.requests.length > 0 };
  const session = shownSessions(drill)?.[drill.session]?.session ?? NO_SESSION;
  if (drill.requests === null || session === NO_SESSION) return drill;
  return { ...drill, requests: null, request: 0 };
}

/** Goes back one level; null returns to the panels. */
export function leaveDrill(drill: Drill): Drill | null {
  if (drill.detailOpen) return { ...drill, detailOpen: false };
  return drill.requests === undefined ? null : { ...drill, requests: undefined };
}

/** Number of rows to move, or an end of the list. */
export type Move = number | 'first' | 'last';

/** The index after a move in a list. */
function listMove(length: number, at: number, move: Move): number {
  const to = move === 'first' ? 0 : move === 'last' ? length - 1 : at + move;
  return Math.max(0, Math.min(length - 1, to));
}
