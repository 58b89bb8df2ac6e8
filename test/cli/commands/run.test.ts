import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CliHome, cliHome, stopAfterwards } from '../cli-home.ts';

/** A program that records how it was started, with the files that its arguments name. */
const RECORDER = `#!${process.execPath}
const { readFileSync, existsSync, writeFileSync } = require('node:fs');
const args = process.argv.slice(2);
const files = args.filter((arg) => existsSync(arg)).map((arg) => readFileSync(arg, 'utf8'));
writeFileSync(process.env.RECORD, JSON.stringify({ args, env: process.env, files }));
process.exit(3);
`;

interface Recorded {
  args: string[];
  env: Record<string, string>;
  files: string[];
}

/** Installs recorders by these names, and runs gw with them first on the path. */
function withAgents(cli: CliHome, ...names: string[]) {
  const bin = join(cli.paths.home, 'bin');
  mkdirSync(bin, { recursive: true });
  for (const name of names) writeFileSync(join(bin, name), RECORDER, { mode: 0o755 });
  const record = join(cli.paths.home, 'record.json');
  const env = { PATH: `${bin}:${cli.env.PATH}`, RECORD: record };
  return {
    run: (args: string[], more: Record<string, string> = {}) =>
      cli.exec(['run', ...args], { env: { ...env, ...more } }),
    started: () => existsSync(record),
    recorded: () => JSON.parse(readFileSync(record, 'utf8')) as Recorded,
  };
}

describe('gw run', () => {
  test('starts gw, points the agent at it and returns its exit code', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    const agents = withAgents(cli, 'codex', 'claude');
    const first = await agents.run(['--', 'codex', 'exec', '-c', 'model_provider=x', 'hi']);
    expect(first).toEqual({
      code: 3,
      stdout: '',
      stderr:
        'Started gw in the background. To stop it: ./bin/gw stop\n' +
        'codex: left out -c model_provider=x: requests would not reach gw\n',
    });
    const { args, env } = agents.recorded();
    expect(args.slice(0, 2)).toEqual(['-c', 'model_provider=gw']);
    expect(args.slice(-2)).toEqual(['exec', 'hi']);
    expect(args).toContain(`model_providers.gw.base_url="${env.OPENAI_BASE_URL}"`);
    expect(env.GW_RUN_KEY).toMatch(/^sk-gw-/);
    expect(env.GW_RUN_KEY).toBe(env.OPENAI_API_KEY);

    const second = await agents.run(['--', 'env', 'A=1', 'claude', '-p', 'hi'], {
      ANTHROPIC_API_KEY: 'sk-ant-mine',
    });
    expect(second).toEqual({ code: 3, stdout: '', stderr: '' });
    const claude = agents.recorded();
    expect(claude.env).toMatchObject({
      A: '1',
      ANTHROPIC_API_KEY: '',
      ANTHROPIC_AUTH_TOKEN: env.OPENAI_API_KEY,
    });
    expect(JSON.parse(claude.files[0] ?? '').env).toMatchObject({
      ANTHROPIC_BASE_URL: env.ANTHROPIC_BASE_URL,
      ANTHROPIC_AUTH_TOKEN: env.OPENAI_API_KEY,
    });
    expect(JSON.stringify(claude.args)).not.toContain('sk-gw-');
    expect(readdirSync(join(cli.paths.home, 'runs'))).toEqual([]);
  }, 60_000);

  test('refuses an agent that goes around gw before anything starts, unless told otherwise', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    const agents = withAgents(cli, 'gemini');
    expect(await agents.run(['--', 'gemini', '-p', 'hi'])).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^gw: Gemini CLI would go around gw: Gemini CLI speaks Google's own API, which gw does not offer\.\n {2}Use an agent.*\n.*gw run --anyway -- \.\.\.\n$/,
      ),
    });
    expect(agents.started()).toBe(false);
    expect(existsSync(cli.paths.daemonInfo)).toBe(false);

    const anyway = await agents.run(['--anyway', '--', 'gemini', '-p', 'hi'], { GEMINI_API_KEY: 'AIza' });
    expect(anyway.code).toBe(3);
    expect(anyway.stderr).toContain('warning: Gemini CLI would go around gw');
    expect(anyway.stderr).toContain(
      'warning: GEMINI_API_KEY is set: what uses it goes around gw, uncounted\n',
    );
    expect(agents.recorded().args).toEqual(['-p', 'hi']);
  }, 60_000);

  test('an argument that gw can not merge is an error of use', async () => {
    const cli = cliHome();
    const agents = withAgents(cli, 'claude');
    expect(await agents.run(['--', 'claude', '--settings', 'none.json'])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'gw: cannot read the file of --settings none.json\n',
    });
    expect(agents.started()).toBe(false);
  });

  test('gives any other program the variables of the common clients, NO_PROXY extended', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    const agents = withAgents(cli, 'my-program');
    const env = { ANTHROPIC_API_KEY: 'sk-ant-mine', HTTP_PROXY: 'http://corp:3128', NO_PROXY: 'corp' };
    expect((await agents.run(['--', 'my-program'], env)).code).toBe(3);
    const recorded = agents.recorded().env;
    const origin = recorded.ANTHROPIC_BASE_URL;
    expect(recorded).toMatchObject({
      OPENAI_BASE_URL: `${origin}/v1`,
      OPENAI_API_BASE: `${origin}/v1`,
      OPENAI_API_BASE_URL: `${origin}/v1`,
      ANTHROPIC_API_BASE: origin,
      ANTHROPIC_API_URL: origin,
      ANTHROPIC_API_KEY: recorded.OPENAI_API_KEY,
      ANTHROPIC_AUTH_TOKEN: recorded.OPENAI_API_KEY,
      NO_PROXY: 'corp,localhost,127.0.0.1,::1',
      no_proxy: 'corp,localhost,127.0.0.1,::1',
      OPENAI_AGENTS_DISABLE_TRACING: '1',
    });
    expect(existsSync(join(cli.paths.home, 'runs'))).toBe(false);
  }, 60_000);
});
