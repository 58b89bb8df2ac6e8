import type { BudgetView } from '../../operations/schemas/budgets.ts';
import type { RequestView } from '../../operations/schemas/requests.ts';
import type { UsageViewRow } from '../../operations/schemas/usage.ts';
import {
  SESSION_REQUEST_SORTS,
  SESSION_SORTS,
  type SessionRequestSort,
  type SessionSort,
  sortedSessionRequests,
  sortedSessions,
} from './sorting.ts';

/** Navigation from a budget to its sessions, to a session's requests, to one request. */
export interface Drill {
  budget: BudgetView;
  /** Highest cost first; null while loading. */
  sessions: UsageViewRow[] | null;
  /** Place of the selected session, and the name of the opened one. */
  session: number;
  opened: string | undefined;
  /** Requests of the opened session; undefined = none opened, null = loading. */
  requests: RequestView[] | null | undefined;
  request: number;
  detailOpen: boolean;
  /** Orders and searched texts of the two lists. */
  sort: { sessions: SessionSort; requests: SessionRequestSort };
  text: { sessions: string; requests: string };
  problem: string | null;
}

/** Row of the usage without a session. Its requests can't be listed separately. */
const NO_SESSION = 'unknown';

export function drillInto(budget: BudgetView): Drill {
  return {
    budget,
    sessions: null,
    session: 0,
    opened: undefined,
    requests: undefined,
    request: 0,
    detailOpen: false,
    sort: { sessions: 'cost', requests: 'time' },
    text: { sessions: '', requests: '' },
    problem: null,
  };
}

/** The list that is on the screen. */
export const levelOf = ({ requests }: Drill): keyof Drill['text'] =>
  requests === undefined ? 'sessions' : 'requests';

/** The sessions with the searched text in their name, in order; null while loading. */
export function shownSessions({ sessions, text, sort }: Drill): UsageViewRow[] | null {
  const found = sessions?.filter(({ session = '' }) => has(session, text.sessions));
  return found ? sortedSessions(found, sort.sessions) : null;
}

/** The opened session's requests with the searched text in their model's name, in order. */
export function shownRequests({ requests, text, sort }: Drill): RequestView[] | null | undefined {
  const found = requests?.filter(({ model, asked_model }) => has(`${model} ${asked_model}`, text.requests));
  return found ? sortedSessionRequests(found, sort.requests) : requests;
}

const has = (name: string, text: string) => name.toLowerCase().includes(text.toLowerCase());

export function filterDrill(drill: Drill, text: string): Drill {
  return toTop({ ...drill, text: { ...drill.text, [levelOf(drill)]: text } });
}

/** The next order of the list on the screen. */
export function sortDrill(drill: Drill): Drill {
  const { sessions, requests } = drill.sort;
  const sort =
    levelOf(drill) === 'sessions'
      ? { requests, sessions: following(SESSION_SORTS, sessions) }
      : { sessions, requests: following(SESSION_REQUEST_SORTS, requests) };
  return toTop({ ...drill, sort });
}

const following = <T>(all: readonly T[], current: T): T =>
  all[(all.indexOf(current) + 1) % all.length] ?? current;

const toTop = (drill: Drill): Drill =>
  levelOf(drill) === 'sessions' ? { ...drill, session: 0 } : { ...drill, request: 0, detailOpen: false };

/** The opened session; undefined in the list of sessions. */
export function chosenSession({ requests, opened }: Drill): string | undefined {
  return requests === undefined ? undefined : opened;
}

/** The request that is selected in a session. */
export const chosenRequest = (drill: Drill): RequestView | undefined => shownRequests(drill)?.[drill.request];

/** The id of the selected row. */
export function idInDrill(drill: Drill): string | undefined {
  return drill.requests ? chosenRequest(drill)?.id : shownSessions(drill)?.[drill.session]?.session;
}

export function moveInDrill(drill: Drill, move: Move): Drill {
  if (drill.detailOpen) return drill;
  if (levelOf(drill) === 'sessions')
    return { ...drill, session: listMove(shownSessions(drill)?.length ?? 0, drill.session, move) };
  return { ...drill, request: listMove(shownRequests(drill)?.length ?? 0, drill.request, move) };
}

/** Opens the selected row: a session's requests, or a request's detail. */
export function enterDrill(drill: Drill): Drill {
  if (drill.requests) return { ...drill, detailOpen: chosenRequest(drill) !== undefined };
  const opened = shownSessions(drill)?.[drill.session]?.session ?? NO_SESSION;
  if (drill.requests === null || opened === NO_SESSION) return drill;
  return { ...drill, opened, requests: null, request: 0, text: { ...drill.text, requests: '' } };
}

/** Goes back a step: a detail, a searched text, a level; null returns to the panels. */
export function leaveDrill(drill: Drill): Drill | null {
  if (drill.detailOpen) return { ...drill, detailOpen: false };
  if (drill.text[levelOf(drill)] !== '') return filterDrill(drill, '');
  return drill.requests === undefined ? null : { ...drill, requests: undefined };
}

/** Number of rows to move, or an end of the list. */
export type Move = number | 'first' | 'last';

/** The index after a move in a list. */
function listMove(length: number, at: number, move: Move): number {
  const to = move === 'first' ? 0 : move === 'last' ? length - 1 : at + move;
  return Math.max(0, Math.min(length - 1, to));
}
