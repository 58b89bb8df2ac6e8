import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Context } from '../src/cli/context.ts';
import { runCli } from '../src/cli/run-cli.ts';
import { systemClock } from '../src/clock.ts';
import { VERSION } from '../src/version.ts';
import { signatureHeaders } from '../src/webhooks/sign.ts';
import { request } from './support/client.ts';
import { DOCUMENTS, readDocument, type ShownCommand, shownCommands } from './support/console-blocks.ts';
import { freePort } from './support/free-port.ts';
import { startGateway, type TestGateway, until } from './support/gateway.ts';
import { tmpHome } from './support/tmp-home.ts';

interface Result {
  code: number;
  text: string;
}

let gateway: TestGateway;
const undo: (() => Promise<void>)[] = [];
beforeAll(async () => {
  gateway = await startGateway({ whenDone: (each) => undo.unshift(each), mayLog: /./ });
});
afterAll(async () => {
  for (const each of undo) await each();
});

/** A reader's shell: gw runs in this process, everything else in a shell. */
function newShell() {
  gateway.configure({});
  const directory = tmpHome();
  for (const folder of ['shop/.git', 'bin']) mkdirSync(join(directory, folder), { recursive: true });
  writeFileSync(
    join(directory, 'request.json'),
    '{"model":"sandbox/echo","messages":[{"role":"user","content":"Hi"}]}',
  );
  const env: Record<string, string> = {
    GW_HOME: gateway.paths.home,
    GW_PORT: String(gateway.daemon.port),
    HOME: directory,
    PATH: process.env.PATH ?? '',
    LANG: 'C.UTF-8',
  };

  async function gw(args: string[], stdin = ''): Promise<Result & { stdout: string }> {
    const input = Object.assign(new PassThrough(), { isTTY: false });
    const texts = { out: '', err: '' };
    const output = (name: 'out' | 'err') => {
      const stream = Object.assign(new PassThrough(), { isTTY: false, columns: 80 });
      stream.setEncoding('utf8').on('data', (text: string) => {
        texts[name] += text;
      });
      return stream;
    };
    const [stdout, stderr] = [output('out'), output('err')];
    const context: Context = {
      ...{ stdin: input, stdout, stderr, env: { ...env }, clock: systemClock, paths: gateway.paths },
      ...{ program: join(directory, 'bin/gw'), gw: 'gw', version: VERSION },
    };
    input.end(stdin);
    const code = await runCli(args, context);
    texts.out += stdout.read() ?? '';
    texts.err += stderr.read() ?? '';
    return { code, text: texts.out + texts.err, stdout: texts.out };
  }

  const sh = (command: string) =>
    new Promise<Result>((resolve) => {
      execFile('sh', ['-c', command], { env, cwd: directory }, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), text: stdout + stderr }),
      );
    });

  /** Runs one command as a shell would, as far as documents need one. */
  async function run(command: string): Promise<Result> {
    const exports = /^eval "\$\((gw env.*)\)"$/.exec(command)?.[1];
    if (exports !== undefined) {
      const printed = await gw(words(exports).slice(1));
      for (const [, name = '', value = ''] of printed.stdout.matchAll(/^export (\w+)='?(.*?)'?$/gm))
        env[name] = value;
      return printed;
    }
    const [, name, value] = /^export (\w+)=(\S*)$/.exec(command) ?? [];
    if (name !== undefined) {
      env[name] = value ?? '';
      return { code: 0, text: '' };
    }
    const [, before, piped] = /^(.*?) \| (gw .*)$/.exec(command) ?? [];
    if (piped !== undefined) return gw(absolute(words(piped).slice(1)), (await sh(before ?? '')).text);
    if (command.startsWith('gw ')) return gw(absolute(words(command).slice(1)));
    const result = await sh(command);
    // A reader typing the next command is slower than the record's commit.
    await gateway.committed();
    return result;
  }

  /** Files are those of the reader's directory. */
  const absolute = (args: string[]) =>
    args.map((arg, i) => {
      const isFile = existsSync(join(directory, arg)) && !['bin'].includes(arg);
      return isFile || ['backup', 'restore', '--csv'].includes(args[i - 1] ?? '')
        ? join(directory, arg)
        : arg;
    });
  return { run, sh, gw };
}

/** The words of a simple command, without their quotes. */
function words(command: string): string[] {
  return [...command.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, (_, single?: string, double?: string) => single ?? double ?? ''),
  );
}

/** Whether an output has a line like one that a document shows: any digits, ids, bars and blanks, `...` for anything. */
function hasLine(output: string, shown: string): boolean {
  const parts = shown.split(/\.\.\.+/).map((part) =>
    part
      .trim()
      .split(/\s+/)
      .map((word) =>
        word
          .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
          .replace(/\b(req|evt|wh|dlv)_\w+/g, '\\w+')
          .replace(/\d+/g, '\\d+')
          .replace(/[█▏▎▍▌▋▊▉░]+/g, '\\S*')
          .replace(/─+/g, '─+'),
      )
      .join('\\s+'),
  );
  return new RegExp(parts.join('[\\s\\S]*?')).test(output.replaceAll('\n', ' \n'));
}

const commandsOf = new Map(DOCUMENTS.map((file) => [file, shownCommands(readDocument(file))]));
const runsOf = (file: string) => (commandsOf.get(file) ?? []).filter(({ notRun }) => notRun === undefined);

test('most commands of the documents are run', () => {
  // Those of a team need its PostgreSQL, those of a cloud an account there.
  const all = [...commandsOf]
    .flatMap(([file, commands]) => (file.endsWith('clouds.md') ? [] : commands))
    .filter(({ command }) => /\bgw (?!team |.* --team)/.test(command));
  expect(all.length).toBeGreaterThan(100);
  expect(all.filter(({ notRun }) => notRun === undefined).length).toBeGreaterThan(0.6 * all.length);
});

describe.each(DOCUMENTS.filter((file) => runsOf(file).length > 0))('%s', (file) => {
  test('shows commands that work, and what they print', { timeout: 60_000 }, async ({ skip }) => {
    const needsCurl = runsOf(file).some(({ command }) => command.startsWith('curl '));
    if (needsCurl && spawnSync('curl', ['--version']).error) skip('curl is not installed');
    const shell = newShell();
    await shell.gw(['projects', 'resume', '--all']);
    for (const { id } of JSON.parse((await shell.gw(['budget', 'list', '--json'])).stdout) as {
      id: string;
    }[])
      await shell.gw(['budget', 'remove', id]);
    const wrong: object[] = [];
    for (const shown of runsOf(file)) wrong.push(...(await check(shown, shell.run)));
    expect(wrong).toEqual([]);
  });
});

async function check(
  { command, output, exitCode, line }: ShownCommand,
  run: (command: string) => Promise<Result>,
): Promise<object[]> {
  const { code, text } = await run(command);
  const missing = output.filter((each) => !hasLine(text, each));
  return (exitCode ?? code) === code && missing.length === 0 ? [] : [{ line, command, code, missing, text }];
}

describe('a receiver of docs/webhooks.md', { timeout: 120_000 }, () => {
  test.for([
    ['js', 'receiver.mjs', ['node', '--']],
    ['python', 'receiver.py', ['python3']],
    ['go', 'receiver.go', ['go', 'run']],
  ] as const)('in %s takes what gw signed, and nothing else', async ([language, name, argv], { skip }) => {
    const [command, ...args] = argv;
    // Compiling Go's standard library takes half a minute.
    if (language === 'go' && !process.env.GW_LONG) skip('only in npm run test:long');
    if (spawnSync(command, ['version']).error) skip(`${command} is not installed`);
    const blocks = new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(readDocument('docs/webhooks.md'));
    const file = join(tmpHome(), name);
    writeFileSync(file, blocks?.[1] ?? '');
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/`;
    const { gw } = newShell();
    const { id, secret } = JSON.parse((await gw(['webhooks', 'add', url, '--json'])).stdout) as Record<
      string,
      string
    >;
    const env = { ...process.env, PORT: String(port), GW_WEBHOOK_SECRET: secret };
    const receiver = spawn(command, [...args, file], {
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void (receiver.pid && process.kill(-receiver.pid, 'SIGKILL')));
    const post = (headers: Record<string, string>) =>
      request(url, { body: { type: 'budget.reset' }, headers });
    await until(async () => (await post({}).catch(() => undefined))?.status === 400, 110_000);
    const said = once(receiver.stdout, 'data');
    expect(await gw(['webhooks', 'test', id ?? ''])).toMatchObject({ code: 0 });
    expect(String((await said)[0])).toMatch(/^budget\.\w+/);
    const now = Math.floor(Date.now() / 1_000);
    for (const [timestamp, key] of [
      [now, 'whsec_b3RoZXI='],
      [now - 600, secret],
    ] as const) {
      const body = Buffer.from('{"type":"budget.reset"}');
      const headers = signatureHeaders({ id: 'evt_1', timestamp, body, secrets: [key ?? ''] });
      expect((await post(headers)).status).toBe(400);
    }
  });
});
