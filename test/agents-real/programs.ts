import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestGateway } from '../support/gateway.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { realAgent } from './agents.ts';
import { installAgent } from './install-agent.ts';

export interface Question {
  model: string;
  prompt: string;
}

/** An agent program, run without a terminal. */
export interface Program {
  /** As in agents.ts. */
  name: string;
  /** Number of requests that one question takes: some programs also request a title. */
  requests: number;
  /** Configuration files, by their path in its home directory. */
  files?(gateway: TestGateway, question: Question): Record<string, string>;
  env?(gateway: TestGateway): Record<string, string>;
  args(gateway: TestGateway, question: Question): string[];
}

export const PROGRAMS: readonly Program[] = [
  {
    name: 'codex',
    requests: 1,
    env: ({ key }) => ({ OPENAI_API_KEY: key }),
    args({ url }, { model, prompt }) {
      const service = `model_providers.gw={name="gw",base_url="${url}",env_key="OPENAI_API_KEY",wire_api="responses"}`;
      const settings = ['-c', 'model_provider="gw"', '-c', service, '-m', model];
      const free = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
      return ['exec', ...free, ...settings, prompt];
    },
  },
  {
    name: 'claude',
    requests: 1,
    env: ({ origin, key }) => ({
      ANTHROPIC_BASE_URL: origin,
      ANTHROPIC_AUTH_TOKEN: key,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }),
    args: (_gateway, { model, prompt }) => ['-p', prompt, '--model', model, '--allowedTools', 'Bash'],
  },
  {
    name: 'opencode',
    requests: 2,
    files: ({ url, key }, { model }) => ({
      'opencode.json': JSON.stringify({
        provider: {
          gw: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: url, apiKey: key },
            models: { [model]: {} },
          },
        },
        permission: { bash: 'allow' },
      }),
    }),
    args: (_gateway, { model, prompt }) => ['run', '-m', `gw/${model}`, prompt],
  },
  {
    name: 'cline',
    requests: 1,
    args: (_gateway, { model, prompt }) => ['-P', 'openai', '-m', model, prompt],
  },
  {
    name: 'continue',
    requests: 1,
    files: ({ url, key }, { model }) => ({
      // JSON is valid YAML.
      'config.yaml': JSON.stringify({
        name: 'gw',
        version: '0.0.1',
        schema: 'v1',
        models: [{ name: 'm', provider: 'openai', model, apiBase: url, apiKey: key, roles: ['chat'] }],
      }),
    }),
    args: (_gateway, { prompt }) => ['-p', '--auto', '--config', 'config.yaml', prompt],
  },
];

/** A running program and its complete output. */
export interface RunningProgram {
  child: ChildProcess;
  output: Promise<string>;
}

/** Starts a program in its home directory. */
export function start(
  path: string,
  args: string[],
  env: Record<string, string>,
  home = tmpHome(),
): RunningProgram {
  const child = spawn(path, args, {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home, TERM: 'dumb', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 90_000,
    detached: true,
  });
  const parts: Buffer[] = [];
  child.stdout.on('data', (part: Buffer) => parts.push(part));
  child.stderr.on('data', (part: Buffer) => parts.push(part));
  const output = new Promise<string>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => resolve(Buffer.concat(parts).toString()));
  });
  return { child, output };
}

/** Starts a program with a question. Cline has to be configured by a command first. */
export async function ask(
  program: Program,
  gateway: TestGateway,
  question: Question,
): Promise<RunningProgram> {
  const home = tmpHome();
  const path = await installAgent(realAgent(program.name).package);
  for (const [name, content] of Object.entries(program.files?.(gateway, question) ?? {})) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), content);
  }
  const env = program.env?.(gateway) ?? {};
  if (program.name === 'cline') {
    const account = ['auth', '-p', 'openai', '-k', gateway.key, '-m', question.model, '-b', gateway.url];
    await start(path, account, env, home).output;
  }
  return start(path, program.args(gateway, question), env, home);
}

/** Kills a program and its child processes. */
export function kill({ child }: RunningProgram): void {
  if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
}
