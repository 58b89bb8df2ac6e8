import type { Agent } from './agent.ts';
import { connectAider, pointAider } from './connect/aider.ts';
import { connectClaude, pointClaude } from './connect/claude.ts';
import { connectCline, pointCline } from './connect/cline.ts';
import { connectCodex, pointCodex } from './connect/codex.ts';
import { connectContinue, pointContinue } from './connect/continue.ts';
import { pointCopilot } from './connect/copilot.ts';
import { pointCrush } from './connect/crush.ts';
import { pointGemini } from './connect/gemini.ts';
import { connectGoose, pointGoose } from './connect/goose.ts';
import { connectKilo, connectOpencode, pointKilo, pointOpencode } from './connect/opencode.ts';
import { pointOpenHands } from './connect/openhands.ts';
import { connectPi, pointPi } from './connect/pi.ts';
import { connectQwen, pointQwen } from './connect/qwen.ts';
import { CLAUDE_LOG } from './logs/claude-log.ts';
import { CODEX_LOG } from './logs/codex-log.ts';
import { opencodeLog } from './logs/opencode-log.ts';

const CODEX: Agent = {
  name: 'codex',
  title: 'Codex',
  binaries: ['codex'],
  packages: ['@openai/codex'],
  wires: ['responses'],
  pointRun: pointCodex,
  hasSubscription: true,
  connect: connectCodex,
  proof: {
    args: (model) => [
      ...['exec', '--ephemeral', '--skip-git-repo-check', '-s', 'read-only'],
      ...(model === undefined ? [] : ['-m', model]),
      'hi',
    ],
    requests: 1,
  },
  sessionHeaders: ['session-id', 'thread-id'],
  log: CODEX_LOG,
};

const CLAUDE: Agent = {
  name: 'claude',
  title: 'Claude Code',
  binaries: ['claude'],
  packages: ['@anthropic-ai/claude-code'],
  wires: ['messages'],
  pointRun: pointClaude,
  hasSubscription: true,
  connect: connectClaude,
  proof: {
    args: (model) => [
      ...['-p', '--tools', '', '--max-turns', '1', '--no-session-persistence'],
      ...(model === undefined ? [] : ['--model', model]),
      'hi',
    ],
    requests: 1,
  },
  sessionHeaders: ['x-claude-code-session-id'],
  log: CLAUDE_LOG,
};

const OPENCODE: Agent = {
  name: 'opencode',
  title: 'opencode',
  binaries: ['opencode'],
  packages: ['opencode-ai'],
  wires: ['responses', 'messages', 'chat'],
  pointRun: pointOpencode,
  connect: connectOpencode,
  proof: {
    args: (model) => ['run', '--title', 'gw', ...(model === undefined ? [] : ['-m', model]), 'hi'],
    requests: 1,
  },
  sessionHeaders: ['x-session-id', 'x-session-affinity'],
  log: opencodeLog('opencode'),
};

const KILO: Agent = {
  ...OPENCODE,
  name: 'kilo',
  title: 'Kilo Code',
  binaries: ['kilo', 'kilocode'],
  packages: ['@kilocode/cli'],
  pointRun: pointKilo,
  connect: connectKilo,
  log: opencodeLog('kilo'),
};

const CLINE: Agent = {
  name: 'cline',
  title: 'Cline',
  binaries: ['cline'],
  packages: ['cline'],
  wires: ['chat', 'responses', 'messages'],
  pointRun: pointCline,
  connect: connectCline,
  proof: {
    args: (model) => ['-p', '--json', ...(model === undefined ? [] : ['-m', model]), 'say hi'],
    requests: 1,
  },
  sessionHeaders: [],
};

const CONTINUE: Agent = {
  name: 'continue',
  title: 'Continue',
  binaries: ['cn'],
  packages: ['@continuedev/cli'],
  wires: ['chat', 'responses', 'messages'],
  pointRun: pointContinue,
  connect: connectContinue,
  proof: { args: () => ['-p', '--readonly', 'hi'], requests: 1 },
  sessionHeaders: [],
};

const QWEN: Agent = {
  name: 'qwen',
  title: 'Qwen Code',
  binaries: ['qwen'],
  packages: ['@qwen-code/qwen-code'],
  wires: ['chat', 'messages'],
  pointRun: pointQwen,
  connect: connectQwen,
  proof: {
    args: (model) => ['-p', 'hi', '--approval-mode', 'plan', ...(model === undefined ? [] : ['-m', model])],
    // The second request extracts memory.
    requests: 2,
  },
  sessionHeaders: [],
};

const COPILOT: Agent = {
  name: 'copilot',
  title: 'Copilot CLI',
  binaries: ['copilot'],
  packages: ['@github/copilot'],
  wires: ['chat', 'responses', 'messages'],
  pointRun: pointCopilot,
  connect: 'it has no setting for a provider. Use: gw run -- copilot',
  proof: {
    args: (model) => ['-p', 'hi', '--plan', '-s', ...(model === undefined ? [] : ['--model', model])],
    requests: 1,
  },
  sessionHeaders: [],
};

const AIDER: Agent = {
  name: 'aider',
  title: 'aider',
  binaries: ['aider'],
  packages: ['aider-chat'],
  wires: ['chat', 'messages'],
  pointRun: pointAider,
  connect: connectAider,
  proof: {
    args: (model) => [
      ...['--message', 'hi', '--dry-run', '--no-git', '--no-check-update', '--analytics-disable'],
      ...['--map-tokens', '0', '--yes-always'],
      ...(model === undefined ? [] : ['--model', model]),
    ],
    requests: 1,
  },
  sessionHeaders: [],
};

const GOOSE: Agent = {
  name: 'goose',
  title: 'Goose',
  binaries: ['goose'],
  packages: [],
  wires: ['chat', 'messages'],
  pointRun: pointGoose,
  connect: connectGoose,
  proof: {
    args: (model) => [
      ...['run', '--no-session', '--no-profile', '--max-turns', '1'],
      ...(model === undefined ? [] : ['--model', model]),
      ...['-t', 'hi'],
    ],
    env: { GOOSE_DISABLE_SESSION_NAMING: 'true', GOOSE_DISABLE_TOOL_CALL_SUMMARY: 'true' },
    requests: 1,
  },
  sessionHeaders: ['agent-session-id', 'goose-session-id'],
};

const CRUSH: Agent = {
  name: 'crush',
  title: 'Crush',
  binaries: ['crush'],
  packages: ['@charmland/crush'],
  wires: ['responses', 'messages', 'chat'],
  pointRun: pointCrush,
  connect: 'its crushrc is a shell script. Use: gw run -- crush',
  proof: {
    args: (model) => ['run', '-q', ...(model === undefined ? [] : ['-m', model]), 'hi'],
    requests: 1,
  },
  sessionHeaders: ['x-session-id', 'x-session-affinity'],
};

const PI: Agent = {
  name: 'pi',
  title: 'pi',
  binaries: ['pi'],
  packages: ['@mariozechner/pi-coding-agent'],
  wires: ['responses', 'messages', 'chat'],
  pointRun: pointPi,
  connect: connectPi,
  proof: {
    args: (model) => [
      '-p',
      '--no-tools',
      '--no-session',
      ...(model === undefined ? [] : ['--model', model]),
      'hi',
    ],
    requests: 1,
  },
  sessionHeaders: ['session_id'],
};

const OPENHANDS: Agent = {
  name: 'openhands',
  title: 'OpenHands',
  binaries: ['openhands'],
  packages: ['openhands', 'openhands-ai'],
  wires: ['chat', 'messages'],
  pointRun: pointOpenHands,
  connect: 'it reads an address only with --override-with-envs. Use: gw run -- openhands',
  sessionHeaders: [],
};

const GEMINI: Agent = {
  name: 'gemini',
  title: 'Gemini CLI',
  binaries: ['gemini'],
  packages: ['@google/gemini-cli'],
  wires: [],
  pointRun: pointGemini,
  connect: 'it speaks only the API of Gemini, which gw does not serve',
  sessionHeaders: [],
};

/** All supported agents. */
export const AGENTS: readonly Agent[] = [
  ...[CODEX, CLAUDE, OPENCODE, KILO, CLINE, CONTINUE, QWEN],
  ...[COPILOT, AIDER, GOOSE, CRUSH, PI, OPENHANDS, GEMINI],
];
