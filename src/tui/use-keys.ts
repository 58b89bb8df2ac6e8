import { type Key, useInput } from 'ink';
import type { Dispatch } from 'react';
import type { Action } from './state/state.ts';

/** Sends each key press to the reducer, by the name of the key. */
export function useKeys(dispatch: Dispatch<Action>): void {
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
  // Ink calls delete what many terminals send for backspace.
  ['delete', 'backspace'],
] as const satisfies readonly (readonly [keyof Key, string])[];

/** Keys that arrive as a control character when several keys arrive in one chunk. */
const CONTROLS: Readonly<Record<string, string>> = {
  '\r': 'enter',
  '\t': 'tab',
  '\u007f': 'backspace',
  '\u0003': 'ctrl-c',
};

/** The names of the keys in one chunk of input. A paste, or typing while gw is busy, arrives as one chunk. */
function namesOf(input: string, key: Key): string[] {
  if (key.ctrl) return input === 'c' ? ['ctrl-c'] : [];
  if (key.tab) return [key.shift ? 'shift-tab' : 'tab'];
  const [, name] = KEY_NAMES.find(([field]) => key[field]) ?? [];
  if (name !== undefined) return [name];
  if (key.meta) return [];
  return [...input].flatMap((character) => CONTROLS[character] ?? (character >= ' ' ? character : []));
}
