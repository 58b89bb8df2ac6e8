import { confirmAmount, type Dialog } from './dialog.ts';
import type { State } from './state.ts';

const AMOUNT = /^[\d.,$]$/;

/** Handles a key while a dialog is open. Escape closes the dialog unless its command is already running. */
export function pressInDialog(state: State, dialog: Dialog, key: string): State {
  if (dialog.kind === 'working') return state;
  if (key === 'escape') return { ...state, dialog: null };
  const next = nextDialog(dialog, key);
  if (next !== undefined) return { ...state, dialog: next };
  const secret = dialog.kind === 'done' ? dialog.result.secret : undefined;
  return key === 'c' && secret !== undefined
    ? { ...state, copy: { text: secret }, notice: 'copied the key' }
    : state;
}

/** The dialog after a key: null when the key closes it, undefined when the key does nothing here. */
function nextDialog(dialog: Exclude<Dialog, { kind: 'working' }>, key: string): Dialog | null | undefined {
  switch (dialog.kind) {
    case 'choose':
      return pressInChoice(dialog, key);
    case 'amount':
      if (key === 'enter') return confirmAmount(dialog);
      if (key === 'backspace') return { ...dialog, text: dialog.text.slice(0, -1) };
      return AMOUNT.test(key) ? { ...dialog, text: (dialog.text + key).slice(0, 20) } : undefined;
    case 'confirm':
      if (key === 'y') return { kind: 'working', command: dialog.command };
      return key === 'n' || key === 'q' ? null : undefined;
    case 'done':
      // A secret is shown only once, so a stray key press must not close it.
      return key === 'enter' || (key === 'q' && dialog.result.secret === undefined) ? null : undefined;
    case 'failed':
      return null;
  }
}

function pressInChoice(dialog: Extract<Dialog, { kind: 'choose' }>, key: string): Dialog | null | undefined {
  const { options, index } = dialog;
  const to = (next: number) => ({ ...dialog, index: Math.max(0, Math.min(options.length - 1, next)) });
  if (key === 'j' || key === 'down') return to(index + 1);
  if (key === 'k' || key === 'up') return to(index - 1);
  if (key === 'enter') return options[index]?.next;
  return key === 'q' ? null : undefined;
}
