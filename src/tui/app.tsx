import { useApp, useInput } from 'ink';
import { type Dispatch, useEffect, useLayoutEffect, useMemo, useReducer, useRef } from 'react';
import { createCalendar } from '../calendar.ts';
import type { Clock } from '../clock.ts';
import { GwError, messageOf } from '../errors.ts';
import type { RequestView } from '../operations/schemas/requests.ts';
import type { TeamView } from '../operations/schemas/team.ts';
import { type DashboardProps, drawDashboard } from './dashboard.ts';
import type { Block } from './frame.ts';
import { createKeyReader } from './keys.ts';
import type { Source } from './source.ts';
import { chosenSession } from './state/drill.ts';
import type { Size } from './state/layout.ts';
import { reduce } from './state/reduce.ts';
import {
  type Action,
  type AgentView,
  type DaemonView,
  detailId,
  initialState,
  type State,
  type View,
} from './state/state.ts';
import { viewOf } from './state/view.ts';

/** The terminal functions that the dashboard uses. */
export interface Surface {
  size(): Size;
  /** Returns a function that removes the listener. */
  onResize(listener: () => void): () => void;
  /** Shows a frame in place of the one before. */
  paint(frame: readonly Block[]): void;
  /** Copies text to the clipboard, if the terminal supports it. */
  copy(text: string): void;
}

export interface AppProps extends Omit<DashboardProps, 'state'> {
  source: Source;
  surface: Surface;
  clock: Clock;
  readonly: boolean;
  /** What an earlier run remembered. */
  view?: Partial<View>;
}

/** The running dashboard: state in a reducer, effects in hooks. Exits with an exit code. */
export function App(props: AppProps) {
  const { source, surface, clock, readonly, view = {} } = props;
  const [state, dispatch] = useReducer(reduce, undefined, () =>
    initialState({ size: surface.size(), readonly, now: clock.now(), view }),
  );
  useKeys(dispatch);
  usePolling(state, dispatch, source, clock);
  useDetail(state, dispatch, source);
  useDrill(state, dispatch, source);
  useTeam(state, dispatch, source, clock);
  useCommands(state, dispatch, source);
  useSurface(state, dispatch, surface);
  useMemory(state, source);
  usePaint(state, props);
  return null;
}

/** Ink reads the keys; its own output would take apart and compose every cell of a frame, most of the dashboard's CPU. */
function usePaint(state: State, { surface, version, baseUrl, look }: AppProps): void {
  // React calls the component for actions that change nothing, too.
  const frame = useMemo(
    () => drawDashboard({ state, version, baseUrl, look }),
    [state, version, baseUrl, look],
  );
  useLayoutEffect(() => surface.paint(frame), [frame, surface]);
}

function useCommands({ dialog }: State, dispatch: Dispatch<Action>, source: Source): void {
  useEffect(() => {
    if (dialog?.kind !== 'working') return;
    source.perform(dialog.command).then(
      (result) => dispatch({ type: 'done', result }),
      (error) => dispatch({ type: 'failed', message: messageOf(error) }),
    );
  }, [dialog, dispatch, source]);
}

/** Remembers the view for the next run, once it has changed. */
function useMemory(state: State, source: Source): void {
  const current = JSON.stringify(viewOf(state));
  const saved = useRef(current);
  useEffect(() => {
    if (saved.current === current) return;
    saved.current = current;
    source.remember(JSON.parse(current));
  }, [current, source]);
}

/** Effects on the terminal: tracks its size, copies to the clipboard, quits. */
function useSurface({ copy, quit }: State, dispatch: Dispatch<Action>, surface: Surface): void {
  const { exit } = useApp();
  useEffect(
    () => surface.onResize(() => dispatch({ type: 'resize', size: surface.size() })),
    [surface, dispatch],
  );
  useEffect(() => {
    if (copy) surface.copy(copy.text);
  }, [copy, surface]);
  useEffect(() => {
    if (quit !== null) exit(quit);
  }, [quit, exit]);
}

/** Reads the sessions of the opened budget, or the requests of the opened session. */
function useDrill({ drill }: State, dispatch: Dispatch<Action>, source: Source): void {
  const budget = drill?.budget;
  const session = drill ? chosenSession(drill) : undefined;
  const needsSessions = drill !== null && drill.sessions === null;
  const needsRequests = drill !== null && drill.requests === null;
  useEffect(() => {
    if (!budget || (!needsSessions && !needsRequests)) return;
    let isCurrent = true;
    const show = (action: Action) => {
      if (isCurrent) dispatch(action);
    };
    const read =
      needsRequests && session !== undefined
        ? source.requestsOf(budget, session).then((requests) => show({ type: 'drill', requests }))
        : source.sessionsOf(budget).then((sessions) => show({ type: 'drill', sessions }));
    read.catch((error) => show({ type: 'drill', problem: messageOf(error) }));
    return () => {
      isCurrent = false;
    };
  }, [budget, session, needsSessions, needsRequests, dispatch, source]);
}

/** Dispatches keys, clicks and pasted text. */
function useKeys(dispatch: Dispatch<Action>): void {
  const read = useRef(createKeyReader());
  useInput((input, key) => {
    for (const action of read.current(input, key)) dispatch(action);
  });
}

/** Reads this gateway's local copy of the team's state, so it can be frequent. */
const TEAM_POLL_MS = 5_000;
/** Queries the team's database, only while the team view is open. */
const USAGE_POLL_MS = 30_000;

/** Polls the team's state, and today's usage while the team view is open. */
function useTeam(
  { team: { team, isOpen }, paused }: State,
  dispatch: Dispatch<Action>,
  source: Source,
  clock: Clock,
): void {
  useEffect(() => {
    if (paused) return;
    // The request fails on an older gw, which has no teams.
    const show = (found: TeamView) => dispatch({ type: 'team', team: found });
    return repeat(clock, TEAM_POLL_MS, () => void source.team().then(show, () => {}));
  }, [paused, dispatch, source, clock]);

  const timezone = team?.timezone ?? null;
  useEffect(() => {
    if (!isOpen || paused || timezone === null) return;
    let isCurrent = true;
    const show = (action: Action) => {
      if (isCurrent) dispatch(action);
    };
    const read = async () => {
      const today = createCalendar(timezone).dateOf(clock.now());
      const days = { from: today, to: today };
      const gateways = await source.teamUsage({ ...days, groupBy: 'gateway' });
      const models = await source.teamUsage({ ...days, groupBy: 'model' });
      show({ type: 'teamUsage', gateways, models, at: clock.now() });
    };
    const stop = repeat(clock, USAGE_POLL_MS, () =>
      read().catch((error) => show({ type: 'teamFailure', message: messageOf(error), at: clock.now() })),
    );
    return () => {
      isCurrent = false;
      stop();
    };
  }, [isOpen, paused, timezone, dispatch, source, clock]);
}

const POLL_MS = 1_000;
const DAEMON_POLL_MS = 3_000;
const AGENTS_POLL_MS = 60_000;
const MINUTE_MS = 60_000;

/** Polls for changes. Reads only after a write and at the start of each minute. */
function usePolling(state: State, dispatch: Dispatch<Action>, source: Source, clock: Clock): void {
  const { window, filter, by, paused, data } = state;
  const readMinute = useRef(-1);
  const isRunning = useRef(false);
  isRunning.current = data !== null && data.running.length + data.waiting.length > 0;

  useEffect(() => {
    if (paused) return;
    // A new window or filter, and the end of a pause, take effect at once.
    readMinute.current = -1;
    let isCurrent = true;
    const poll = async () => {
      const now = clock.now();
      const minute = Math.floor(now / MINUTE_MS);
      try {
        const changed = source.changed();
        if (!changed && minute === readMinute.current) {
          // Seconds pass for what runs.
          if (isRunning.current) dispatch({ type: 'tick', now });
          return;
        }
        readMinute.current = minute;
        const data = await source.read({ window, filter, by: by === 'model' ? undefined : by, now });
        if (data && isCurrent) dispatch({ type: 'data', data });
      } catch (error) {
        readMinute.current = -1;
        if (isCurrent) dispatch({ type: 'problem', message: problemOf(error) });
      }
    };
    const stop = repeat(clock, POLL_MS, poll);
    return () => {
      isCurrent = false;
      stop();
    };
  }, [window, filter, by, paused, dispatch, source, clock]);

  useEffect(() => {
    const show = (daemon: DaemonView) => dispatch({ type: 'daemon', daemon, now: clock.now() });
    return repeat(clock, DAEMON_POLL_MS, () => source.daemon().then(show));
  }, [dispatch, source, clock]);

  useEffect(() => {
    const show = (agents: readonly AgentView[]) => dispatch({ type: 'agents', agents });
    // Reading the logs takes less than a second. After a failure the old figures stay.
    return repeat(clock, AGENTS_POLL_MS, () => void source.agents().then(show, () => {}));
  }, [dispatch, source, clock]);
}

/** Messages of gw's errors are ready for the user. */
function problemOf(error: unknown): string {
  return error instanceof GwError ? error.message : `cannot read the database: ${messageOf(error)}`;
}

/** Fetches the request of the detail panel. */
function useDetail(state: State, dispatch: Dispatch<Action>, source: Source): void {
  const id = detailId(state);
  useEffect(() => {
    if (id === null) return;
    let isCurrent = true;
    const show = (detail: RequestView | null = null) => {
      if (isCurrent) dispatch({ type: 'detail', detail });
    };
    source.request(id).then(show, () => show());
    return () => {
      isCurrent = false;
    };
  }, [id, dispatch, source]);
}

/** Runs `job` now and after each interval, unless its promise is pending, until the returned function is called. */
function repeat(clock: Clock, intervalMs: number, job: () => Promise<void> | void): () => void {
  let cancel = () => {};
  let isPending = false;
  const run = () => {
    cancel = clock.after(intervalMs, run);
    if (isPending) return;
    const done = job();
    isPending = done !== undefined;
    void done?.then(() => {
      isPending = false;
    });
  };
  run();
  return () => cancel();
}
