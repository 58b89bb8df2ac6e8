import type { RequestId } from '../../ids.ts';
import type { DashboardReading } from '../../operations/reader.ts';
import type { BudgetView } from '../../operations/schemas/budgets.ts';
import type { RequestView } from '../../operations/schemas/requests.ts';
import type { TeamView } from '../../operations/schemas/team.ts';
import type { TeamUsageView } from '../../operations/schemas/usage.ts';
import type { FeedFilter } from '../../store/dashboard/feed.ts';
import type { Window } from '../../store/dashboard/reader.ts';
import type { StackBy } from '../../store/dashboard/spend.ts';
import type { CommandResult, Dialog } from './dialog.ts';
import type { Drill } from './drill.ts';
import { type Counts, type Layout, layoutOf, type MouseEvent, type PanelName, type Size } from './layout.ts';
import { type BudgetSort, type Sort, sortedBudgets, sortedEntries } from './sorting.ts';

/** The panels whose rows can be selected, by their keys. */
export const PANELS = ['budgets', 'requests', 'webhooks'] as const;

export interface State {
  size: Size;
  readonly: boolean;
  daemon: DaemonView;
  agents: readonly AgentView[];
  /** When a running daemon disappeared. */
  seenAt: number | null;
  now: number;
  data: DashboardReading | null;
  /** Error if the database can't be read. */
  problem: string | null;
  window: Window;
  filter: FeedFilter;
  /** Whether the display is frozen. */
  paused: boolean;
  focus: PanelName;
  /** Whether the focused panel has the whole screen. */
  zoomed: boolean;
  /** What the parts of the chart are of. */
  by: StackBy;
  /** The selected row of each panel, by name or id. */
  selected: { budget: string | null; request: RequestId | null; webhook: number | null };
  /** Snapshot of the feed when a request was selected; null while it follows new requests. */
  heldFeed: FeedEntry[] | null;
  detail: RequestView | null;
  detailOpen: boolean;
  /** The view from a budget down to a request, which replaces the panels. */
  drill: Drill | null;
  team: TeamState;
  help: boolean;
  /** The search or the gw command being typed; null if none. */
  prompt: { kind: 'search' | 'command'; text: string } | null;
  /** Order of the requests, and of the budgets. */
  sort: Sort;
  budgetSort: BudgetSort;
  dialog: Dialog | null;
  notice: string | null;
  /** Text to copy to the clipboard; a new object for each copy. */
  copy: { text: string } | null;
  /** The exit code; null until the user quits. */
  quit: number | null;
}

export type Action =
  | { type: 'data'; data: DashboardReading }
  | { type: 'problem'; message: string }
  | { type: 'daemon'; daemon: DaemonView; now: number }
  | { type: 'agents'; agents: readonly AgentView[] }
  | { type: 'detail'; detail: RequestView | null }
  | ({ type: 'drill' } & Partial<Pick<Drill, 'sessions' | 'requests' | 'problem'>>)
  | TeamAction
  | { type: 'tick'; now: number }
  | { type: 'resize'; size: Size }
  | { type: 'done'; result: CommandResult }
  | { type: 'failed'; message: string }
  | { type: 'press'; key: string }
  | { type: 'paste'; text: string }
  | { type: 'mouse'; event: MouseEvent };

/** What the dashboard remembers from one run to the next. */
export type View = Pick<State, 'focus' | 'zoomed' | 'by' | 'window' | 'sort' | 'budgetSort'>;

interface Start {
  size: Size;
  readonly: boolean;
  now: number;
  /** What an earlier run remembered. */
  view?: Partial<View>;
}

export function initialState({ size, readonly, now, view = {} }: Start): State {
  return {
    size,
    readonly,
    daemon: { kind: 'unknown' },
    agents: [],
    seenAt: null,
    now,
    data: null,
    problem: null,
    window: 'day',
    filter: { kind: 'all', text: '' },
    paused: false,
    focus: 'requests',
    zoomed: false,
    by: 'model',
    selected: { budget: null, request: null, webhook: null },
    heldFeed: null,
    detail: null,
    detailOpen: false,
    drill: null,
    team: NO_TEAM,
    help: false,
    prompt: null,
    sort: 'time',
    budgetSort: 'urgency',
    ...view,
    dialog: null,
    notice: null,
    copy: null,
    quit: null,
  };
}

/** The panels as they are laid out. */
export function layoutFor(state: State): Layout {
  return layoutOf(state.size, countsOf(state), state.zoomed ? focusOf(state) : null);
}

/** The panels on the screen without zoom, from the upper left. */
export function shownPanels(state: State): PanelName[] {
  const layout = layoutOf(state.size, countsOf(state));
  return layout.kind === 'too_small' ? [] : layout.columns.flat().map(({ panel }) => panel);
}

/** The panel that receives keys: the chosen one, or a visible one if the terminal is too small to show it. */
export function focusOf(state: State): PanelName {
  const shown = shownPanels(state);
  if (state.zoomed || shown.length === 0 || shown.includes(state.focus)) return state.focus;
  return shown.includes('requests') ? 'requests' : 'budgets';
}

/** The data with the rows whose names have the searched text. The store has searched the requests. */
export function shownData({ data, filter: { text } }: State): DashboardReading | null {
  if (!data || text === '') return data;
  const part = text.toLowerCase();
  const has = (...names: string[]) => names.some((name) => name.toLowerCase().includes(part));
  const isOf = (row: DashboardReading['running'][number] | DashboardReading['waiting'][number]) =>
    has(row.project, row.provider, row.model, row.agent, row.process, row.repo);
  return {
    ...data,
    budgets: data.budgets.filter(({ id }) => has(id)),
    running: data.running.filter(isOf),
    waiting: data.waiting.filter(isOf),
    limits: data.limits.filter(({ login, service }) => has(login, service)),
    blocked: data.blocked.filter(({ budget, model }) => has(budget, model)),
    imported: data.imported.filter(({ agent, repo, id }) => has(agent ?? '', repo ?? '', id)),
    models: data.models.filter(({ provider, model }) => has(provider, model)),
    callers: data.callers.filter(({ process, repo }) => has(process, repo)),
    providers: data.providers.filter(({ provider }) => has(provider)),
    webhooks: data.webhooks.filter(({ project, host }) => has(project, host)),
  };
}

/** Rows of a tall terminal that has room for a second line of a provider: its trends. */
const TRENDS_FROM = 33;

function providerLines({ providers, trends }: DashboardReading, rows: number): number {
  const names = new Set(trends.map(({ provider }) => provider));
  const second = rows < TRENDS_FROM ? [] : providers.filter(({ provider }) => names.has(provider));
  return providers.length + second.length;
}

function countsOf(state: State): Counts {
  const data = shownData(state);
  return {
    asks: data?.asks.length ?? 0,
    budgets: data?.budgets.length ?? 0,
    limits: data?.limits.length ?? 0,
    running: (data?.running.length ?? 0) + (data?.waiting.length ?? 0),
    refused: data?.blocked.length ?? 0,
    models: data?.models.length ?? 0,
    callers: data?.callers.length ?? 0,
    imported: data?.imported.length ?? 0,
    providers: data ? providerLines(data, state.size.rows) : 0,
    misses: data?.misses.length ?? 0,
    webhooks: data?.webhooks.length ?? 0,
  };
}

/** Entries of the feed: the held ones, else the newest, or those that lead in another order. */
export function feedOf({ heldFeed, data, sort }: State): FeedEntry[] {
  if (heldFeed) return heldFeed;
  const entries = collapseFeed(data?.requests ?? []);
  return sort === 'time' ? entries : sortedEntries(entries, sort);
}

/** Number of requests since the feed was held. */
export function newerThanHeld({ heldFeed, data }: State): number {
  const newest = heldFeed?.[0]?.row.id;
  return newest === undefined ? 0 : (data?.requests ?? []).filter(({ id }) => id > newest).length;
}

/** Budgets in the panel's order. */
export function budgetsOf(state: State): BudgetView[] {
  return sortedBudgets(shownData(state)?.budgets ?? [], state.budgetSort);
}

/** Id of the request in the detail panel: the selected one, else the newest. */
export function detailId(state: State): RequestId | null {
  return state.selected.request ?? feedOf(state)[0]?.row.id ?? null;
}

/** The state after an action other than a key press, which reduce.ts handles. */
export function receive(state: State, action: Exclude<Action, { type: 'press' | 'paste' | 'mouse' }>): State {
  switch (action.type) {
    case 'data':
      return { ...state, data: action.data, now: action.data.now, problem: null };
    case 'problem':
      return state.problem === action.message ? state : { ...state, problem: action.message };
    case 'daemon':
      return withDaemon(state, action.daemon, action.now);
    case 'agents':
      return isEqual(action.agents, state.agents) ? state : { ...state, agents: action.agents };
    case 'detail':
      return { ...state, detail: action.detail };
    case 'drill': {
      const { type: _, ...found } = action;
      return { ...state, drill: state.drill && { ...state.drill, ...found } };
    }
    case 'team':
    case 'teamUsage':
    case 'teamFailure': {
      const team = receiveTeam(state.team, action);
      return isEqual(team, state.team) ? state : { ...state, team };
    }
    case 'tick':
      return { ...state, now: action.now };
    case 'resize':
      return { ...state, size: action.size };
    case 'done':
      return { ...state, dialog: { kind: 'done', result: action.result, top: 0 } };
    case 'failed':
      return { ...state, dialog: { kind: 'failed', message: action.message } };
  }
}

/** Returns the same object if nothing changed, which saves a frame. */
function withDaemon(state: State, daemon: DaemonView, now: number): State {
  if (isEqual(daemon, state.daemon)) return state;
  const isGone = state.daemon.kind === 'running' && daemon.kind !== 'running';
  return { ...state, daemon, seenAt: isGone ? now : state.seenAt };
}

const isEqual = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** An agent whose settings point at gw. */
export interface AgentView {
  name: string;
  /** Requests in the agent's log that bypassed gw. */
  bypassed: number;
}

/** State of the daemon in the header. */
export type DaemonView =
  | { kind: 'unknown' }
  | { kind: 'running'; address: string; pid: number; startedAt: number }
  /** The process is alive but doesn't answer. */
  | { kind: 'silent'; pid: number }
  | { kind: 'stopped' };

type Row = DashboardReading['requests'][number];

/** A line of the feed: one request, or consecutive equal refusals. */
export interface FeedEntry {
  /** The newest request. */
  row: Row;
  count: number;
  /** Time of the oldest request, UTC milliseconds. */
  since: number;
}

/** Collapses consecutive refusals by the same budget into one entry: an agent in a loop causes hundreds. */
function collapseFeed(rows: readonly Row[]): FeedEntry[] {
  const entries: FeedEntry[] = [];
  for (const row of rows) {
    const last = entries.at(-1);
    if (last && isSameRefusal(last.row, row)) {
      last.count++;
      last.since = row.timeMs;
    } else {
      entries.push({ row, count: 1, since: row.timeMs });
    }
  }
  return entries;
}

function isSameRefusal(a: Row, b: Row): boolean {
  return (
    a.outcome === 'blocked' &&
    b.outcome === 'blocked' &&
    a.project === b.project &&
    a.model === b.model &&
    a.budget === b.budget
  );
}

/** The dashboard's state of this gateway's team. */
export interface TeamState {
  /** This gateway's copy of the team's state; null without a team. */
  team: TeamView | null;
  isOpen: boolean;
  /** Today's usage from the team's database; null until it is read. */
  usage: { gateways: TeamUsageView; models: TeamUsageView; at: number } | null;
  /** Why and since when queries of the team's database fail. */
  failure: { message: string; since: number } | null;
}

type TeamAction =
  | { type: 'team'; team: TeamView }
  | ({ type: 'teamUsage' } & NonNullable<TeamState['usage']>)
  | { type: 'teamFailure'; message: string; at: number };

const NO_TEAM: TeamState = { team: null, isOpen: false, usage: null, failure: null };

function receiveTeam(state: TeamState, action: TeamAction): TeamState {
  switch (action.type) {
    case 'team':
      return action.team.name === null ? NO_TEAM : { ...state, team: action.team };
    case 'teamUsage': {
      const { type: _, ...usage } = action;
      return { ...state, usage, failure: null };
    }
    case 'teamFailure':
      return {
        ...state,
        failure: { message: action.message, since: state.failure?.since ?? state.usage?.at ?? action.at },
      };
  }
}
