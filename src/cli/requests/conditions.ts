import { type Command, Option } from 'commander';
import type { RequestConditions } from '../../reading/reader.ts';
import { parseStatus, STATUS_NAMES } from '../../reading/status-filter.ts';
import { readOldRepo } from '../budgets/read.ts';
import { usageError } from '../exit.ts';

/** Options that say which requests a list or a report is of. */
export interface ConditionOptions {
  project?: string;
  model?: string;
  key?: string;
  agent?: string;
  session?: string;
  repo?: string;
  status?: string;
}

export function addConditions(command: Command): Command {
  return command
    .option('-p, --project <name>', 'only this project')
    .option('-m, --model <name>', 'only this model: provider/model, or without the provider')
    .option('-k, --key <key>', 'only this key: its label or id')
    .option('-a, --agent <name>', 'only this agent: claude, codex, ...')
    .option('--session <id>', 'only this session: gw sessions')
    .option('--repo <path>', 'only requests from this git repository, such as .')
    .addOption(
      new Option(
        '-s, --status <status>',
        'only this outcome: an HTTP status, or ok, blocked, failed, client_gone, ...',
      ),
    );
}

/** Throws for a status that is none, and for a path that is in no repository. */
export function conditionsFrom(options: ConditionOptions): RequestConditions {
  const { project, model, key, agent, session, repo, status } = options;
  return {
    project,
    model,
    key,
    agent,
    session,
    repo: repo === undefined ? undefined : readOldRepo(repo),
    status: checkStatus(status),
  };
}

/** Returns the value of `--status`. Throws unless it is an HTTP status, an outcome or `failed`. */
export function checkStatus(text: string | undefined): string | undefined {
  if (text === undefined || parseStatus(text)) return text;
  throw usageError(`--status ${text} is neither an HTTP status nor one of: ${STATUS_NAMES.join(', ')}`);
}
