import { Box } from 'ink';
import { formatUsd } from '../money.ts';
import type { DashboardReading } from '../operations/reader.ts';
import type { AskView } from '../operations/schemas/asks.ts';
import { budgetLabel } from '../store/budgets/budgets.ts';
import type { BudgetBlocks } from '../store/dashboard/blocks.ts';
import { type Look, MARKS, styleOf } from '../terminal/look.ts';
import { count, tokens } from '../terminal/numbers.ts';
import { missCause, originText, servedBy, shortRepo } from '../terminal/request-words.ts';
import { lineOf, textLine } from '../terminal/styled-lines.ts';
import { Budgets } from './panels/budgets.tsx';
import { Detail } from './panels/detail.tsx';
import { Drilled } from './panels/drilled.tsx';
import { Footer } from './panels/footer.tsx';
import { Header } from './panels/header.tsx';
import { Help } from './panels/help.tsx';
import { Limits } from './panels/limits.tsx';
import { type Area, Lines, Section } from './panels/lines.tsx';
import { Providers } from './panels/providers.tsx';
import { Question } from './panels/question.tsx';
import { Requests } from './panels/requests.tsx';
import { Running } from './panels/running.tsx';
import { Spend } from './panels/spend.tsx';
import { type Spender, Spenders } from './panels/spenders.tsx';
import { Team } from './panels/team.tsx';
import { Webhooks } from './panels/webhooks.tsx';
import type { Layout, PanelBox } from './state/layout.ts';
import { budgetsOf, feedOf, focusOf, layoutFor, newerThanHeld, type State } from './state/state.ts';

export interface DashboardProps {
  state: State;
  version: string;
  /** URL for clients. */
  baseUrl: string;
  look: Look;
}

export function Dashboard(props: DashboardProps) {
  const { state, look } = props;
  const { size, data } = state;
  const layout = layoutFor(state);
  if (layout.kind === 'too_small') {
    const text = `terminal too small (${size.columns}x${size.rows}): needs 40x8`;
    return <Lines lines={[textLine(text, size.columns, look)]} width={size.columns} height={1} />;
  }
  const { width, height, columns, gap } = layout;
  return (
    <Box flexDirection="column" width={width} height={height}>
      <Header
        {...props}
        {...state}
        providers={data?.providers ?? []}
        seenAt={seenAt(state)}
        pausedProjects={pausedProjects(data)}
        refusals={refusalsOf(state)}
        width={width}
      />
      <Middle {...props} columns={columns} gap={gap} width={width} height={height - 2} />
      <Footer {...state} isMember={state.team.team !== null} width={width} look={look} />
    </Box>
  );
}

/** The panels, or the dialog, help or view that replaces them. */
function Middle(props: DashboardProps & Omit<Extract<Layout, { kind: 'panels' }>, 'kind'>) {
  const { state, look, columns, gap, width, height } = props;
  const { data, dialog } = state;
  const area = { width, height, look };
  if (dialog) return <Question dialog={dialog} {...area} />;
  if (state.help) return <Help readonly={state.readonly} {...area} />;
  if (!data) return <Lines lines={[]} {...area} />;
  if (state.drill) return <Drilled drill={state.drill} {...area} />;
  if (state.team.isOpen) return <Team {...state.team} now={state.now} {...area} />;
  const isShown = columns.flat().some(({ panel }) => panel === 'detail');
  if (state.detailOpen && !isShown) return <Detail request={state.detail} {...area} />;
  return (
    <Box columnGap={gap}>
      {columns.map((panels) => (
        <Box key={panels[0]?.panel} flexDirection="column">
          {panels.map((box) => (
            <Panel key={box.panel} {...props} box={box} data={data} />
          ))}
        </Box>
      ))}
    </Box>
  );
}

function Panel({
  state,
  baseUrl,
  look,
  box,
  data,
}: DashboardProps & { box: PanelBox; data: DashboardReading }) {
  const { width, height } = box;
  const { selected, now, by } = state;
  const shared = { width, height, look, focused: box.panel === focusOf(state) };
  switch (box.panel) {
    case 'asks':
      return <Asks asks={data.asks} readonly={state.readonly} {...shared} />;
    case 'budgets':
      return (
        <Budgets
          {...{ ...shared, now, selected: selected.budget }}
          budgets={budgetsOf(state)}
          pausedProjects={pausedProjects(data)}
        />
      );
    case 'limits':
      return <Limits windows={data.limits} now={now} {...shared} />;
    case 'running':
      return <Running running={data.running} waiting={data.waiting} now={now} {...shared} />;
    case 'refused':
      return <Refused blocked={data.blocked} {...shared} />;
    case 'spend':
      return <Spend data={data} by={by} {...shared} />;
    case 'requests':
      return (
        <Requests
          {...{ ...shared, baseUrl, selected: selected.request }}
          entries={feedOf(state)}
          filter={state.filter}
          sort={state.sort}
          newer={state.heldFeed ? newerThanHeld(state) : undefined}
        />
      );
    case 'detail':
      return <Detail request={state.detail} {...shared} />;
    case 'models':
      return <Spenders title="TOP MODELS" spenders={data.models.map(modelSpender)} {...shared} />;
    case 'callers':
      return <Spenders title="TOP CALLERS" spenders={data.callers.map(callerSpender)} {...shared} />;
    case 'imported':
      return (
        <Spenders title="IMPORTED SESSIONS, AT LIST PRICE" spenders={importedSpenders(data)} {...shared} />
      );
    case 'providers':
      return <Providers providers={data.providers} {...shared} />;
    case 'misses':
      return <Misses misses={data.misses} {...shared} />;
    case 'webhooks':
      return <Webhooks {...{ ...shared, now, selected: selected.webhook }} webhooks={data.webhooks} />;
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
function seenAt({ seenAt, data }: State): number | null {
  return seenAt ?? data?.requests[0]?.timeMs ?? null;
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
function Asks({ asks, readonly, focused, ...area }: AsksProps) {
  const { width, height, look } = area;
  const name = Math.min(24, Math.floor(width * 0.3));
  const lines = asks.slice(0, height - 1).map(({ budget_id, needed_nano_usd, expires_at, agent, model }) =>
    lineOf(
      [
        { text: ` ${MARKS.warn}`, width: 2, style: styleOf(MARKS.warn, look) },
        { text: budgetLabel(budget_id), width: name },
        { text: formatUsd(needed_nano_usd), width: 8, align: 'right' },
        {
          text: `until ${look.times.time(Date.parse(expires_at))}  ${agent === null ? '' : `${agent} `}${model}`,
          width: width - name - 13,
        },
      ],
      look,
    ),
  );
  const title = `WAITING FOR AN ANSWER (${asks.length})${readonly ? '' : ', press a'}`;
  return <Section {...area} title={title} focused={focused} lines={lines} />;
}

interface RefusedProps extends Area {
  focused: boolean;
  /** Most refusals first. */
  blocked: readonly BudgetBlocks[];
}

/** Refused requests by budget. */
function Refused({ blocked, focused, ...area }: RefusedProps) {
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
  return <Section {...area} title="REFUSED" focused={focused} lines={lines} />;
}

interface MissesProps extends Area {
  focused: boolean;
  /** Most expensive cause first. */
  misses: DashboardReading['misses'];
}

const WIDTHS = { requests: 5, tokens: 6, cost: 9 };

/** Tokens that the providers' caches could have served but didn't, by cause. */
function Misses({ misses, focused, ...area }: MissesProps) {
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
  return <Section {...area} title="CACHE MISSES" labels={labels} focused={focused} lines={lines} />;
}
