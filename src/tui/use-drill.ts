import { type Dispatch, useEffect } from 'react';
import { messageOf } from '../errors.ts';
import type { Source } from './source.ts';
import { chosenSession } from './state/drill.ts';
import type { Action, State } from './state/state.ts';

/** Reads the sessions of the budget that is drilled into, and the requests of the chosen one. */
export function useDrill({ drill }: State, dispatch: Dispatch<Action>, source: Source): void {
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
