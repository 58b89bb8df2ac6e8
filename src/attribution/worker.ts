import type { Origin } from '../origin.ts';
import { answerCalls } from '../worker-calls.ts';
import type { Connection, FindCallers } from './connection.ts';
import { createLsofFinder } from './lsof.ts';
import { createProcFinder } from './proc.ts';
import { processName } from './process-name.ts';
import { repositoryOf } from './repository.ts';

const find: FindCallers = process.platform === 'darwin' ? createLsofFinder() : createProcFinder();

answerCalls((connections: readonly Connection[]) =>
  find(connections).map((caller): Origin | undefined => {
    return caller && { process: processName(caller.args), repo: repositoryOf(caller.directory) };
  }),
);
