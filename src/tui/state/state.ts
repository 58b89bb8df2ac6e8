import type { RequestId } from '../../ids.ts';
import type { Standing } from '../../store/budgets/budgets.ts';
import type { FeedFilter } from '../../store/dashboard/feed.ts';
import type { DashboardData, Window } from '../../store/dashboard/reader.ts';
import type { LoggedRequest } from '../../store/requests/request-log.ts';
import { byUrgency } from './budget-order.ts';
import type { Done } from './command.ts';
import type { DaemonView } from './daemon-view.ts';
import type { Dialog } from './dialog.ts';
import { collapseFeed, type FeedEntry } from './feed-entry.ts';
import { layoutOf, type Size } from './layout.ts';

export const PANELS = ['budgets', 'requests', 'webhooks'] as const;
/** A panel whose rows can be selected. */
export type PanelId = (typeof PANELS)[number];

/** All that the screen depends on. */
export interface State {
  size: Size;
  readonly: boolean;
  daemon: DaemonView;
  /** When it was seen that the daemon is gone. */
  seenAt: number | null;
  now: number;
  data: DashboardData | null;
  /** Why the database cannot be read. */
  problem: string | null;
  window: Window;
  filter: FeedFilter;
  /** The display stands still. */
  paused: boolean;
  focus: PanelId;
  /** What is selected in each panel, by name or id. A selected request holds the feed as it was. */
  selected: { budget: string | null; request: RequestId | null; webhook: number | null };
  held: FeedEntry[] | null;
  detail: LoggedRequest | null;
  detailOpen: boolean;
  help: boolean;
  /** The search as it is typed. */
  search: string | null;
  dialog: Dialog | null;
  notice: string | null;
  /** What goes to the clipboard; a new object each time. */
  copy: { text: string } | null;
  /** The exit code, once it is time. */
  quit: number | null;
}

export type Action =
  | { type: 'data'; data: DashboardData }
  | { type: 'problem'; message: string }
  | { type: 'daemon'; daemon: DaemonView; now: number }
  | { type: 'detail'; detail: LoggedRequest | null }
  | { type: 'resize'; size: Size }
  | { type: 'done'; done: Done }
  | { type: 'failed'; message: string }
  | { type: 'press'; key: string };

export function initialState({ size, readonly, now }: { size: Size; readonly: boolean; now: number }): State {
  return {
    size,
    readonly,
    daemon: { kind: 'unknown' },
    seenAt: null,
    now,
    data: null,
    problem: null,
    window: 'day',
    filter: { kind: 'all', text: '' },
    paused: false,
    focus: 'requests',
    selected: { budget: null, request: null, webhook: null },
    held: null,
    detail: null,
    detailOpen: false,
    help: false,
    search: null,
    dialog: null,
    notice: null,
    copy: null,
    quit: null,
  };
}

/** The panel that has the keys: where the terminal is too small for the one that was chosen, the one that is there. */
export function focusOf({ size, focus }: State): PanelId {
  const layout = layoutOf(size, NOTHING);
  if (layout.kind === 'too_small') return focus;
  const isShown = (panel: PanelId) => layout.columns.flat().some((place) => place.panel === panel);
  return isShown(focus) || isShown('requests') ? focus : 'budgets';
}

const NOTHING = { budgets: 0, models: 0, callers: 0, blocked: 0, webhooks: 0 };

/** The rows of the feed: those that a selection holds, else the newest. */
export function feedOf(state: State): FeedEntry[] {
  return state.held ?? collapseFeed(state.data?.requests ?? []);
}

/** How many requests came since the feed is held. */
export function newerThanHeld({ held, data }: State): number {
  const newest = held?.[0]?.row.id;
  return newest === undefined ? 0 : (data?.requests ?? []).filter(({ id }) => id > newest).length;
}

/** The budgets as they are listed. */
export function budgetsOf({ data }: State): Standing[] {
  return byUrgency(data?.budgets ?? [], data?.now ?? 0);
}

/** The request that the detail is of: the selected one, else the newest. */
export function detailId(state: State): RequestId | null {
  return state.selected.request ?? feedOf(state)[0]?.row.id ?? null;
}

/** Takes what happened outside; keys are in press.ts. */
export function receive(state: State, action: Exclude<Action, { type: 'press' }>): State {
  switch (action.type) {
    case 'data':
      return { ...state, data: action.data, now: action.data.now, problem: null };
    case 'problem':
      return state.problem === action.message ? state : { ...state, problem: action.message };
    case 'daemon':
      return withDaemon(state, action.daemon, action.now);
    case 'detail':
      return { ...state, detail: action.detail };
    case 'resize':
      return { ...state, size: action.size };
    case 'done':
      return { ...state, dialog: { kind: 'done', done: action.done } };
    case 'failed':
      return { ...state, dialog: { kind: 'failed', message: action.message } };
  }
}

/** The same state where nothing changed: it costs no frame. */
function withDaemon(state: State, daemon: DaemonView, now: number): State {
  if (JSON.stringify(daemon) === JSON.stringify(state.daemon)) return state;
  const isGone = state.daemon.kind === 'running' && daemon.kind !== 'running';
  return { ...state, daemon, seenAt: isGone ? now : state.seenAt };
}
