import { type Key, useInput } from 'ink';
import type { Dispatch } from 'react';
import type { Action } from './state/state.ts';

/** Sends each key that is pressed to the reducer, by its name. */
export function useKeys(dispatch: Dispatch<Action>): void {
  useInput((input, key) => {
    for (const name of namesOf(input, key)) dispatch({ type: 'press', key: name });
  });
}

const NAMED = [
  ['upArrow', 'up'],
  ['downArrow', 'down'],
  ['pageUp', 'pageup'],
  ['pageDown', 'pagedown'],
  ['home', 'home'],
  ['end', 'end'],
  ['return', 'enter'],
  ['escape', 'escape'],
  ['backspace', 'backspace'],
  // What many terminals send for backspace, Ink calls delete.
  ['delete', 'backspace'],
] as const satisfies readonly (readonly [keyof Key, string])[];

/** Keys that come as a character where several come in one piece. */
const CONTROLS: Readonly<Record<string, string>> = {
  '\r': 'enter',
  '\t': 'tab',
  '\u007f': 'backspace',
  '\u0003': 'ctrl-c',
};

/** The names of the keys in one piece of input: what is pasted, or typed while gw is busy, comes in one. */
export function namesOf(input: string, key: Key): string[] {
  if (key.ctrl) return input === 'c' ? ['ctrl-c'] : [];
  if (key.tab) return [key.shift ? 'shift-tab' : 'tab'];
  const named = NAMED.find(([field]) => key[field]);
  if (named) return [named[1]];
  if (key.meta) return [];
  return [...input].flatMap((character) => CONTROLS[character] ?? (character >= ' ' ? character : []));
}
