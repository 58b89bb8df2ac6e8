import { terminalOf } from '../../terminal/terminal.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { type Context, sayJson, tell } from '../context.ts';
import { EXIT, Exit } from '../exit.ts';
import { readStatus, type Status, statusJson, statusLines } from '../status/view.ts';

export const status: SetUp = (command, context) =>
  command
    .option(...AS_JSON)
    .addHelpText('after', '\nExits with code 3 if gw is not running.')
    .action(async ({ json }) => {
      const current = await readStatus(context);
      if (json) sayJson(context, statusJson(current, context.version));
      else show(context, current);
      if (current.state.kind !== 'running') throw new Exit(EXIT.daemonDown);
    });

/** The output of `gw` without arguments: status and next steps. */
export async function overview(context: Context): Promise<void> {
  show(context, await readStatus(context));
}

function show(context: Context, current: Status): void {
  const terminal = terminalOf(context.stdout, context.env);
  tell(context, statusLines(current, { ...context, ...terminal }).join('\n'));
}
