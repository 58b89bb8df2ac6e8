import type { Command } from 'commander';
import type { RequestConditions } from '../../operations/schemas/requests.ts';
import { parseStatus, STATUS_NAMES } from '../../operations/status-filter.ts';
import { readOldRepo } from '../budgets/read.ts';
import { ONLY_PROJECT, type OptionsOf } from '../command.ts';
import { usageError } from '../exit.ts';
import { labelQuery, readLabel } from '../input/labels.ts';

/** Options that say which requests a list or a report is of. */
type ConditionOptions = OptionsOf<typeof addConditions>;

export function addConditions(command: Command) {
  return command
    .option(...ONLY_PROJECT)
    .option('-m, --model <name>', 'only this model: provider/model, or without the provider')
    .option('-k, --key <key>', 'only this key: its label or id')
    .option('-a, --agent <name>', 'only this agent: claude, codex, ...')
    .option('--session <id>', 'only this session: gw sessions')
    .option('--label <name=value>', 'only requests with this label: customer=acme; repeatable', readLabel)
    .option('--repo <path>', 'only requests from this git repository, such as .')
    .option(
      '-s, --status <status>',
      'only this outcome: an HTTP status, or ok, blocked, failed, client_gone, ...',
    );
}

/** Throws for a status that is none, and for a path that is in no repository. */
export function conditionsFrom(options: ConditionOptions): RequestConditions {
  const { project, model, key, agent, session, repo, label, status } = options;
  const root = repo === undefined ? undefined : readOldRepo(repo);
  return {
    project_id: project,
    model,
    key,
    agent,
    session,
    repo: root,
    label: labelQuery(label),
    status: checkStatus(status),
  };
}

/** Returns the value of `--status`. Throws unless it is an HTTP status, an outcome or `failed`. */
export function checkStatus(text: string | undefined): string | undefined {
  if (text === undefined || parseStatus(text)) return text;
  throw usageError(`--status ${text} is neither an HTTP status nor one of: ${STATUS_NAMES.join(', ')}`);
}
