import { type Command, Option } from 'commander';
import type { Scope } from '../../store/budgets/budgets.ts';
import { EACH_KINDS } from '../../store/ledger/terms.ts';
import type { OptionsOf } from '../command.ts';
import { usageError } from '../exit.ts';

/** Options that say what a budget is for, besides a whole project. */
export type ScopeOptions = OptionsOf<typeof addScopeOptions>;

export function addScopeOptions(command: Command) {
  return command
    .option('--repo <path>', 'only requests from this git repository, such as .')
    .option('--key <key>', 'only requests with this key: its label or id')
    .option('--session <id>', 'only requests of this session of an agent: gw sessions')
    .option('--agent <name>', 'only requests of this agent: claude, codex, ...')
    .addOption(new Option('--per <what>', 'a cap for each of these').choices(EACH_KINDS));
}

/** What the options name; undefined for a repository or a whole project. Throws for more than one. */
export function scopeFrom({ repo, key, session, agent, per }: ScopeOptions): Scope | undefined {
  const given = Object.entries({ repo, key, session, agent, per }).filter(([, value]) => value !== undefined);
  if (given.length > 1)
    throw usageError(
      `a budget is for one thing: give one of ${given.map(([name]) => `--${name}`).join(' and ')}`,
    );
  if (given.some(([, value]) => value === '')) throw usageError(`--${given[0]?.[0]} is empty`);
  if (key !== undefined) return { kind: 'key', value: key };
  if (session !== undefined) return { kind: 'session', value: session };
  if (agent !== undefined) return { kind: 'agent', value: agent };
  return per === undefined ? undefined : { kind: 'each', value: per };
}
