import { Box } from 'ink';
import type { DashboardReading } from '../reading/reader.ts';
import type { Look } from '../terminal/look.ts';
import { originText, servedBy, shortRepo } from '../terminal/request-words.ts';
import { textLine } from '../terminal/styled-lines.ts';
import { Asks } from './panels/asks.tsx';
import { Blocked } from './panels/blocked.tsx';
import { Budgets } from './panels/budgets.tsx';
import { Detail } from './panels/detail.tsx';
import { Drilled } from './panels/drilled.tsx';
import { Footer } from './panels/footer.tsx';
import { Header } from './panels/header.tsx';
import { Help } from './panels/help.tsx';
import { Lines } from './panels/lines.tsx';
import { Misses } from './panels/misses.tsx';
import { Question } from './panels/question.tsx';
import { Requests } from './panels/requests.tsx';
import { type Spender, Spenders } from './panels/spenders.tsx';
import { Team } from './panels/team.tsx';
import { Today } from './panels/today.tsx';
import { Webhooks } from './panels/webhooks.tsx';
import { layoutOf, type PanelBox } from './state/layout.ts';
import { budgetsOf, feedOf, focusOf, newerThanHeld, type State } from './state/state.ts';

export interface DashboardProps {
  state: State;
  version: string;
  /** Where clients send requests. */
  baseUrl: string;
  look: Look;
}

/** Renders a state as the whole screen. */
export function Dashboard(props: DashboardProps) {
  const { state, look } = props;
  const { size, data } = state;
  const layout = layoutOf(size, countsOf(data));
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
        width={width}
      />
      <Middle {...props} columns={columns} gap={gap} width={width} height={height - 2} />
      <Footer {...state} isMember={state.team.team !== null} width={width} look={look} />
    </Box>
  );
}

interface MiddleProps extends DashboardProps {
  columns: PanelBox[][];
  gap: number;
  width: number;
  height: number;
}

/** The panels, or what replaces them: a dialog, the help, the detail of a request. */
function Middle(props: MiddleProps) {
  const { state, look, columns, gap, width, height } = props;
  const { data, dialog } = state;
  if (dialog) return <Question dialog={dialog} width={width} height={height} look={look} />;
  if (state.help) return <Help readonly={state.readonly} width={width} height={height} look={look} />;
  if (!data) return <Lines lines={[]} width={width} height={height} />;
  if (state.drill) return <Drilled drill={state.drill} width={width} height={height} look={look} />;
  if (state.team.isOpen)
    return <Team {...state.team} now={state.now} width={width} height={height} look={look} />;
  const hasDetail = columns.some((panels) => panels.some(({ panel }) => panel === 'detail'));
  if (state.detailOpen && !hasDetail) {
    return <Detail request={state.detail} width={width} height={height} look={look} />;
  }
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
  const { selected, now } = state;
  const focus = focusOf(state);
  const size = { width, height, look };
  switch (box.panel) {
    case 'asks':
      return <Asks asks={data.asks} readonly={state.readonly} {...size} />;
    case 'today':
      return <Today data={data} {...size} />;
    case 'budgets':
      return (
        <Budgets
          budgets={budgetsOf(state)}
          pausedProjects={pausedProjects(data)}
          selected={selected.budget}
          focused={focus === 'budgets'}
          now={now}
          {...size}
        />
      );
    case 'requests':
      return (
        <Requests
          entries={feedOf(state)}
          selected={selected.request}
          filter={state.filter}
          newer={state.heldFeed ? newerThanHeld(state) : undefined}
          focused={focus === 'requests'}
          baseUrl={baseUrl}
          {...size}
        />
      );
    case 'detail':
      return <Detail request={state.detail} {...size} />;
    case 'models':
      return <Spenders title="TOP MODELS" spenders={data.models.map(modelSpender)} {...size} />;
    case 'callers':
      return <Spenders title="TOP CALLERS" spenders={data.callers.map(callerSpender)} {...size} />;
    case 'blocked':
      return <Blocked blocked={data.blocked} {...size} />;
    case 'misses':
      return <Misses misses={data.misses} {...size} />;
    case 'webhooks':
      return (
        <Webhooks
          webhooks={data.webhooks}
          selected={selected.webhook}
          focused={focus === 'webhooks'}
          now={now}
          {...size}
        />
      );
  }
}

function modelSpender({ provider, model, ...figures }: DashboardReading['models'][number]): Spender {
  return { name: provider === '' ? model : servedBy({ provider, model }), ...figures };
}

function callerSpender({ process, repo, ...figures }: DashboardReading['callers'][number]): Spender {
  return { name: originText({ process, repo: shortRepo(repo) }), ...figures };
}

/** When a daemon last ran: when it was last seen, or else the time of the newest request. */
function seenAt({ seenAt, data }: State): number | null {
  return seenAt ?? data?.requests[0]?.timeMs ?? null;
}

function countsOf(data: DashboardReading | null) {
  return {
    asks: data?.asks.length ?? 0,
    budgets: data?.budgets.length ?? 0,
    models: data?.models.length ?? 0,
    callers: data?.callers.length ?? 0,
    blocked: data?.blocked.length ?? 0,
    misses: data?.misses.length ?? 0,
    webhooks: data?.webhooks.length ?? 0,
  };
}

function pausedProjects(data: DashboardReading | null): string[] {
  return (data?.projects ?? []).filter(({ paused }) => paused).map(({ name }) => name);
}
