import type { Agent, LoggedAgent } from './agent.ts';
import { connectAider, pointAider } from './connect/aider.ts';
import { connectClaude, pointClaude } from './connect/claude.ts';
import { connectCline, pointCline } from './connect/cline.ts';
import { connectCodex, pointCodex } from './connect/codex.ts';
import { connectContinue, pointContinue } from './connect/continue.ts';
import { connectGemini, pointGemini } from './connect/gemini.ts';
import { connectGoose, pointGoose } from './connect/goose.ts';
import { connectKilo, connectOpencode, pointKilo, pointOpencode } from './connect/opencode.ts';
import { connectPi, pointPi } from './connect/pi.ts';
import { connectQwen, pointQwen } from './connect/qwen.ts';
import { pointCopilot, pointCrush, pointOpenHands } from './connect/run-only.ts';
import { CLAUDE_LOG } from './logs/claude-log.ts';
import { CLINE_LOG } from './logs/cline-log.ts';
import { CODEX_LOG } from './logs/codex-log.ts';
import { COPILOT_LOG } from './logs/copilot-log.ts';
import { CURSOR_EXPORT } from './logs/cursor-export.ts';
import { GEMINI_LOG } from './logs/gemini-log.ts';
import { GOOSE_LOG } from './logs/goose-log.ts';
import { opencodeLog } from './logs/opencode-log.ts';
import { QWEN_LOG } from './logs/qwen-log.ts';

/** An option of a proof run that selects the model. */
const option = (name: string, model: string | undefined) => (model === undefined ? [] : [name, model]);

const OPENCODE: Agent = {
  name: 'opencode',
  title: 'opencode',
  binaries: ['opencode'],
  packages: ['opencode-ai'],
  pointRun: pointOpencode,
  connect: connectOpencode,
  proof: {
    args: (model) => ['run', '--title', 'gw', ...option('-m', model), 'hi'],
  },
  sessionHeaders: ['x-session-id', 'x-session-affinity'],
  log: opencodeLog('opencode'),
};

/** All supported agents. */
export const AGENTS: readonly Agent[] = [
  {
    name: 'codex',
    title: 'Codex',
    binaries: ['codex'],
    packages: ['@openai/codex'],
    pointRun: pointCodex,
    hasSubscription: true,
    connect: connectCodex,
    proof: {
      args: (model) => [
        ...['exec', '--ephemeral', '--skip-git-repo-check', '-s', 'read-only'],
        ...option('-m', model),
        'hi',
      ],
    },
    sessionHeaders: ['session-id', 'thread-id'],
    log: CODEX_LOG,
  },
  {
    name: 'claude',
    title: 'Claude Code',
    binaries: ['claude'],
    packages: ['@anthropic-ai/claude-code'],
    pointRun: pointClaude,
    hasSubscription: true,
    connect: connectClaude,
    proof: {
      args: (model) => [
        ...['-p', '--tools', '', '--max-turns', '1', '--no-session-persistence'],
        ...option('--model', model),
        'hi',
      ],
    },
    sessionHeaders: ['x-claude-code-session-id'],
    log: CLAUDE_LOG,
  },
  OPENCODE,
  {
    ...OPENCODE,
    name: 'kilo',
    title: 'Kilo Code',
    binaries: ['kilo', 'kilocode'],
    packages: ['@kilocode/cli'],
    pointRun: pointKilo,
    connect: connectKilo,
    log: opencodeLog('kilo'),
  },
  {
    name: 'cline',
    title: 'Cline',
    binaries: ['cline'],
    packages: ['cline'],
    pointRun: pointCline,
    connect: connectCline,
    proof: {
      args: (model) => ['-p', '--json', ...option('-m', model), 'say hi'],
    },
    sessionHeaders: [],
    log: CLINE_LOG,
  },
  {
    name: 'continue',
    title: 'Continue',
    binaries: ['cn'],
    packages: ['@continuedev/cli'],
    pointRun: pointContinue,
    connect: connectContinue,
    proof: { args: () => ['-p', '--readonly', 'hi'] },
    sessionHeaders: [],
  },
  {
    name: 'qwen',
    title: 'Qwen Code',
    binaries: ['qwen'],
    packages: ['@qwen-code/qwen-code'],
    pointRun: pointQwen,
    connect: connectQwen,
    proof: {
      args: (model) => ['-p', 'hi', '--approval-mode', 'plan', ...option('-m', model)],
    },
    sessionHeaders: [],
    log: QWEN_LOG,
  },
  {
    name: 'copilot',
    title: 'Copilot CLI',
    binaries: ['copilot'],
    packages: ['@github/copilot'],
    pointRun: pointCopilot,
    connect: 'it has no setting for a provider. Use: gw run -- copilot',
    proof: {
      args: (model) => ['-p', 'hi', '--plan', '-s', ...option('--model', model)],
    },
    sessionHeaders: [],
    log: COPILOT_LOG,
  },
  {
    name: 'aider',
    title: 'aider',
    binaries: ['aider'],
    packages: ['aider-chat'],
    pointRun: pointAider,
    connect: connectAider,
    proof: {
      args: (model) => [
        ...['--message', 'hi', '--dry-run', '--no-git', '--no-check-update', '--analytics-disable'],
        ...['--map-tokens', '0', '--yes-always'],
        ...option('--model', model),
      ],
    },
    sessionHeaders: [],
  },
  {
    name: 'goose',
    title: 'Goose',
    binaries: ['goose'],
    packages: [],
    pointRun: pointGoose,
    connect: connectGoose,
    proof: {
      args: (model) => [
        ...['run', '--no-session', '--no-profile', '--max-turns', '1'],
        ...option('--model', model),
        ...['-t', 'hi'],
      ],
      env: { GOOSE_DISABLE_SESSION_NAMING: 'true', GOOSE_DISABLE_TOOL_CALL_SUMMARY: 'true' },
    },
    sessionHeaders: ['agent-session-id', 'goose-session-id'],
    log: GOOSE_LOG,
  },
  {
    name: 'crush',
    title: 'Crush',
    binaries: ['crush'],
    packages: ['@charmland/crush'],
    pointRun: pointCrush,
    connect: 'its crushrc is a shell script. Use: gw run -- crush',
    proof: {
      args: (model) => ['run', '-q', ...option('-m', model), 'hi'],
    },
    sessionHeaders: ['x-session-id', 'x-session-affinity'],
  },
  {
    name: 'pi',
    title: 'pi',
    binaries: ['pi'],
    packages: ['@mariozechner/pi-coding-agent'],
    pointRun: pointPi,
    connect: connectPi,
    proof: {
      args: (model) => ['-p', '--no-tools', '--no-session', ...option('--model', model), 'hi'],
    },
    sessionHeaders: ['session_id'],
  },
  {
    name: 'openhands',
    title: 'OpenHands',
    binaries: ['openhands'],
    packages: ['openhands', 'openhands-ai'],
    pointRun: pointOpenHands,
    connect: 'it reads an address only with --override-with-envs. Use: gw run -- openhands',
    sessionHeaders: [],
  },
  {
    name: 'gemini',
    title: 'Gemini CLI',
    binaries: ['gemini'],
    packages: ['@google/gemini-cli'],
    pointRun: pointGemini,
    connect: connectGemini,
    proof: {
      args: (model) => ['-p', 'hi', '--approval-mode', 'plan', ...option('-m', model)],
      env: { GEMINI_CLI_TRUST_WORKSPACE: 'true' },
    },
    sessionHeaders: [],
    log: GEMINI_LOG,
  },
];

/** Agents that can't be run through gw, but whose usage can be exported to a file. */
export const EXPORTING: readonly LoggedAgent[] = [{ name: 'cursor', title: 'Cursor', log: CURSOR_EXPORT }];
