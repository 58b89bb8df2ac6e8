import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** Everything that people read, by its path from the root of the repository. */
export const DOCUMENTS: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`)
    .sort(),
];

export const readDocument = (file: string) => readFileSync(join(ROOT, file), 'utf8');

/** A command of a document, and what the document shows below it. */
export interface ShownCommand {
  /** Without its prompt and comment. */
  command: string;
  output: string[];
  /** As the comment at its end says, such as `# exit code 6`; undefined where none is expected. */
  exitCode: number | undefined;
  /** Why it isn't run, from a `<!-- not run: why -->` above its block. */
  notRun: string | undefined;
  line: number;
}

/**
 * The commands of a document's console blocks, and of its `<!-- before: ... -->`, which readers don't see. A command
 * begins with `$ `; one that ends in a backslash goes on in the next line.
 */
export function shownCommands(text: string): ShownCommand[] {
  const commands: ShownCommand[] = [];
  let isConsole = false;
  let notRun: string | undefined;
  let unfinished = false;
  for (const [index, line] of text.split('\n').entries()) {
    const last = commands.at(-1);
    const before = /^<!-- before: (.*) -->$/.exec(line)?.[1];
    if (before !== undefined)
      commands.push({ ...commandOf(before, undefined, index + 1), exitCode: undefined });
    else if (/^ *```/.test(line)) {
      if (isConsole) notRun = undefined;
      isConsole = line.trim() === '```console';
    } else if (!isConsole)
      notRun = /^ *<!-- not run: (.+) -->$/.exec(line)?.[1] ?? (line.trim() ? undefined : notRun);
    else if (unfinished && last) last.command = `${last.command.slice(0, -1)}${line.trim()}`;
    else if (line.trimStart().startsWith('$ '))
      commands.push(commandOf(line.trim().slice(2), notRun, index + 1));
    else if (last && line.trim()) last.output.push(line.trim());
    unfinished = isConsole && commands.at(-1)?.command.endsWith('\\') === true;
  }
  return commands;
}

function commandOf(text: string, notRun: string | undefined, line: number): ShownCommand {
  const [, command = text, comment = ''] =
    /^((?:[^#'"]|'[^']*'|"[^"]*"|(?<! )#)*?)(?: +# (.*))?$/.exec(text) ?? [];
  const exitCode = Number(/^exit code (\d+)/.exec(comment)?.[1] ?? 0);
  return { command: command.trim(), output: [], exitCode, notRun, line };
}
