import type { Agent } from './agent.ts';
import { pointClaude } from './run/claude.ts';
import { pointCodex } from './run/codex.ts';

const CODEX: Agent = {
  name: 'codex',
  title: 'Codex',
  binaries: ['codex'],
  packages: ['@openai/codex'],
  wires: ['responses'],
  pointRun: pointCodex,
  proof: {
    args: (model) => [
      ...['exec', '--ephemeral', '--skip-git-repo-check', '-s', 'read-only'],
      ...(model === undefined ? [] : ['-m', model]),
      'hi',
    ],
    requests: 1,
  },
  sessionHeaders: ['session-id', 'thread-id'],
  logs: [],
};

const CLAUDE: Agent = {
  name: 'claude',
  title: 'Claude Code',
  binaries: ['claude'],
  packages: ['@anthropic-ai/claude-code'],
  wires: ['messages'],
  pointRun: pointClaude,
  proof: {
    args: (model) => [
      ...['-p', '--tools', '', '--max-turns', '1', '--no-session-persistence'],
      ...(model === undefined ? [] : ['--model', model]),
      'hi',
    ],
    requests: 1,
  },
  sessionHeaders: ['x-claude-code-session-id'],
  logs: [],
};

/** The agents that gw knows. */
export const AGENTS: readonly Agent[] = [CODEX, CLAUDE];
