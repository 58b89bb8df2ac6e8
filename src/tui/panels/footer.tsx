import { pasteable } from '../../terminal/command-names.ts';
import type { Look } from '../../terminal/look.ts';
import { textLine } from '../../terminal/styled-lines.ts';
import { Lines } from './lines.tsx';

export interface FooterProps {
  /** The search being typed; null if none. */
  search: string | null;
  notice: string | null;
  readonly: boolean;
  /** Whether this gateway belongs to a team. */
  isMember: boolean;
  width: number;
  look: Look;
}

/** The search being typed, else the notice of the last key press, else the keys. */
export function Footer({ search, notice, readonly, isMember, width, look }: FooterProps) {
  const show = (text: string, style?: (text: string) => string) => (
    <Lines lines={[textLine(text, width, look, style)]} width={width} height={1} />
  );
  if (search !== null) return show(` search model or project: ${search}_   enter to search, esc to cancel`);
  if (notice !== null) return show(` ${pasteable(notice, look.gw)}`, look.palette.accent);
  return show(keysFor(width, readonly, isMember), look.palette.dim);
}

const KEYS = [
  '1-3 panel',
  'j/k move',
  'enter detail',
  'f filter',
  '/ search',
  'w window',
  'p pause',
  'd sessions',
];
const ACTIONS = [
  'b raise budget',
  'n new key',
  'x revoke key',
  's pause project',
  'S stop all',
  'r replay',
  'a answer',
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
