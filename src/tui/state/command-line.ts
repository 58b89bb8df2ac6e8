import { COMMAND_NAMES } from '../../terminal/command-names.ts';
import type { Dialog } from './dialog.ts';

/** Commands that ask, watch or replace what runs: they need a terminal of their own. */
const NEED_A_TERMINAL = [
  'init',
  'serve',
  'run',
  'tail',
  'dashboard',
  'top',
  'login',
  'restart',
  'stop',
  'restore',
];

/** The dialog that runs a typed gw command, or says why it can't. */
export function commandDialog(text: string): Dialog {
  const args = wordsOf(text);
  const [name = ''] = args[0] === 'gw' ? args.splice(0, 2).slice(1) : args.splice(0, 1);
  if (!COMMAND_NAMES.includes(name)) {
    const near = COMMAND_NAMES.filter((each) => each.startsWith(name.slice(0, 2))).join(', ');
    return { kind: 'failed', message: `gw has no command "${name}"${near === '' ? '' : `: ${near}`}` };
  }
  if (NEED_A_TERMINAL.includes(name) || args.some((each) => ['-f', '--follow', '--stdin'].includes(each)))
    return {
      kind: 'failed',
      message: `gw ${name} needs a terminal of its own: quit with q, then run it there`,
    };
  return { kind: 'working', command: { kind: 'run_gw', args: [name, ...args] } };
}

/** The first command that starts with the text, for the tab key. */
export function completed(text: string): string {
  const match = text === '' ? undefined : COMMAND_NAMES.find((each) => each.startsWith(text));
  return match === undefined ? text : `${match} `;
}

/** Words between spaces; quotes keep spaces. */
function wordsOf(text: string): string[] {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|([^\s"']+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? '',
  );
}
