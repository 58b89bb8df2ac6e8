import { runCli } from './run-cli.ts';
import { runProcess } from './run-process.ts';

/** Runs the command that the process's arguments name. */
export const main = (): Promise<void> => runProcess(runCli);
