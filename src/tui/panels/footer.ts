import { pasteable } from '../../terminal/command-names.ts';
import type { Look } from '../../terminal/look.ts';
import type { Paint } from '../../terminal/palette.ts';
import { textLine } from '../../terminal/styled-lines.ts';
import type { State } from '../state/state.ts';

export interface FooterProps {
  /** What is being typed; null if nothing. */
  prompt: State['prompt'];
  notice: string | null;
  readonly: boolean;
  /** Whether this gateway belongs to a team. */
  isMember: boolean;
  width: number;
  look: Look;
}

/** The search being typed, else the notice of the last key press, else the keys. */
export function drawFooter({ prompt, notice, readonly, isMember, width, look }: FooterProps): string {
  const show = (text: string, style?: Paint) => textLine(text, width, look, style);
  if (prompt?.kind === 'search') return show(` search: ${prompt.text}_   enter to search, esc to cancel`);
  if (prompt) return show(` gw ${prompt.text}_   tab completes, enter runs, esc cancels`, look.palette.bold);
  if (notice !== null) return show(` ${pasteable(notice, look.gw)}`, look.palette.accent);
  return show(keysFor(width, readonly, isMember), look.palette.dim);
}

const KEYS = [
  '1-3 panel',
  'j/k move',
  'enter detail',
  'f filter',
  '/ search',
  'z zoom',
  'w window',
  'm chart',
  'o sort',
  'd sessions',
  'p pause',
  'y copy',
];
const ACTIONS = [
  'b raise budget',
  'n new key',
  'x revoke key',
  's pause project',
  'S stop all',
  'r replay',
  'a answer',
  ': command',
];
const LAST = '? help  q quit';

/** As many keys as fit; the last ones always. */
function keysFor(width: number, readonly: boolean, isMember: boolean): string {
  let line = '';
  const keys = isMember ? ['t team', ...KEYS] : KEYS;
  for (const key of readonly ? keys : [...keys, ...ACTIONS]) {
    if (line.length + key.length + LAST.length + 3 > width) break;
    line += ` ${key} `;
  }
  return `${line} ${LAST}`;
}
