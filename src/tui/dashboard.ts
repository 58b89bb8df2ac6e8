import { formatUsd } from '../money.ts';
import type { DashboardReading } from '../operations/reader.ts';
import type { AskView } from '../operations/schemas/asks.ts';
import { budgetLabel } from '../store/budgets/budgets.ts';
import type { BudgetBlocks } from '../store/dashboard/blocks.ts';
import { type Look, MARKS, styleOf } from '../terminal/look.ts';
import { count, tokens } from '../terminal/numbers.ts';
import { missCause, originText, servedBy, shortRepo } from '../terminal/request-words.ts';
import { lineOf, textLine } from '../terminal/styled-lines.ts';
import type { Block } from './frame.ts';
import { drawBudgets } from './panels/budgets.ts';
import { drawDetail } from './panels/detail.ts';
import { drawDrilled } from './panels/drilled.ts';
import { drawFooter } from './panels/footer.ts';
import { drawHeader } from './panels/header.ts';
import { drawHelp } from './panels/help.ts';
import { drawLimits } from './panels/limits.ts';
import { type Area, section } from './panels/lines.ts';
import { drawProviders } from './panels/providers.ts';
import { drawQuestion } from './panels/question.ts';
import { drawRequests } from './panels/requests.ts';
import { drawRunning } from './panels/running.ts';
import { drawSpend } from './panels/spend.ts';
import { drawSpenders, type Spender } from './panels/spenders.ts';
import { drawTeam } from './panels/team.ts';
import { drawWebhooks } from './panels/webhooks.ts';
import type { PanelBox } from './state/layout.ts';
import {
  budgetsOf,
  feedOf,
  focusOf,
  layoutFor,
  newerThanHeld,
  type State,
  shownData,
} from './state/state.ts';

export interface DashboardProps {
  state: State;
  version: string;
  /** URL for clients. */
  baseUrl: string;
  look: Look;
}

/** The frame, as lines at their places. */
export function drawDashboard(props: DashboardProps): Block[] {
  const { state, look } = props;
  const { size, data } = state;
  const layout = layoutFor(state);
  if (layout.kind === 'too_small') {
    const text = `terminal too small (${size.columns}x${size.rows}): needs 40x8`;
    return [{ x: 0, y: 0, lines: [textLine(text, size.columns, look)] }];
  }
  const { width, height, columns } = layout;
  const header = drawHeader({
    ...props,
    ...state,
    providers: data?.providers ?? [],
    seenAt: seenAt(state),
    pausedProjects: pausedProjects(data),
    refusals: refusalsOf(state),
    runaways: data?.runaways ?? [],
    width,
  });
  return [
    { x: 0, y: 0, lines: [header] },
    ...drawMiddle(props, columns.flat(), { width, height: height - 2, look }),
    {
      ...{ x: 0, y: height - 1 },
      lines: [drawFooter({ ...state, isMember: state.team.team !== null, width, look })],
    },
  ];
}

/** The row of the first line below the header. */
const TOP = 1;

/** The panels, or the dialog, help or view that replaces them. */
function drawMiddle(props: DashboardProps, boxes: readonly PanelBox[], area: Area): Block[] {
  const { state } = props;
  const { data, dialog } = state;
  const whole = (lines: string[]) => [{ x: 0, y: TOP, lines }];
  if (dialog) return whole(drawQuestion({ dialog, ...area }));
  if (state.help) return whole(drawHelp({ readonly: state.readonly, ...area }));
  if (!data) return [];
  if (state.drill) return whole(drawDrilled({ drill: state.drill, ...area }));
  if (state.team.isOpen) return drawTeam({ ...state.team, now: state.now, top: TOP, ...area });
  const isShown = boxes.some(({ panel }) => panel === 'detail');
  if (state.detailOpen && !isShown) return whole(drawDetail({ request: state.detail, ...area }));
  return boxes.map((box) => ({ x: box.x, y: box.y, lines: drawPanel(props, box, data) }));
}

function drawPanel({ state, baseUrl, look }: DashboardProps, box: PanelBox, all: DashboardReading): string[] {
  const data = shownData(state) ?? all;
  const { width, height } = box;
  const { selected, now, by } = state;
  const shared = { width, height, look, focused: box.panel === focusOf(state) };
  switch (box.panel) {
    case 'asks':
      return drawAsks({ asks: data.asks, readonly: state.readonly, ...shared });
    case 'budgets':
      return drawBudgets({
        ...{ ...shared, now, selected: selected.budget },
        budgets: budgetsOf(state),
        sort: state.budgetSort,
        search: state.filter.text,
        pausedProjects: pausedProjects(data),
      });
    case 'limits':
      return drawLimits({ windows: data.limits, now, ...shared });
    case 'running':
      return drawRunning({ running: data.running, waiting: data.waiting, ...runningUntil(state), ...shared });
    case 'refused':
      return drawRefused({ blocked: data.blocked, ...shared });
    case 'spend':
      return drawSpend({ data: all, by, ...shared });
    case 'requests':
      return drawRequests({
        ...{ ...shared, baseUrl, selected: selected.request },
        entries: feedOf(state),
        projects: data.projects.length,
        filter: state.filter,
        sort: state.sort,
        newer: state.heldFeed ? newerThanHeld(state) : undefined,
      });
    case 'detail':
      return drawDetail({ request: state.detail, ...shared });
    case 'models':
      return drawSpenders({ title: 'TOP MODELS', spenders: data.models.map(modelSpender), ...shared });
    case 'callers':
      return drawSpenders({ title: 'TOP CALLERS', spenders: data.callers.map(callerSpender), ...shared });
    case 'imported':
      return drawSpenders({
        title: 'IMPORTED SESSIONS, AT LIST PRICE',
        spenders: importedSpenders(data),
        ...shared,
      });
    case 'providers':
      return drawProviders({ providers: data.providers, trends: data.trends, ...shared });
    case 'misses':
      return drawMisses({ misses: data.misses, ...shared });
    case 'webhooks':
      return drawWebhooks({ ...{ ...shared, now, selected: selected.webhook }, webhooks: data.webhooks });
  }
}

function modelSpender({ provider, model, ...figures }: DashboardReading['models'][number]): Spender {
  return { name: provider === '' ? model : servedBy({ provider, model }), ...figures };
}

function callerSpender({ process, repo, ...figures }: DashboardReading['callers'][number]): Spender {
  return { name: originText({ process, repo: shortRepo(repo) }), ...figures };
}

/** Highest cost first, as the other spenders. */
function importedSpenders({ imported }: DashboardReading): Spender[] {
  return imported
    .map(({ agent, repo, id, requests, cost_nano_usd }) => ({
      name: `${originText({ process: agent ?? '', repo: shortRepo(repo ?? '') })} ${id.slice(0, 8)}`,
      requests,
      costNanoUsd: cost_nano_usd,
    }))
    .sort((a, b) => b.costNanoUsd - a.costNanoUsd);
}

/** When a daemon was last seen, else the time of the newest request. */
const seenAt = ({ seenAt, data }: State): number | null => seenAt ?? data?.requests[0]?.timeMs ?? null;

/** Nothing runs without a daemon: what is left in the database is as old as its end. */
function runningUntil(state: State): { now: number; isOver: boolean } {
  const isOver = state.daemon.kind === 'stopped';
  return { now: isOver ? (seenAt(state) ?? state.now) : state.now, isOver };
}

const ALARM_MS = 60_000;

/** The budget that has refused something within the last minute, in words. */
function refusalsOf({ data, now }: State): string {
  const fresh = (data?.blocked ?? []).filter(({ lastAt }) => now - lastAt < ALARM_MS);
  const [last] = fresh.sort((a, b) => b.lastAt - a.lastAt);
  return last ? `REFUSED: ${budgetLabel(last.budget)} has no room (x${count(last.count)})` : '';
}

function pausedProjects(data: DashboardReading | null): string[] {
  return (data?.projects ?? []).filter(({ paused }) => paused).map(({ name }) => name);
}

interface AsksProps extends Area {
  focused: boolean;
  /** Oldest first. */
  asks: readonly AskView[];
  readonly: boolean;
}

/** Requests that wait for approval, with their deadlines. */
function drawAsks({ asks, readonly, focused, ...area }: AsksProps): string[] {
  const { width, height, look } = area;
  const name = Math.min(24, Math.floor(width * 0.3));
  const lines = asks
    .slice(0, height - 1)
    .map(({ budget_id, needed_nano_usd, expires_at, agent, model, runaway }) =>
      lineOf(
        [
          { text: ` ${MARKS.warn}`, width: 2, style: styleOf(MARKS.warn, look) },
          { text: budgetLabel(budget_id), width: name },
          { text: formatUsd(needed_nano_usd), width: 8, align: 'right' },
          {
            text: `until ${look.times.time(Date.parse(expires_at))}  ${agent === null ? '' : `${agent} `}${runaway ?? model}`,
            width: width - name - 13,
          },
        ],
        look,
      ),
    );
  const title = `WAITING FOR AN ANSWER (${asks.length})${readonly ? '' : ', press a'}`;
  return section({ ...area, title, focused, lines });
}

interface RefusedProps extends Area {
  focused: boolean;
  /** Most refusals first. */
  blocked: readonly BudgetBlocks[];
}

/** Refused requests by budget. */
function drawRefused({ blocked, focused, ...area }: RefusedProps): string[] {
  const { width, height, look } = area;
  const { times } = look;
  const name = Math.min(22, Math.floor(width / 3));
  const lines = blocked.slice(0, height - 1).map(({ budget, count: refusals, lastAt, model }) =>
    lineOf(
      [
        { text: ` ${MARKS.bad}`, width: 2, style: styleOf(MARKS.bad, look) },
        { text: budgetLabel(budget), width: name },
        { text: `x${count(refusals)}`, width: 7, align: 'right', style: styleOf(MARKS.bad, look) },
        { text: `last ${times.time(lastAt).slice(0, 5)}  ${model}`, width: width - name - 12 },
      ],
      look,
    ),
  );
  return section({ ...area, title: 'REFUSED', focused, lines });
}

interface MissesProps extends Area {
  focused: boolean;
  /** Most expensive cause first. */
  misses: DashboardReading['misses'];
}

const WIDTHS = { requests: 5, tokens: 6, cost: 9 };

/** Tokens that the providers' caches could have served but didn't, by cause. */
function drawMisses({ misses, focused, ...area }: MissesProps): string[] {
  const { width, height, look } = area;
  const lines = misses.slice(0, height - 1).map(({ cause, requests, missedTokens, missedNanoUsd }) =>
    lineOf(
      [
        { text: '', width: 1 },
        { text: missCause(cause), width: width - WIDTHS.requests - WIDTHS.tokens - WIDTHS.cost - 5 },
        { text: `x${tokens(requests)}`, width: WIDTHS.requests, align: 'right', style: look.palette.dim },
        { text: tokens(missedTokens), width: WIDTHS.tokens, align: 'right' },
        { text: formatUsd(missedNanoUsd), width: WIDTHS.cost, align: 'right' },
      ],
      look,
    ),
  );
  const labels = `${'tokens'.padStart(WIDTHS.tokens)} ${'extra'.padStart(WIDTHS.cost)}`.padStart(width);
  return section({ ...area, title: 'CACHE MISSES', labels, focused, lines });
}
