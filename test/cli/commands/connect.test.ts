import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { type CliHome, cliHome, execute, stopAfterwards } from '../cli-home.ts';

const BEFORE = '# mine\nmodel_provider = "proxy"\r\n';

/** A home with a Codex whose settings are someone's own, and that does as `FAKE` says. */
function withCodex(): { cli: CliHome; file: string; codex(mode: string): Record<string, string> } {
  const cli = cliHome();
  const home = cli.paths.home;
  const file = join(home, '.codex', 'config.toml');
  mkdirSync(join(home, '.codex'));
  mkdirSync(join(home, 'bin'));
  writeFileSync(file, BEFORE);
  const program = join(home, 'bin', 'codex');
  writeFileSync(program, `#!${process.execPath}\n${FAKE_CODEX}`);
  chmodSync(program, 0o755);
  const PATH = `${join(home, 'bin')}${delimiter}${process.env.PATH}`;
  return { cli, file, codex: (mode) => ({ PATH, FAKE: mode, OPENAI_API_KEY: 'sk-real-key-of-the-user' }) };
}

const FAKE_CODEX = `
const http = require('node:http');
const fs = require('node:fs');
if (process.argv.includes('--version')) { console.log('codex-cli 9.8.7'); process.exit(); }
const model = process.argv[process.argv.indexOf('-m') + 1];
fs.writeFileSync(process.env.HOME + '/cwd', process.cwd());
const config = fs.readFileSync(process.env.HOME + '/.codex/config.toml', 'utf8');
const value = (name) => new RegExp('^' + name + ' = "(.*)"', 'm').exec(config)?.[1];
const body = JSON.stringify({ model, input: 'hi' });
const post = (options) => new Promise((resolve) => {
  const request = http.request({ method: 'POST', ...options }, (response) => response.resume().on('end', resolve));
  request.on('error', resolve).end(body);
});
const modes = {
  covered: () => post({
    ...urlParts(value('base_url') + '/responses'),
    headers: { authorization: 'Bearer ' + value('experimental_bearer_token'), 'content-type': 'application/json' },
  }),
  bypassed: async () => {
    for (const host of ['telemetry.example', 'api.openai.com']) {
      const proxy = urlParts(process.env.HTTP_PROXY);
      await post({ ...proxy, path: 'http://' + host + '/v1/responses', headers: { host } });
    }
  },
  hangs: () => setInterval(() => undefined, 1000),
  fails: () => { console.error('codex: no such model'); process.exit(3); },
  rewrites: async () => {
    await modes.covered();
    fs.writeFileSync(process.env.HOME + '/.codex/config.toml', config + '\\n[projects."/tmp"]\\ntrust_level = "trusted"\\n');
  },
};
function urlParts(text) { const { hostname, port, pathname } = new URL(text); return { hostname, port, path: pathname }; }
modes[process.env.FAKE]();
`;

interface Row {
  agent: string;
  installed: boolean;
  version: string | null;
  state: string;
  files: string[];
  key_id: number | null;
  proof: { state: string; request_id: string | null; went_to: string | null };
}

describe('gw connect', () => {
  test('shows the diff and changes nothing without a terminal and --yes', async () => {
    const { cli, file, codex } = withCodex();
    const { code, stdout, stderr } = await cli.run(['connect', 'codex'], { env: codex('covered') });
    expect(code).toBe(2);
    expect(stdout).toContain('\n-model_provider = "proxy"\n+model_provider = "gw"\n');
    expect(stdout).toContain('+experimental_bearer_token = "sk-gw-..."\n');
    expect(stderr).toContain('gw: nothing was changed. To write this: gw connect codex --yes');
    expect(readFileSync(file, 'utf8')).toBe(BEFORE);
    expect(existsSync(cli.paths.connections)).toBe(false);
    expect(await keysOf(cli)).toEqual([]);
  });

  test('cuts keys in the diff, and colours it on a terminal', async () => {
    const { cli, file, codex } = withCodex();
    const secret = 'sk-proj-4711abcdefghijklmnop';
    writeFileSync(
      file,
      `model_provider = "x"\n\n[model_providers.gw]\nexperimental_bearer_token = "${secret}"\n`,
    );
    const { stdout } = await cli.run(['connect', 'codex'], {
      env: codex('covered'),
      tty: true,
      stdin: 'n\n',
    });
    expect(stdout).not.toContain(secret);
    expect(stdout).toContain('\u001b[31m-experimental_bearer_token = "sk-pro..."\u001b[39m');
  });

  test('exits with 5 for an unknown agent, with 2 for a missing model, with 1 for one that only runs', async () => {
    const cli = cliHome();
    expect(await cli.run(['connect', 'cursor', '--yes'])).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(/^gw: gw knows no agent "cursor". It knows codex, claude, /),
    });
    expect(await cli.run(['connect', 'cline', '--yes'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('gw connect cline --model MODEL'),
    });
    const folder = join(cli.paths.home, '.qwen');
    mkdirSync(folder);
    writeFileSync(join(folder, 'settings.json'), '{"model":{"name":"qwen3-coder"}}');
    await cli.run(['connect', 'qwen', '--yes', '--no-proof']);
    expect(JSON.parse(readFileSync(join(folder, 'settings.json'), 'utf8'))).toMatchObject({
      model: { name: 'qwen3-coder' },
      modelProviders: { openai: [{ id: 'qwen3-coder' }] },
    });
    expect(await cli.run(['connect', 'copilot', '--yes'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('gw run -- copilot'),
    });
  });

  test('names a file that it cannot edit, and leaves it', async () => {
    const { cli, file } = withCodex();
    writeFileSync(file, 'model = \n');
    const { code, stderr } = await cli.run(['connect', 'codex', '--yes', '--no-proof']);
    expect(code).toBe(1);
    expect(stderr).toContain(`cannot edit ${file}: not TOML`);
    expect(readFileSync(file, 'utf8')).toBe('model = \n');
  });

  test('an agent whose request comes through gw is covered, with a key of its own', async () => {
    const { cli, file, codex } = withCodex();
    stopAfterwards(cli);
    const env = codex('covered');
    expect((await cli.exec(['start'], { env })).code).toBe(0);
    const { code, stdout, stderr } = await cli.exec(['connect', 'codex', '--yes', '--json'], { env });
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('came through gw') });
    const row = JSON.parse(stdout) as Row;
    expect(row).toMatchObject({
      agent: 'codex',
      installed: true,
      version: '9.8.7',
      state: 'connected',
      files: [file],
      key_id: expect.any(Number),
      proof: { state: 'covered', request_id: expect.stringMatching(/^req_/), went_to: null },
    });
    expect(await keysOf(cli)).toEqual([row.key_id]);
    const { stdout: request } = await cli.exec(['requests', row.proof.request_id ?? '', '--json']);
    expect(JSON.parse(request)).toMatchObject({ model: 'sandbox/free', cost_usd: 0, status: 200 });
    // It ran in a folder of its own that is gone.
    expect(existsSync(readFileSync(join(cli.paths.home, 'cwd'), 'utf8'))).toBe(false);
    expect(statSync(cli.paths.connections).mode & 0o777).toBe(0o600);

    const stopped = await cli.exec(['stop', '--now']);
    expect(stopped.stderr).toContain('Connected agents get no answers until it runs again: codex.');
    expect(await cli.exec(['disconnect', '--all'])).toMatchObject({ code: 0 });
    expect(readFileSync(file, 'utf8')).toBe(BEFORE);
    expect(await keysOf(cli)).toEqual([]);
    expect((await cli.exec(['stop'])).stderr).toBe('gw is not running.\n');
  });

  test('an agent that asks another server is put back, and the server is named', async () => {
    const { cli, file, codex } = withCodex();
    stopAfterwards(cli);
    const env = codex('bypassed');
    await cli.exec(['start'], { env });
    const { code, stderr } = await cli.exec(['connect', 'codex', '--yes'], { env });
    expect(code).toBe(1);
    expect(stderr).toContain('gw: Codex asked api.openai.com instead of gw.');
    expect(readFileSync(file, 'utf8')).toBe(BEFORE);
    expect(await keysOf(cli)).toEqual([]);
    expect(await connected(cli)).toEqual([]);
  });

  test('an agent that fails is put back, with what it printed', async () => {
    const { cli, file, codex } = withCodex();
    stopAfterwards(cli);
    const env = codex('fails');
    await cli.exec(['start'], { env });
    const { code, stderr } = await cli.exec(['connect', 'codex', '--yes'], { env });
    expect(code).toBe(1);
    expect(stderr).toContain('codex: no such model\n');
    expect(stderr).toContain('gw: Codex made no request with its key that gw saw.');
    expect(readFileSync(file, 'utf8')).toBe(BEFORE);
  });

  test('Ctrl-C during the proof puts the settings back', async () => {
    const { cli, file, codex } = withCodex();
    stopAfterwards(cli);
    const env = codex('hangs');
    await cli.exec(['start'], { env });
    const child = cli.spawn(['connect', 'codex', '--yes'], env);
    await vi.waitFor(() => expect(existsSync(join(cli.paths.home, 'cwd'))).toBe(true), { timeout: 15_000 });
    expect(readFileSync(file, 'utf8')).toContain('model_provider = "gw"');
    child.kill('SIGINT');
    const { code } = await execute(child);
    expect(code).toBe(1);
    expect(readFileSync(file, 'utf8')).toBe(BEFORE);
    expect(await keysOf(cli)).toEqual([]);
  });

  test('says that a proxy may stand between agents and gw', async () => {
    const { cli } = withCodex();
    const proxied = async (env: Record<string, string>) =>
      (await cli.run(['connect', 'codex'], { env: { HTTP_PROXY: 'http://proxy.example', ...env } })).stderr;
    expect(await proxied({})).toContain('note: HTTP_PROXY is set, and agents may ask that proxy for gw.');
    expect(await proxied({ NO_PROXY: 'example.com, localhost' })).not.toContain('HTTP_PROXY');
  });

  test('what the agent itself wrote during the proof is undone with it', async () => {
    const { cli, file, codex } = withCodex();
    stopAfterwards(cli);
    const env = codex('rewrites');
    await cli.exec(['start'], { env });
    expect((await cli.exec(['connect', 'codex', '--yes'], { env })).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toContain('[projects."/tmp"]');
    await cli.exec(['disconnect', 'codex']);
    expect(readFileSync(file, 'utf8')).toBe(BEFORE);
  });

  test('without a proof, or an agent to run, it is connected and not proven', async () => {
    const { cli } = withCodex();
    const { code, stderr } = await cli.run(['connect', 'codex', '--yes', '--no-proof']);
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('not proven (--no-proof)'),
    });
    expect((await cli.run(['connect', 'claude', '--yes'], { env: { PATH: '' } })).stderr).toContain(
      'not proven (claude is not on the PATH)',
    );
    expect((await connected(cli)).map(({ agent, proof }) => [agent, proof.state])).toEqual([
      ['codex', 'not_run'],
      ['claude', 'not_run'],
    ]);
  });

  test('connecting again starts from the former settings, with a new key', async () => {
    const { cli, file } = withCodex();
    await cli.run(['connect', 'codex', '--yes', '--no-proof', '--model', 'one']);
    await cli.run(['connect', 'codex', '--yes', '--no-proof']);
    expect(readFileSync(file, 'utf8')).not.toContain('model = "one"');
    expect(await keysOf(cli)).toEqual([2]);
    await cli.run(['disconnect', 'codex']);
    expect(readFileSync(file, 'utf8')).toBe(BEFORE);
  });
});

describe('gw disconnect', () => {
  test('leaves a value that others changed, says so, and takes it back with --force', async () => {
    const { cli, file } = withCodex();
    await cli.run(['connect', 'codex', '--yes', '--no-proof']);
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace('model_provider = "gw"', 'model_provider = "third"'),
    );
    expect((await rows(cli)).find(({ agent }) => agent === 'codex')?.state).toBe('changed');
    const { code, stderr } = await cli.run(['disconnect', 'codex']);
    expect(code).toBe(1);
    expect(stderr).toContain(
      'model_provider in ~/.codex/config.toml was changed by others since; left as it is.',
    );
    expect(stderr).toContain('gw disconnect codex --force');
    expect(readFileSync(file, 'utf8')).toBe(BEFORE.replace('proxy', 'third'));
    expect(await keysOf(cli)).toEqual([]);
    expect((await cli.run(['disconnect', 'codex', '--force'])).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe(BEFORE);
    expect(await connected(cli)).toEqual([]);
  });

  test('says that only its own values were put back in a file that others changed', async () => {
    const { cli, file } = withCodex();
    await cli.run(['connect', 'codex', '--yes', '--no-proof']);
    writeFileSync(file, `${readFileSync(file, 'utf8')}\r\n[tui]\r\ntheme = "dark"\r\n`);
    const { code, stderr } = await cli.run(['disconnect', 'codex']);
    expect(code).toBe(0);
    expect(stderr).toContain(
      "~/.codex/config.toml was changed by others since: only gw's values were put back.",
    );
    expect(readFileSync(file, 'utf8')).toBe(`${BEFORE}\r\n[tui]\r\ntheme = "dark"\r\n`);
  });

  test('needs an agent or --all, and takes one that is not connected', async () => {
    const cli = cliHome();
    expect((await cli.run(['disconnect'])).code).toBe(2);
    expect((await cli.run(['disconnect', 'codex', '--all'])).code).toBe(2);
    expect((await cli.run(['disconnect', 'nobody'])).code).toBe(5);
    expect(await cli.run(['disconnect', 'codex'])).toMatchObject({
      code: 0,
      stderr: 'Codex is not connected.\n',
    });
    expect(await cli.run(['disconnect', '--all'])).toMatchObject({
      code: 0,
      stderr: 'No agent is connected.\n',
    });
  });
});

/** The ids of the live keys that agents have. */
async function keysOf(cli: CliHome): Promise<number[]> {
  const keys = await cli.json<{ id: number; label: string | null }[]>(['keys', 'list']);
  return keys.filter(({ label }) => label?.startsWith('connect:')).map(({ id }) => id);
}

/** The list of agents, without looking for their programs. */
async function rows(cli: CliHome): Promise<Row[]> {
  const { stdout } = await cli.run(['connect', '--json'], { env: { PATH: '' } });
  return JSON.parse(stdout) as Row[];
}

async function connected(cli: CliHome): Promise<Row[]> {
  return (await rows(cli)).filter(({ state }) => state === 'connected' || state === 'changed');
}
