import type { Key } from 'ink';
import { mouseEventsIn } from './state/mouse.ts';
import type { Action } from './state/state.ts';

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

/** What stands around pasted text, without the escape character that Ink takes off. */
const PASTE = { start: '[200~', end: '[201~' };
/** A control sequence that is no key, such as a late answer to a question about the terminal. */
const SEQUENCE = /^\[[?<>=\d;:]*[A-Za-z~]$/;
/** How the answer to a question for a colour begins. */
const COLOUR = /^1\d;/;
const BELL = '\u0007';

/**
 * Returns a function that reads a chunk of Ink's input. Pasted text is never taken for keys, which could raise a budget,
 * and neither is the terminal's answer to a question for its colours, however late and in how many pieces it comes.
 */
export function createKeyReader(): (input: string, key: Key) => Action[] {
  let pasted: string | undefined;
  let isAnswer = false;
  let previous = '';

  return (input, key) => {
    if (input === PASTE.start) {
      pasted = '';
      return [];
    }
    if (pasted !== undefined) {
      const text = pasted;
      pasted = input === PASTE.end ? undefined : text + input;
      return pasted === undefined ? [{ type: 'paste', text }] : [];
    }
    // An answer is ESC ] 11;text BEL, or ESC ] 11;text ESC \, which Ink takes apart behind the bracket.
    if (isAnswer || (previous === ']' && COLOUR.test(input))) {
      isAnswer = !(input.endsWith(BELL) || input === '\\' || key.return);
      return [];
    }
    previous = input;
    const events = mouseEventsIn(input);
    if (events) return events.map((event) => ({ type: 'mouse', event }));
    return namesOf(input, key).map((name) => ({ type: 'press', key: name }));
  };
}

/** Names of the keys in a chunk of input. Typing while gw is busy arrives as one chunk. */
function namesOf(input: string, key: Key): string[] {
  if (key.ctrl) return input === 'c' ? ['ctrl-c'] : [];
  if (key.tab) return [key.shift ? 'shift-tab' : 'tab'];
  const [, name] = KEY_NAMES.find(([field]) => key[field]) ?? [];
  if (name !== undefined) return [name];
  if (key.meta || SEQUENCE.test(input)) return [];
  return [...input].flatMap((character) => CONTROLS[character] ?? (character >= ' ' ? character : []));
}
