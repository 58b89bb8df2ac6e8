import { CATALOG } from './catalog.ts';

const NAMES = CATALOG.flatMap(({ name, aliases = [] }) => [name, ...aliases, 'help']).join('|');
/** A command of gw in a text: not the word alone, as in "gw is running". */
const COMMAND = new RegExp(`(?<![\\w./-])gw(?= (?:${NAMES}|--help)(?![\\w-]))`, 'g');

/** The text with commands as they can be pasted here: in a checkout gw is `./bin/gw`. */
export function pasteable(text: string, gw: string): string {
  return gw === 'gw' ? text : text.replace(COMMAND, () => gw);
}
