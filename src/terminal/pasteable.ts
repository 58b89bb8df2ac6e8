import { COMMAND_NAMES } from './command-names.ts';

const NAMES = COMMAND_NAMES.join('|');

/** The text with commands as they can be pasted here: in a checkout gw is `./bin/gw`. */
export function pasteable(text: string, gw: string): string {
  return gw === 'gw' ? text : text.replace(commandStart('gw'), (command) => command.replace('gw', () => gw));
}

/** Finds where commands of gw begin in a text: not the word alone, as in "gw is running". */
export function commandStart(gw: string): RegExp {
  const literal = gw.replace(/[^\w/-]/g, '\\$&');
  return new RegExp(`(?<![\\w./-])${literal} (?:${NAMES}|--help)(?![\\w-])`, 'g');
}
