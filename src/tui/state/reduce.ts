import { press } from './press.ts';
import { type Action, receive, type State } from './state.ts';

/** The state after an action. Pure: effects are fields of the returned state, for hooks to perform. */
export function reduce(state: State, action: Action): State {
  return action.type === 'press' ? press(state, action.key) : receive(state, action);
}
