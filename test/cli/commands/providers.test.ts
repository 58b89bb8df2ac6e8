import { readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { describe, expect, onTestFinished, test } from 'vitest';
import { headerOf } from '../../support/http-message.ts';
import { modelList, status } from '../../support/scripts.ts';
import { startUpstream } from '../../support/upstream.ts';
import { cliHome } from '../cli-home.ts';

const KEY = 'sk-secret-0123456789';

describe('gw providers add', () => {
  test('stores a key from stdin in a private file, and never prints it', async () => {
    const cli = cliHome();
    const added = await cli.run(['providers', 'add', 'openai', '--stdin'], { stdin: `${KEY}\n` });
    const listed = await cli.run(['providers', 'list']);
    expect(added.code).toBe(0);
    expect(JSON.parse(readFileSync(cli.paths.credentials, 'utf8'))).toEqual({ openai: KEY });
    expect(statSync(cli.paths.credentials).mode & 0o777).toBe(0o600);
    expect(listed.stdout).toMatch(/openai +https:\/\/api.openai.com\/v1 +stored +config/);
    expect(added.stdout + added.stderr + listed.stdout + readFileSync(cli.paths.config)).not.toContain(KEY);
  });

  test.each([`"${KEY}"`, `'${KEY}'`])('takes the quotes off %s', async (stdin) => {
    const cli = cliHome();
    await cli.run(['providers', 'add', 'openai', '--stdin'], { stdin });
    expect(JSON.parse(readFileSync(cli.paths.credentials, 'utf8'))).toEqual({ openai: KEY });
  });

  test('asks for the key on a terminal without showing it', async () => {
    const cli = cliHome();
    const { code, stdout, stderr } = await cli.run(['providers', 'add', 'groq'], {
      tty: true,
      stdin: `${KEY}\r`,
    });
    expect(code).toBe(0);
    expect(stderr).toContain('Key of groq (not shown): ');
    expect(stdout + stderr).not.toContain(KEY);
    expect(JSON.parse(readFileSync(cli.paths.credentials, 'utf8'))).toEqual({ groq: KEY });
  });

  test('exits with 130 and changes nothing on Ctrl-C', async () => {
    const cli = cliHome();
    const { code } = await cli.run(['providers', 'add', 'groq'], { tty: true, stdin: 'half a key\u0003' });
    expect(code).toBe(130);
    expect((await cli.json<{ providers: [] }>(['providers', 'list'])).providers).toEqual([]);
  });

  test('uses a key from the environment without storing it', async () => {
    const cli = cliHome();
    const env = { OPENAI_API_KEY: KEY };
    const { stderr } = await cli.run(['providers', 'add', 'openai'], { env });
    expect(stderr).toContain('its key comes from OPENAI_API_KEY in the environment that gw starts in');
    expect(readFileSync(cli.paths.config, 'utf8')).not.toContain(KEY);
  });

  test("does not take gw's own key for the provider's", async () => {
    const { code, stderr } = await cliHome().run(['providers', 'add', 'openai'], {
      env: { OPENAI_API_KEY: 'sk-gw-abc' },
    });
    expect(code).toBe(4);
    expect(stderr).toContain('gw providers add openai --stdin < FILE');
  });

  test('refuses the name under which a reverse proxy serves this gw', async () => {
    const cli = cliHome();
    await cli.run(['config', 'set', 'server.allowed_hosts', 'gw.example.com']);
    const added = await cli.run(['providers', 'add', 'mine', '--base-url', 'https://gw.example.com/v1']);
    expect(added).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('server.allowed_hosts names it'),
    });
  });

  test.each([
    [['nobody'], 2, 'add --base-url URL'],
    [['azure'], 2, 'every account at azure has its own base URL'],
    [['mine', '--base-url', 'http://localhost:4747/v1'], 2, 'is this gw itself'],
    [['mine', '--base-url', 'http://127.8.9.1:4747/v1'], 2, 'is this gw itself'],
    [['mine', '--base-url', 'http://[::ffff:127.0.0.1]:4747/v1'], 2, 'is this gw itself'],
    [['mine', '--base-url', 'http://0.0.0.0:4747/v1'], 2, 'is this gw itself'],
    [['mine', '--base-url', `http://${hostname()}:4747/v1`], 2, 'is this gw itself'],
    [['mine', '--base-url', 'ftp://x'], 2, '"ftp://x" is not an http(s) URL'],
    [['Mine', '--base-url', 'http://x'], 2, '"Mine" is not a valid provider name'],
    [['sandbox'], 2, 'the built-in provider'],
    [['openai', '--stdin'], 4, 'stdin is empty'],
    [['openai', '--key', 'sk-secret-4'], 2, 'this one was not stored'],
    [['openai', '--key-env', 'sk-secret-4'], 2, '--key-env takes the name of an environment variable'],
    [['openai', '--stdin', '--key-env', 'X'], 2, 'cannot be used with'],
  ])('%j exits with %i', async (args, code, message) => {
    const result = await cliHome().run(['providers', 'add', ...args], { env: { GW_PORT: '4747' } });
    expect(result.code).toBe(code);
    expect(result.stderr).toContain(message);
    expect(result.stderr).not.toContain('sk-secret');
  });
});

describe('gw providers test', () => {
  test('prints the result for each provider, and exits with 1 if one does not work', async () => {
    const good = await startUpstream({ models: modelList(['a', 'b']) });
    const bad = await startUpstream({ models: status(401) });
    onTestFinished(async () => void (await Promise.all([good.close(), bad.close()])));
    const cli = cliHome();
    await cli.run(['providers', 'add', 'good', '--base-url', good.url, '--stdin'], { stdin: KEY });
    await cli.run(['providers', 'add', 'bad', '--base-url', bad.url, '--stdin'], { stdin: KEY });
    expect((await cli.run(['providers', 'test', 'good'])).stdout).toMatch(
      /^ok {2}good: 2 models in \d+m?s\n {4}no request was sent, as gw is not running\. Run: gw start\n$/,
    );
    const { code, stdout } = await cli.run(['providers', 'test']);
    expect(code).toBe(1);
    expect(stdout).toContain('X   bad: it refused the stored key (HTTP 401). Run: gw providers add bad');
    expect(good.modelRequests[0] && headerOf(good.modelRequests[0].head, 'authorization')).toBe(
      `Bearer ${KEY}`,
    );
  });

  test('exits with 5 for an unknown provider', async () => {
    expect((await cliHome().run(['providers', 'test', 'nobody'])).code).toBe(5);
  });
});

describe('gw providers remove', () => {
  test('deletes the provider and its stored key', async () => {
    const cli = cliHome();
    await cli.run(['providers', 'add', 'openai', '--stdin'], { stdin: KEY });
    expect((await cli.run(['providers', 'remove', 'openai'])).code).toBe(0);
    expect(JSON.parse(readFileSync(cli.paths.credentials, 'utf8'))).toEqual({});
    expect((await cli.run(['providers', 'remove', 'openai'])).code).toBe(5);
  });
});
