import { terminalOf } from '../../terminal/terminal.ts';
import type { SetUp } from '../command.ts';
import { type Context, sayJson, tell } from '../context.ts';
import { EXIT, Exit } from '../exit.ts';
import { readStatus, type Status } from '../status/read.ts';
import { statusJson, statusLines } from '../status/view.ts';

export const status: SetUp = (command, context) => {
  command
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExits with code 3 if gw is not running.')
    .action(async ({ json }: { json?: boolean }) => {
      const found = await readStatus(context);
      if (json) sayJson(context, statusJson(found, context.version));
      else show(context, found);
      if (found.state.kind !== 'running') throw new Exit(EXIT.daemonDown);
    });
};

/** What `gw` alone prints: the status, and where to go next. */
export async function overview(context: Context): Promise<void> {
  show(context, await readStatus(context));
}

function show(context: Context, found: Status): void {
  const terminal = terminalOf(context.stdout, context.env);
  tell(context, statusLines(found, { ...context, ...terminal }).join('\n'));
}
