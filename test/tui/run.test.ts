import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { isAlive } from '../../src/daemon-info.ts';
import { THEMES } from '../../src/terminal/themes.ts';
import { type CliHome, cliHome, stopAfterwards } from '../cli/cli-home.ts';
import { request } from '../support/client.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { hasTmux, openTerminal, type Terminal } from '../support/tmux.ts';
import { NOW, RUNNING, sampleData, sampleRequest } from './support/sample.ts';
import { styledText } from './support/styled-text.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/gw', import.meta.url));
const FAULTY = fileURLToPath(new URL('support/faulty.mjs', import.meta.url));
const SHOW_SAMPLE = fileURLToPath(new URL('support/show-sample.mjs', import.meta.url));
const BUILT = fileURLToPath(new URL('../../dist/tui/run.js', import.meta.url));
const LIMIT_MS = 60_000;
const SIZES = [
  [60, 20],
  [80, 24],
  [120, 36],
  [160, 45],
  [200, 50],
  [250, 70],
] as const;

/** Ends at a size at which nothing fits. */
const STORM = [
  ...Array.from({ length: 20 }, (_, i) => [(i * 37) % 200 || 1, (i * 11) % 60 || 1] as const),
  [10, 3] as const,
];

const isReady = hasTmux && existsSync(BUILT);
if (!isReady) console.warn('skipped: these tests need tmux, and the built program (npm run build)');

/** A shell in a real terminal where `gw` was just typed. */
async function gw(
  cli: CliHome,
  args: string,
  size: { columns?: number; rows?: number } = {},
): Promise<Terminal> {
  const terminal = await openTerminal({ ...size, env: cli.env });
  await terminal.type(`${process.execPath} ${PROGRAM} ${args}; echo code=$?`);
  await terminal.press('Enter');
  return terminal;
}

/** The screen with its colours, once it stays the same: it may be read while it is drawn. */
async function atRest(terminal: Terminal): Promise<string> {
  let screen = await terminal.colouredScreen();
  await expect
    .poll(async () => {
      const before = screen;
      screen = await terminal.colouredScreen();
      return screen === before;
    })
    .toBe(true);
  return screen;
}

/** A dashboard that is up, with its pid. */
async function withPid(): Promise<{ terminal: Terminal; pid: number }> {
  const cli = cliHome();
  const file = `${cli.env.GW_HOME}/pid`;
  const terminal = await openTerminal({ env: cli.env });
  await terminal.type(
    `sh -c 'echo $$ > ${file}; exec ${process.execPath} ${PROGRAM} dashboard'; echo code=$?`,
  );
  await terminal.press('Enter');
  await terminal.until(/BUDGETS/);
  return { terminal, pid: Number(readFileSync(file, 'utf8')) };
}

async function ended(terminal: Terminal, code: number): Promise<string> {
  const screen = await terminal.until(/code=\d+/);
  expect(screen).toContain(`code=${code}`);
  expect(await terminal.isWhole()).toBe(true);
  return screen;
}

describe.skipIf(!isReady)('gw dashboard in a terminal', { timeout: LIMIT_MS }, () => {
  test('shows traffic, a block, every size and the death of the daemon, and restores the terminal', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    await cli.exec(['start']);
    const { pid, port } = JSON.parse(readFileSync(cli.paths.daemonInfo, 'utf8')) as {
      pid: number;
      port: number;
    };
    const key = (await cli.exec(['keys', 'create'])).stdout.trim();
    const ask = () =>
      request(`http://127.0.0.1:${port}/v1/chat/completions`, {
        headers: { authorization: `Bearer ${key}` },
        body: { model: 'sandbox/echo', max_tokens: 50, messages: [{ role: 'user', content: 'hello' }] },
      });

    const terminal = await gw(cli, 'top');
    await terminal.until(/running localhost:\d+ .*live[\s\S]*No requests yet[\s\S]*eval "\$\(gw env\)"/);
    expect((await ask()).status).toBe(200);
    await terminal.until(/^ {3}\d\d:\d\d:\d\d \S*echo +200/m);

    await cli.exec(['budget', 'set', '0']);
    expect((await ask()).status).toBe(402);
    expect((await ask()).status).toBe(402);
    const blocked = await terminal.until(/x2 default\/daily full since/);
    expect(blocked).toMatch(/X default\/daily .* 100% .* BLOCK/);
    const lines = blocked.split('\n');
    expect(lines[0]).toMatch(/X REFUSED: default\/daily has no room \(x2\)/);
    expect(lines[1]).toMatch(/^─ BUDGETS ─.* forecast ─+$/);
    expect(lines[1]).toHaveLength(80);
    expect(lines[23]).toBe('');

    await terminal.resize(140, 40);
    await terminal.until(/REFUSED ─[\s\S]*TOP MODELS[\s\S]*\? help {2}q quit/);
    await terminal.resize(50, 12);
    await terminal.until(/^ gw {2}X REFUSED[\s\S]*X default\/daily/);
    await terminal.resize(30, 6);
    await terminal.until(/terminal too small/);
    for (const [columns, rows] of STORM) await terminal.resize(columns, rows);
    expect(await terminal.until(/^terminal …\n+$/)).not.toContain('REFUSED');
    await terminal.resize(80, 24);
    await terminal.until(/REQUESTS \(all\)/);

    process.kill(pid, 'SIGKILL');
    await terminal.until(
      /X STOPPED \(last seen \d\d:\d\d\) {2}run: \S*gw start[\s\S]*x2 default\/daily full/,
    );
    await cli.exec(['start']);
    await terminal.until(/X REFUSED.*live[\s\S]*x2 default\/daily full/);
    await terminal.press('q');
    const screen = await ended(terminal, 0);
    // A slow shell prints its prompt after the typed text.
    expect(screen).toMatch(/^.*gw top; echo code=\$\?/);
    expect(screen).not.toContain('BUDGETS');
  });

  test('looks as approved, with its colours, at six sizes and three depths', async () => {
    const file = join(tmpHome(), 'sample.json');
    const sample = { now: NOW, data: sampleData(), request: sampleRequest(), daemon: RUNNING };
    writeFileSync(file, JSON.stringify(sample));
    const looks = new Map<string, string[]>();
    for (const depth of ['16', '256', 'true']) {
      const terminal = await openTerminal({ columns: 60, rows: 20, env: cliHome().env });
      await terminal.type(`${process.execPath} ${SHOW_SAMPLE} ${file} ${depth}`);
      await terminal.press('Enter');
      for (const [columns, rows] of SIZES) {
        await terminal.resize(columns, rows);
        // Rules reach the right edge, and the keys stand in the last line but one.
        await terminal.until(new RegExp(`^.*\\n.{${columns}}\\n(.*\\n){${rows - 4}}.*\\? help {2}q quit`));
        const { screen, legend } = styledText(await atRest(terminal));
        const size = `${columns}x${rows}`;
        const [first = screen] = looks.get(size) ?? [];
        // Letters go by the order of appearance: each style differs from the others at every depth.
        expect(screen).toBe(first);
        looks.set(size, [...(looks.get(size) ?? [screen]), `\n${depth} colours:\n${legend}`]);
      }
    }
    for (const [size, parts] of looks)
      await expect(`${parts.join('\n')}\n`).toMatchFileSnapshot(`screens/${size}.txt`);
  });

  test('leads from a budget to the session that spent it, and to its request', async () => {
    const cli = cliHome();
    await cli.run(['budget', 'set', '5']);
    const timeMs = Date.now();
    await cli.record(
      { timeMs, costNanoUsd: 2e9, model: 'gpt-4.1', agent: 'codex', session: 'thread-1' },
      { timeMs, costNanoUsd: 1e9, model: 'o4-mini' },
    );
    const terminal = await gw(cli, 'dashboard');
    await terminal.until(/o4-mini/);
    await terminal.press('1');
    await terminal.press('d');
    await terminal.until(/SESSIONS of default\/daily[\s\S]*>\$2\.00 .*thread-1[\s\S]*without a session/);
    await terminal.press('Enter');
    await terminal.until(/REQUESTS of session thread-1[\s\S]*>.*\$2\.00.*gpt-4\.1/);
    await terminal.press('Enter');
    await terminal.until(/ REQUEST [\s\S]*gpt-4\.1/);
    await terminal.press('q');
    await ended(terminal, 0);
  });

  test('takes clicks and the wheel, as the terminal reports them', async () => {
    const cli = cliHome();
    await cli.run(['budget', 'set', '5']);
    await cli.run(['budget', 'set', '50', '--period', 'monthly']);
    const timeMs = Date.now();
    await cli.record(
      ...Array.from({ length: 9 }, (_, i) => ({ timeMs: timeMs - i * 1_000, model: `model-${i}` })),
    );
    const terminal = await gw(cli, 'dashboard');
    const screen = await terminal.until(/model-8/);
    const rowOf = (text: string) => screen.split('\n').findIndex((line) => line.includes(text)) + 1;
    const report = (button: number, row: number) =>
      terminal.type(`\u001b[<${button};9;${row}M\u001b[<${button};9;${row}m`);
    await report(0, rowOf('model-3'));
    await terminal.until(/^> .*model-3 /m);
    await report(65, rowOf('model-3'));
    await terminal.until(/^> .*model-6 /m);
    await report(0, rowOf('model-6'));
    await terminal.until(/REQUEST ─[\s\S]*route .*model-6$/m);
    await terminal.press('Escape');
    await terminal.until(/REQUESTS \(all\) ─+ held: esc to follow$/m);
    await terminal.press('Escape');
    await terminal.until(/REQUESTS \(all\) ─+$/m);
    await report(0, rowOf('default/monthly'));
    await terminal.until(/^> +default\/monthly/m);
    await terminal.press('q');
    await ended(terminal, 0);
  });

  test.each([
    ['#ffffff', 'light'],
    ['#101010', 'dark'],
  ] as const)('asks the terminal for its background: %s is %s', async (colour, background) => {
    const cli = cliHome();
    await cli.run(['config', 'set', 'dashboard.theme', 'ember']);
    await cli.run(['budget', 'set', '5']);
    const terminal = await openTerminal({ env: { ...cli.env, COLORTERM: 'truecolor' } });
    await terminal.setBackground(colour);
    await terminal.type(`${process.execPath} ${PROGRAM} top; echo code=$?`);
    await terminal.press('Enter');
    await terminal.until(/q quit/);
    const accent = THEMES.ember.bad[background];
    const channels = [1, 3, 5].map((at) => Number.parseInt(accent.slice(at, at + 2), 16)).join(';');
    // The daemon is stopped, which the header says in the theme's colour.
    await expect.poll(() => terminal.colouredScreen()).toContain(`38;2;${channels}m`);
    await terminal.press('q');
    expect(await ended(terminal, 0)).not.toMatch(/rgb:|\[\?\d/);
  });

  test('obeys every key, without a daemon', async () => {
    const cli = cliHome();
    await cli.run(['projects', 'add', 'web']);
    await cli.run(['budget', 'set', '5']);
    await cli.record(
      { timeMs: Date.now() - 1_000, model: 'gpt-4.1' },
      { timeMs: Date.now(), model: 'o4-mini' },
    );
    const terminal = await gw(cli, 'dashboard');
    await terminal.until(/X STOPPED[\s\S]*o4-mini/);
    await terminal.press('?');
    await terminal.until(/raise the selected budget/);
    await terminal.press('?', 'w');
    await terminal.until(/THIS MONTH/);
    await terminal.press('w');
    await terminal.until(/THIS HOUR/);
    await terminal.press('p');
    await terminal.until(/PAUSED/);
    await terminal.press('p', 'f');
    await terminal.until(/REQUESTS \(blocked\)[\s\S]*none of the last/);
    await terminal.press('Escape');
    await terminal.until(/REQUESTS \(all\)/);
    await terminal.press('/');
    await terminal.type('GPT');
    await terminal.press('Enter');
    await terminal.until(/REQUESTS \(all "GPT"\)/);
    await terminal.press('Escape');
    await terminal.until(/REQUESTS \(all\)/);
    await terminal.press('Down', 'j');
    await terminal.until(/held: esc to follow[\s\S]*^> .*gpt-4\.1 /m);
    await terminal.press('c');
    await terminal.until(/copied req_/);
    await terminal.press('Enter');
    await terminal.until(/REQUEST ─[\s\S]*route +gpt-4\.1/);
    await terminal.press('Escape');
    await terminal.until(/held: esc to follow/);
    await terminal.press('Escape');
    await terminal.until(/REQUESTS \(all\) ─+$/m);

    await terminal.press('1', 'b');
    await terminal.until(/New cap for default\/daily: \$10_/);
    await terminal.press('Enter');
    await terminal.until(/Raise default\/daily from \$5\.00 to \$10\.00\?/);
    await terminal.press('y');
    await terminal.until(/Raised budget default\/daily to \$10\.00/);
    await terminal.press('Enter');
    await terminal.until(/\$0\.00\/\$10\.00/);
    await terminal.press('n');
    await terminal.until(/for which project\?[\s\S]*> default[\s\S]* web/);
    await terminal.press('j', 'Enter');
    await terminal.until(/Create a key for project web\?/);
    await terminal.press('y');
    await terminal.until(/sk-gw-\S{43}/);
    await terminal.press('Enter', 's', 'j', 'Enter', 'y');
    await terminal.until(/Paused project web/);
    await terminal.press('Enter');
    await terminal.until(/paused: web/);
    await terminal.press('x', 'y');
    await terminal.until(/Revoked key 1\./);
    await terminal.press('Enter', 'r');
    await terminal.until(/no webhooks yet/);
    await terminal.press('C-c');
    await ended(terminal, 130);
    const keys = await cli.json<{ id: number; revoked_at: string | null }[]>(['keys', 'list', '--all']);
    expect(keys).toMatchObject([{ id: 1, revoked_at: expect.any(String) }]);
  });

  test('leaves a broken terminal on SIGKILL, which gw doctor --fix repairs', async () => {
    const { terminal, pid } = await withPid();
    process.kill(pid, 'SIGKILL');
    await terminal.until(/code=137/);
    expect(await terminal.isWhole()).toBe(false);
    await terminal.type(`${process.execPath} ${PROGRAM} doctor --fix; echo done=$?`);
    // The terminal may be in raw mode, where C-j ends a line.
    await terminal.press('C-j');
    await terminal.until(/done=\d/);
    expect(await terminal.isWhole()).toBe(true);
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
    ['SIGINT', 130],
  ] as const)('restores the terminal on %s', async (name, code) => {
    const { terminal, pid } = await withPid();
    process.kill(pid, name);
    await ended(terminal, code);
  });

  test('exits when its terminal closes', async () => {
    const { terminal, pid } = await withPid();
    await terminal.close();
    await expect.poll(() => isAlive(pid), { timeout: 5_000 }).toBe(false);
  });

  test.each(['component', 'timer', 'rejection'])(
    'restores the terminal after a fault in a %s',
    async (place) => {
      const terminal = await openTerminal({ env: { PATH: process.env.PATH ?? '' } });
      await terminal.type(`${process.execPath} ${FAULTY} ${place}; echo code=$?`);
      await terminal.press('Enter');
      const screen = await ended(terminal, 1);
      expect(screen).toContain(`a fault in a ${place}`);
    },
  );

  test('prints one frame if the output is not a terminal, and with --once', async () => {
    const cli = cliHome();
    await cli.record({ timeMs: Date.now() });
    const { code, stdout } = await cli.exec(['dashboard']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/X STOPPED[\s\S]*BUDGETS[\s\S]*gpt-4\.1-mini/);
    expect(stdout).not.toContain('\u001b');
    const terminal = await gw(cli, 'dashboard --once');
    expect(await ended(terminal, 0)).toContain('q quit');
  });
});
