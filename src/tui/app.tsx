import { useApp } from 'ink';
import { type Dispatch, useEffect, useReducer } from 'react';
import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import type { Look } from '../terminal/look.ts';
import { Dashboard } from './dashboard.tsx';
import type { Source } from './source.ts';
import type { Size } from './state/layout.ts';
import { reduce } from './state/reduce.ts';
import { type Action, initialState, type State } from './state/state.ts';
import { useDrill } from './use-drill.ts';
import { useKeys } from './use-keys.ts';
import { useDetail, usePolling } from './use-polling.ts';
import { useTeam } from './use-team.ts';

/** The part of a terminal that the dashboard uses. */
interface Surface {
  size(): Size;
  /** Returns the function that removes the listener. */
  onResize(listener: () => void): () => void;
  /** Puts text on the clipboard, if the terminal supports it. */
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

/** The running dashboard: state in a reducer, effects in hooks. Exits with the exit code. */
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

/** Executes a confirmed command. */
function useCommands({ dialog }: State, dispatch: Dispatch<Action>, source: Source): void {
  useEffect(() => {
    if (dialog?.kind !== 'working') return;
    source.perform(dialog.command).then(
      (result) => dispatch({ type: 'done', result }),
      (error) => dispatch({ type: 'failed', message: messageOf(error) }),
    );
  }, [dialog, dispatch, source]);
}

/** Follows the terminal's size, copies to the clipboard, and quits. */
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
