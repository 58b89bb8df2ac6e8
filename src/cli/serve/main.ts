import { runCommand } from '../run-command.ts';
import { runProcess } from '../run-process.ts';
import { SERVE } from './entry.ts';

/** Runs `gw serve`: an entry point of its own, so that the daemon is one file which loads in half of the time. */
export const main = (): Promise<void> => runProcess((args, context) => runCommand(args, context, [SERVE]));
