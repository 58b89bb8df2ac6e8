import { widthOf } from './text.ts';

/** Names and aliases of all commands, available without loading the catalog. A test checks that they match it. */
export const COMMAND_NAMES: readonly string[] = [
  ...['init', 'start', 'stop', 'restart', 'status', 'serve', 'service', 'logs'],
  ...['doctor'],
  ...['env', 'run', 'connect', 'disconnect', 'coverage', 'models', 'optimize', 'route'],
  ...['usage', 'import', 'cache', 'replay', 'reconcile', 'limits', 'sessions', 'statusline'],
  ...['requests', 'tail'],
  ...['dashboard', 'top', 'open', 'budget', 'budgets', 'asks', 'approve', 'deny', 'prices'],
  ...['providers', 'projects', 'plan', 'keys', 'team', 'webhooks', 'config', 'backup'],
  ...['restore', 'login', 'logout', 'completion', 'complete'],
  ...['help'],
];

const NAMES = COMMAND_NAMES.join('|');

/** Rewrites gw commands in a text so that they work when pasted: in a checkout, `gw` becomes `./bin/gw`. */
export function pasteable(text: string, gw: string): string {
  return gw === 'gw' ? text : text.replace(commandStart('gw'), (command) => command.replace('gw', () => gw));
}

/** Matches the start of gw commands, but not the word alone, as in "gw is running". */
function commandStart(gw: string): RegExp {
  const literal = gw.replace(/[^\w/-]/g, '\\$&');
  return new RegExp(`(?<![\\w./-])${literal} (?:${NAMES}|--help)(?![\\w-])`, 'g');
}

/** Ends a command within a sentence: punctuation, two or more spaces, or a parenthesis. */
const COMMAND_END = /[.,;:)](?=\s|$)| {2,}| \(/;
/** Quoted parts of a command; the command can't end inside. */
const QUOTED = /(?<=^|\s)(?:"[^"]*"|'[^']*')/g;
/** A prefix that stays with the command after it. */
const EVAL = 'eval "$(';
/** Placeholder for a command's spaces during wrapping. */
const GLUE = '\ue000';

/**
 * Wraps long lines between words. Each command stays on one line for copy and paste, even if it is wider than the
 * terminal. Indented lines are not wrapped.
 */
export function wrapMessage(text: string, width: number, gw: string): string {
  const wrapLong = (line: string) =>
    line.startsWith(' ') || widthOf(line) <= width ? line : wrapLine(line, width, gw);
  return text.split('\n').map(wrapLong).join('\n');
}

function wrapLine(line: string, width: number, gw: string): string {
  const lines: string[] = [];
  for (const word of glueCommands(line, gw).split(' ')) {
    const last = lines.at(-1);
    const isFull = last !== undefined && word !== '' && widthOf(last) + 1 + widthOf(word) > width;
    if (last === undefined || isFull) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.map((each) => each.replaceAll(GLUE, ' ').trimEnd()).join('\n');
}

function glueCommands(line: string, gw: string): string {
  const starts = [...line.matchAll(commandStart(gw))].map(({ index }) =>
    line.slice(0, index).endsWith(EVAL) ? index - EVAL.length : index,
  );
  let glued = line.slice(0, starts[0]);
  for (const [i, start] of starts.entries()) {
    const piece = line.slice(start, starts[i + 1]);
    const bare = piece.replace(QUOTED, (text) => 'q'.repeat(text.length));
    const end = COMMAND_END.exec(bare)?.index ?? piece.trimEnd().length;
    glued += piece.slice(0, end).replaceAll(' ', GLUE) + piece.slice(end);
  }
  return glued;
}
