import { commandStart } from './pasteable.ts';
import { widthOf } from './text.ts';

/** Where a command in a sentence ends: at its full stop or comma, or before what stands apart from it. */
const COMMAND_END = /[.,;:)](?=\s|$)| {2,}| \(/;
/** What a command has in quotes ends nothing. */
const QUOTED = /(?<=^|\s)(?:"[^"]*"|'[^']*')/g;
/** What a shell has to be given before the command itself. */
const EVAL = 'eval "$(';
/** Stands for the spaces of a command while lines are made. */
const GLUE = '\ue000';

/**
 * A message for a terminal, its long lines broken between words. A command stays in one line, so that it can be
 * pasted; what is wider than a line is left to the terminal, and so is a line that is indented.
 */
export function wrapMessage(text: string, width: number, gw: string): string {
  const wrapped = (line: string) =>
    line.startsWith(' ') || widthOf(line) <= width ? line : wrapLine(line, width, gw);
  return text.split('\n').map(wrapped).join('\n');
}

function wrapLine(line: string, width: number, gw: string): string {
  const lines: string[] = [];
  for (const word of gluedCommands(line, gw).split(' ')) {
    const last = lines.at(-1);
    const isFull = last !== undefined && word !== '' && widthOf(last) + 1 + widthOf(word) > width;
    if (last === undefined || isFull) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.map((each) => each.replaceAll(GLUE, ' ').trimEnd()).join('\n');
}

function gluedCommands(line: string, gw: string): string {
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
