import { press } from './press.ts';
import { type Action, receive, type State } from './state.ts';

/** The state after an action. Pure: what is to be done outside stands in the state that it returns. */
export function reduce(state: State, action: Action): State {
  return action.type === 'press' ? press(state, action.key) : receive(state, action);
}
