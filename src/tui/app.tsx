import { type Key, useApp, useInput } from 'ink';
import { type Dispatch, useEffect, useReducer } from 'react';
import { createCalendar } from '../calendar.ts';
import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import type { Look } from '../terminal/look.ts';
import { Dashboard } from './dashboard.tsx';
import type { Source } from './source.ts';
import { chosenSession } from './state/drill.ts';
import type { Size } from './state/layout.ts';
import { reduce } from './state/reduce.ts';
import { type Action, initialState, type State } from './state/state.ts';
import { repeat, useDetail, usePolling } from './use-polling.ts';

/** The terminal functions that the dashboard uses. */
interface Surface {
  size(): Size;
  /** Returns a function that removes the listener. */
  onResize(listener: () => void): () => void;
  /** Copies text to the clipboard, if the terminal supports it. */
  copy(text: string): void;
}

export interface AppProps {
  source: Source;
  surface: Surface;
  clock: Clock;
  look: Look;
  version: string;
  baseUrl: string;
  readonly: boolean;
}

/** The running dashboard: state in a reducer, effects in hooks. Exits with an exit code. */
export function App({ source, surface, clock, look, version, baseUrl, readonly }: AppProps) {
  const [state, dispatch] = useReducer(reduce, undefined, () =>
    initialState({ size: surface.size(), readonly, now: clock.now() }),
  );
  useKeys(dispatch);
  usePolling(state, dispatch, source, clock);
  useDetail(state, dispatch, source);
  useDrill(state, dispatch, source);
  useTeam(state, dispatch, source, clock);
  useCommands(state, dispatch, source);
  useSurface(state, dispatch, surface);
  return <Dashboard state={state} version={version} baseUrl={baseUrl} look={look} />;
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

/** Dispatches key presses by the key's name. */
function useKeys(dispatch: Dispatch<Action>): void {
  useInput((input, key) => {
    for (const name of namesOf(input, key)) dispatch({ type: 'press', key: name });
  });
}

const KEY_NAMES = [
  ['upArrow', 'up'],
  ['downArrow', 'down'],
  ['pageUp', 'pageup'],
  ['pageDown', 'pagedown'],
  ['home', 'home'],
  ['end', 'end'],
  ['return', 'enter'],
  ['escape', 'escape'],
  ['backspace', 'backspace'],
  // Many terminals send DEL for backspace; Ink reports it as delete.
  ['delete', 'backspace'],
] as const satisfies readonly (readonly [keyof Key, string])[];

/** Keys that arrive as control characters if one chunk contains several keys. */
const CONTROLS: Readonly<Record<string, string>> = {
  '\r': 'enter',
  '\t': 'tab',
  '\u007f': 'backspace',
  '\u0003': 'ctrl-c',
};

/** Names of the keys in a chunk of input. A paste, or typing while gw is busy, arrives as one chunk. */
function namesOf(input: string, key: Key): string[] {
  if (key.ctrl) return input === 'c' ? ['ctrl-c'] : [];
  if (key.tab) return [key.shift ? 'shift-tab' : 'tab'];
  const [, name] = KEY_NAMES.find(([field]) => key[field]) ?? [];
  if (name !== undefined) return [name];
  if (key.meta) return [];
  return [...input].flatMap((character) => CONTROLS[character] ?? (character >= ' ' ? character : []));
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
    return repeat(
      clock,
      TEAM_POLL_MS,
      () =>
        void source.team().then(
          (found) => dispatch({ type: 'team', team: found }),
          () => {},
        ),
    );
  }, [paused, dispatch, source, clock]);

  const timezone = team?.timezone ?? null;
  useEffect(() => {
    if (!isOpen || paused || timezone === null) return;
    let isCurrent = true;
    let isPending = false;
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
    const stop = repeat(clock, USAGE_POLL_MS, () => {
      if (isPending) return;
      isPending = true;
      void read()
        .catch((error) => show({ type: 'teamFailure', message: messageOf(error), at: clock.now() }))
        .then(() => {
          isPending = false;
        });
    });
    return () => {
      isCurrent = false;
      stop();
    };
  }, [isOpen, paused, timezone, dispatch, source, clock]);
}
