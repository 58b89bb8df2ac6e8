import { basename, dirname } from 'node:path';

const INTERPRETER = /^(node|nodejs|bun|deno|python|pypy|ruby|perl|php)[\d.]*$/;
/** Options that take the next argument as their value. */
const TAKES_VALUE = new Set(['-r', '--require', '--import', '--loader', '-W', '-X', '-I', '-C']);
/** Options followed by code or standard input instead of a script name. */
const CODE = new Set(['-c', '-e', '--eval', '-p', '--print', '-']);
const SUBCOMMANDS = new Set(['run', 'x']);
/** Script names that are ambiguous without their folder. */
const COMMON = /^(index|main|cli|app|server|run|start|__main__)\.\w+$/;
const MAX_LENGTH = 60;

/** The program, plus the script if it is an interpreter. Drops other arguments, which may contain secrets. */
export function processName(args: readonly string[]): string {
  const [first = '', ...rest] = wordsOf(args);
  const program = basename(first.replace(/^-/, '').split(':', 1)[0] ?? '');
  if (!INTERPRETER.test(program)) return program.slice(0, MAX_LENGTH);
  const script = scriptOf(rest);
  return (script === '' ? program : `${program} ${script}`).slice(0, MAX_LENGTH);
}

/** A process that sets its own title reports the whole command line in one argument. */
function wordsOf(args: readonly string[]): readonly string[] {
  const [first = ''] = args;
  return args.length === 1 && !first.startsWith('/') ? first.split(' ') : args;
}

function scriptOf(args: readonly string[]): string {
  for (let i = 0; i < args.length; i++) {
    const argument = args[i] ?? '';
    if (argument === '-m') return `-m ${args[i + 1] ?? ''}`;
    if (CODE.has(argument)) return argument;
    if (TAKES_VALUE.has(argument)) i++;
    else if (!argument.startsWith('-') && !SUBCOMMANDS.has(argument)) return shortPath(argument);
  }
  return '';
}

function shortPath(path: string): string {
  const name = basename(path);
  const folder = basename(dirname(path));
  return COMMON.test(name) && folder !== '' && folder !== '.' ? `${folder}/${name}` : name;
}
