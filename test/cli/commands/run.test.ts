import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CliHome, cliHome, execute, stopAfterwards } from '../cli-home.ts';

/** A program that records how it was started, with the files that its arguments name. */
const RECORDER = `#!${process.execPath}
const { readFileSync, existsSync, writeFileSync } = require('node:fs');
const args = process.argv.slice(2);
const files = args.filter((arg) => existsSync(arg)).map((arg) => readFileSync(arg, 'utf8'));
writeFileSync(process.env.RECORD, JSON.stringify({ args, env: process.env, files }));
process.exit(3);
`;

/** A Codex that logs two responses of this folder and one of another, and asks nobody. */
const LOGGING_CODEX = `#!${process.execPath}
const { mkdirSync, writeFileSync } = require('node:fs');
const folder = process.env.HOME + '/.codex/sessions';
mkdirSync(folder, { recursive: true });
const log = (cwd, numbers) => {
  const session = cwd + process.pid;
  const usage = { input_tokens: 20, output_tokens: 5 };
  const lines = [
    { type: 'session_meta', payload: { id: session, session_id: session, cwd } },
    ...numbers.map((i) => ({ type: 'token_usage_record', payload: { response_id: session + i, usage } })),
  ];
  const timestamp = new Date().toISOString();
  const text = lines.map((line) => JSON.stringify({ timestamp, ...line }) + '\\n').join('');
  writeFileSync(folder + '/rollout-' + session.replaceAll('/', '-') + '.jsonl', text);
};
log(process.cwd(), [1, 2]);
log('/elsewhere', [3]);
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

  test('says how many requests of the agent its log has that did not come through gw', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    const agents = withAgents(cli, 'codex');
    writeFileSync(join(cli.paths.home, 'bin/codex'), LOGGING_CODEX, { mode: 0o755 });
    const [first, second] = [
      await agents.run(['--', 'codex', 'exec', 'hi']),
      await agents.run(['--budget', '5', '--', 'codex', 'exec', 'hi']),
    ];
    expect(first.stderr).toContain('warning: 2 requests did not come through gw. See: ./bin/gw coverage\n');
    expect(second.stderr).toMatch(
      /0 requests, 0 tokens in, 0 out, 0 refused, 2 requests did not come through gw\n$/,
    );
    expect([first.code, second.code]).toEqual([3, 3]);
  }, 60_000);

  test('refuses an agent that goes around gw before anything starts, unless told otherwise', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    const agents = withAgents(cli, 'qwen');
    const command = ['--', 'qwen', '--auth-type', 'qwen-oauth', '-p', 'hi'];
    expect(await agents.run(command)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^gw: Qwen Code would go around gw: --auth-type qwen-oauth has a service of its own\.\n {2}Use: --auth-type openai.*\n.*gw run --anyway -- \.\.\.\n$/,
      ),
    });
    expect(agents.started()).toBe(false);
    expect(existsSync(cli.paths.daemonInfo)).toBe(false);

    const anyway = await agents.run(['--anyway', ...command], { GEMINI_API_KEY: 'AIza' });
    expect(anyway.code).toBe(3);
    expect(anyway.stderr).toContain('warning: Qwen Code would go around gw');
    expect(anyway.stderr).toContain(
      'warning: GEMINI_API_KEY is set: what uses it goes around gw, uncounted\n',
    );
    expect(agents.recorded().args).toEqual(command.slice(2));
  }, 60_000);

  test('lets an agent use its own login only where the settings allow it', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    const agents = withAgents(cli, 'codex', 'aider');
    const refused = await agents.run(['--subscription', '--', 'codex']);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('gw config set passthrough.subscriptions allow');
    const unable = await agents.run(['--subscription', '--', 'aider']);
    expect(unable).toMatchObject({
      code: 2,
      stderr: 'gw: --subscription works with codex and claude only\n',
    });
    const capped = await agents.run(['--subscription', '--budget', '5', '--', 'codex']);
    expect(capped.code).toBe(2);
    expect(agents.started()).toBe(false);
    await cli.exec(['config', 'set', 'passthrough.subscriptions', 'allow']);
    expect((await agents.run(['--subscription', '--', 'codex'])).code).toBe(3);
    expect(agents.recorded().args).toContain('model_providers.gw-login.requires_openai_auth=true');
  }, 60_000);

  test('points an agent that a script starts, and counts it in the run', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    const agents = withAgents(cli, 'codex', 'claude');
    const run = await agents.run([
      '--budget',
      '5',
      '--',
      'sh',
      '-c',
      'cd / && codex exec "two words"; exit 7',
    ]);
    expect(run.code).toBe(7);
    expect(run.stderr).not.toContain('warning');
    const { args, env } = agents.recorded();
    expect(args.slice(0, 2)).toEqual(['-c', 'model_provider=gw']);
    expect(args.slice(-2)).toEqual(['exec', 'two words']);
    expect(env.GW_RUN_KEY).toBe(env.OPENAI_API_KEY);
    // The key of the run is revoked, and no other was made.
    expect((await cli.run(['keys', 'list', '--json'])).stdout).toBe('[]\n');

    expect((await agents.run(['--', 'env', 'claude', 'hi'])).code).toBe(3);
    const claude = agents.recorded();
    expect(claude.args.filter((arg) => arg === '--settings')).toHaveLength(1);
    // What Claude Code starts itself.
    const [bin = ''] = (claude.env.PATH ?? '').split(':');
    expect(bin).toContain(join(cli.paths.home, 'runs'));
    expect(readdirSync(join(cli.paths.home, 'runs'))).toEqual([]);
  }, 60_000);

  test('warns of an agent that it can not point', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    const agents = withAgents(cli, 'claude', 'npx', 'make', 'bash');
    const hidden: [words: string[], title: string][] = [
      [['sh', '-c', 'npx @openai/codex exec hi'], 'Codex'],
      [['bash', '-lc', 'claude -p hi'], 'Claude Code'],
      [['make', 'run', 'CMD=cd x && /opt/bin/cline hi'], 'Cline'],
    ];
    for (const [words, title] of hidden) {
      const { stderr } = await agents.run(['--', ...words]);
      expect(stderr).toContain(`warning: ${title} may go around gw`);
    }
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
    const google = { GOOGLE_API_KEY: 'AIza-mine', GOOGLE_GENAI_USE_VERTEXAI: 'true' };
    const env = {
      ...google,
      ANTHROPIC_API_KEY: 'sk-ant-mine',
      HTTP_PROXY: 'http://corp:3128',
      NO_PROXY: 'corp',
    };
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
      GOOGLE_GEMINI_BASE_URL: origin,
      GEMINI_API_KEY: recorded.OPENAI_API_KEY,
      GOOGLE_API_KEY: recorded.OPENAI_API_KEY,
      GOOGLE_GENAI_USE_VERTEXAI: 'false',
      NO_PROXY: 'corp,localhost,127.0.0.1,::1',
      no_proxy: 'corp,localhost,127.0.0.1,::1',
      OPENAI_AGENTS_DISABLE_TRACING: '1',
    });
    expect(readdirSync(join(cli.paths.home, 'runs'))).toEqual([]);
  }, 60_000);
});

/** A program that asks the sandbox so many times, and once more in a subprocess. It prints the status of each answer. */
const ASKER = `
import { spawnSync } from 'node:child_process';
const [times, depth = '0'] = process.argv.slice(2);
for (let i = 0; i < Number(times); i++) {
  const response = await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
    method: 'POST',
    headers: { authorization: 'Bearer ' + process.env.OPENAI_API_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox/echo', max_tokens: 2000, messages: [{ role: 'user', content: 'Hi' }] }),
  });
  const body = await response.json();
  console.log(response.status, body.error?.message ?? '');
}
if (depth === '0') spawnSync(process.execPath, [process.argv[1], '1', '1'], { stdio: 'inherit' });
process.exit(9);
`;

function asker(cli: CliHome): string {
  mkdirSync(cli.paths.home, { recursive: true });
  const file = join(cli.paths.home, 'asker.mjs');
  writeFileSync(file, ASKER);
  return file;
}

interface BudgetJson {
  id: string;
  period: string;
  scope: { kind: string; value: string } | null;
  cap_usd: number;
  alert_percent: number;
  resets_at: string | null;
}

/** The live keys of runs. */
async function runKeys(cli: CliHome): Promise<unknown[]> {
  const keys = await cli.json<{ label: string | null }[]>(['keys', 'list']);
  return keys.filter(({ label }) => label?.startsWith('run_'));
}

describe('gw run --budget', () => {
  test('caps the run and its subprocesses alone, and sums it up in a line', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    await cli.exec(['start']);
    const file = asker(cli);
    const capped = await cli.exec(['run', '--budget', '0.00001', '--', process.execPath, file, '2']);
    expect(capped.code).toBe(9);
    const [first, second, third] = capped.stdout.trim().split('\n');
    const name = /default\/run@run_[0-9a-f]{12}/.exec(capped.stderr)?.[0] ?? '';
    for (const line of [first, second, third])
      expect(line).toMatch(`402 budget ${name} has no room for this request: $0.00 of $0.000010 is spent`);
    expect(first).toMatch(/To raise the cap: \S+ dashboard$/);
    expect(capped.stderr).toBe(
      `${name}: $0.00 spent of $0.000010, 3 requests, 0 tokens in, 0 out, 3 refused\n`,
    );

    const free = await cli.exec([
      'run',
      '--budget',
      '1',
      '--max-rate',
      '1/hour',
      '--',
      process.execPath,
      file,
      '1',
    ]);
    expect(free.stdout).toBe('200 \n200 \n');
    expect(free.stderr).toMatch(
      /^default\/run@run_\w+: \$0\.\d+ spent of \$1\.00, 2 requests, \d+ tokens in \(0% cached\), \d+ out, 0 refused\n$/,
    );
    expect(await cli.json<BudgetJson[]>(['budget', 'list'])).toEqual([]);
    expect(await runKeys(cli)).toEqual([]);
  }, 60_000);

  test('labels the requests of the run and its subprocesses, without a cap', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    await cli.exec(['start']);
    const labels = ['--label', 'customer=acme', '--label', 'feature=import'];
    const run = await cli.exec(['run', ...labels, '--', process.execPath, asker(cli), '1']);
    expect(run.stdout).toBe('200 \n200 \n');
    expect(run.stderr).toMatch(/^default\/run@run_\w+: \$[\d.]+ spent, 2 requests, /m);
    const found = await cli.json<{ labels: unknown }[]>(['requests', '--label', 'customer=acme', '--json']);
    expect(found.map(({ labels }) => labels)).toEqual(
      Array.from({ length: 2 }, () => ({ customer: 'acme', feature: 'import' })),
    );
    cli.clock.setWallTime(Date.now());
    const usage = await cli.run(['usage', '-g', 'label:customer']);
    expect(usage.stdout).toMatch(/^Usage by label:customer,/);
    expect(usage.stdout).toMatch(/\nacme +2 /);
    expect(await cli.run(['run', '--label', 'customer', '--', 'true'])).toMatchObject({ code: 2 });
    expect(await cli.run(['usage', '-g', 'label:a,label:b'])).toMatchObject({ code: 2 });
  }, 60_000);

  test('its budget is listed while it runs, and an interrupted run is summed up', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    await cli.exec(['start']);
    const script = 'trap "exit 130" INT; echo ready; while :; do sleep 0.05; done';
    const child = cli.spawn(['run', '--budget', '2', '--alert', '50', '--', 'sh', '-c', script]);
    const ended = execute(child);
    await once(child.stdout ?? child, 'data');
    const [budget] = await cli.json<BudgetJson[]>(['budget', 'list']);
    expect(budget).toMatchObject({ period: 'lifetime', cap_usd: 2, alert_percent: 50, resets_at: null });
    expect(budget?.id).toBe(`default/run@${budget?.scope?.value}`);
    expect((await cli.run(['budget', 'list'])).stdout).toMatch(/default\/run@run_\w+ .* ok *\n/);
    child.kill('SIGINT');
    expect(await ended).toEqual({
      code: 130,
      stdout: 'ready\n',
      stderr: `${budget?.id}: $0.00 spent of $2.00, 0 requests, 0 tokens in, 0 out, 0 refused\n`,
    });
  }, 60_000);

  test('after kill -9 of gw run, the daemon revokes the key and removes the budget', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    await cli.exec(['start']);
    const child = cli.spawn(['run', '--budget', '2', '--', 'sh', '-c', 'echo "$OPENAI_API_KEY"; exec cat']);
    const [key] = (await once(child.stdout ?? child, 'data')) as [Buffer];
    expect(String(key)).toMatch(/^sk-gw-/);
    child.kill('SIGKILL');
    await once(child, 'exit');
    child.stdin?.end();
    expect(await runKeys(cli)).toHaveLength(1);
    await cli.exec(['restart']);
    expect(await runKeys(cli)).toEqual([]);
    expect(await cli.json<BudgetJson[]>(['budget', 'list'])).toEqual([]);
  }, 60_000);

  test('--alert without a cap is an error of use', async () => {
    const cli = cliHome();
    expect(await cli.exec(['run', '--alert', '50', '--', 'true'])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'gw: --alert needs a cap: ./bin/gw run --budget 5 --alert 50 -- ...\n',
    });
  });
});
