import { COMMAND_NAMES } from './command-names.ts';

const NAMES = COMMAND_NAMES.join('|');

/** Rewrites the commands in a text so that they can be pasted here: in a checkout, `gw` becomes `./bin/gw`. */
export function pasteable(text: string, gw: string): string {
  return gw === 'gw' ? text : text.replace(commandStart('gw'), (command) => command.replace('gw', () => gw));
}

/** Matches the start of gw commands in a text, but not the word alone, as in "gw is running". */
export function commandStart(gw: string): RegExp {
  const literal = gw.replace(/[^\w/-]/g, '\\$&');
  return new RegExp(`(?<![\\w./-])${literal} (?:${NAMES}|--help)(?![\\w-])`, 'g');
}
