import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cliHome } from '../cli/cli-home.ts';
import { answer } from '../support/chat-scripts.ts';
import { MODEL } from '../support/gateway.ts';
import { type HomeOptions, prepareHome } from '../support/home.ts';
import { reset } from '../support/scripts.ts';
import { spawnDaemon } from '../support/spawned.ts';
import { hasTmux, openTerminal, type Terminal } from '../support/tmux.ts';
import { startUpstream } from '../support/upstream.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/gw', import.meta.url));
const isReady = hasTmux && existsSync(fileURLToPath(new URL('../../dist/tui/run.js', import.meta.url)));
const SIZE = { columns: 120, rows: 36 };
/** $0.023 for a request of 21 tokens that is answered with one. */
const PRICE = { input: 1_000, output: 2_000 };
const MODELS = [MODEL, 'spare/test-model'] as const;
/** Pressed in turn: each view is left again. */
const KEYS = ['j', 'o', 'm', 'z', 'z', '?', '?', '/', 'Escape', 'w', 'w', 'w'];

/** `gw top` in a terminal, over a daemon of its own with a project's and its neighbour's keys, and two providers. */
async function watched(options: Omit<HomeOptions, 'upstreamUrl'> = {}) {
  const upstreams = [await startUpstream(), await startUpstream()] as const;
  for (const upstream of upstreams) {
    onTestFinished(() => upstream.close());
    upstream.script(answer('Hello'));
  }
  const cli = cliHome({ timezone: 'UTC' });
  const home = await prepareHome(cli.paths.home, {
    ...options,
    upstreamUrl: upstreams[0].url,
    price: PRICE,
    settings: { providers: { spare: { baseUrl: upstreams[1].url } } },
    credentials: { mock: 'provider-key', spare: 'provider-key' },
  });
  await home.setPrice({ provider: 'spare', model: 'test-model', inputPicoUsd: 1e9, outputPicoUsd: 2e9 });
  const keys = [home.key, await home.newKey('neighbour')];
  const daemon = await spawnDaemon(cli.paths.home);
  const send = async (model = MODEL, key = keys[0]) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ model, max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }] });
    const found = await fetch(`${daemon.url}/chat/completions`, { method: 'POST', headers, body });
    await found.arrayBuffer();
    return found.status;
  };
  const terminal = await openTerminal({ ...SIZE, env: { ...cli.env, GW_PORT: String(daemon.port) } });
  await terminal.type(`${process.execPath} ${PROGRAM} top; echo code=$?`);
  await terminal.press('Enter');
  await terminal.until(/running localhost:\d+ .*live/);
  return { cli, home, keys, send, terminal, upstream: upstreams[0] };
}

async function quit(terminal: Terminal): Promise<void> {
  await terminal.press('q');
  expect(await terminal.until(/code=\d+/)).toContain('code=0');
  expect(await terminal.isWhole()).toBe(true);
}

describe.skipIf(!isReady)('gw top', () => {
  test('says which provider is down and until when it is kept from, and forgets it once it answers again', async () => {
    const { send, terminal, upstream } = await watched();
    expect([await send(), await send('spare/test-model')]).toEqual([200, 200]);
    await terminal.until(/PROVIDERS \(last hour\)[\s\S]* {3}mock +ok .*1$[\s\S]* {3}spare +ok .*1$/m);
    upstream.script(reset());
    // The breaker opens at the fifth, and each one that fails then doubles its 2.5 to 5 s: to more than half a minute.
    for (let i = 0; i < 9; i++) expect(await send()).toBe(502);
    const down = await terminal.until(/! mock +off until \d\d:\d\d/);
    expect(down.split('\n')[0]).toMatch(/! mock: circuit breaker open until \d\d:\d\d:\d\d.*live/);
    expect(down).toMatch(/^ +spare +ok /m);
    upstream.script(answer('Hello'));
    // Nothing else serves the model, so that it is tried at once: two successes close the breaker.
    expect([await send(), await send()]).toEqual([200, 200]);
    const back = await terminal.until(/req 13 [\s\S]*! mock +75% failed/);
    expect(back.split('\n')[0]).toMatch(/! mock: 75% of 12 calls failed, last failure \d\d:\d\d: /);
    expect(back).not.toContain('off until');
    await quit(terminal);
  });

  const REQUESTS = process.env.GW_LONG ? 18_000 : 900;

  test(`shows ${REQUESTS} requests of 24 clients as they come, through resizes and keys, and ends at the right sums`, {
    timeout: REQUESTS * 100,
  }, async () => {
    const { cli, keys, send, terminal } = await watched({ budget: { period: 'daily', capUsd: 1_000 } });
    const sent: [number, number] = [0, 0];
    let isOver = false;
    const client = async (at: 0 | 1) => {
      while (sent[0] + sent[1] < REQUESTS) {
        sent[at]++;
        expect(await send(MODELS[at], keys[at])).toBe(200);
      }
    };
    const load = Promise.all(Array.from({ length: 24 }, (_, i) => client(i % 2 === 0 ? 0 : 1))).finally(
      () => {
        isOver = true;
      },
    );
    const seen: number[] = [];
    let pressed = 0;
    while (!isOver) {
      await terminal.resize(120 + (pressed % 3) * 40, 36 + (pressed % 4) * 3);
      await terminal.press(KEYS[pressed++ % KEYS.length] ?? '');
      const screen = await terminal.screen();
      // The rest of a control sequence, or of a character that was cut.
      expect(screen).not.toMatch(/\ufffd|\[[?\d;]+[a-zA-Z]/);
      const [, requests] = /TODAY[\s\S]*? req ([\d,]+) /.exec(screen) ?? [];
      if (requests !== undefined) seen.push(Number(requests.replace(',', '')));
    }
    await load;
    await terminal.press(...KEYS.slice(pressed % KEYS.length), 'Escape', 'Escape');
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(new Set(seen).size).toBeGreaterThan(2);
    await terminal.resize(200, 50);
    const usd = (requests: number) => (Math.round((requests * 23) / 10) / 100).toFixed(2);
    await terminal.until(
      new RegExp(`spend \\$${usd(REQUESTS)} +req ${REQUESTS.toLocaleString('en')} +err 0 +blocked 0`),
    );
    expect(await terminal.screen()).toContain(` $${usd(sent[0])}/$1,000.00`);
    const { total } = JSON.parse((await cli.exec(['usage', '--json'])).stdout);
    expect(total).toMatchObject({ requests: REQUESTS, cost_nano_usd: REQUESTS * 23_000_000 });
    await quit(terminal);
  });
});
