import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { TestGateway } from '../../support/gateway.ts';
import { tmpHome } from '../../support/tmp-home.ts';
import { startBothWires } from '../support/anthropic-gateway.ts';
import { either } from '../support/event-scripts.ts';
import { messageBody, messageStream, text } from '../support/messages-shapes.ts';
import { provider } from '../support/provider-script.ts';

/** Where the programs are looked for: `GW_CLIENTS`, and the packages that are installed. */
const PLACES = [
  ...(process.env.GW_CLIENTS ?? '').split(delimiter),
  join(import.meta.dirname, '../../../node_modules/.bin'),
];

function find(name: string): string | undefined {
  const path = PLACES.filter((place) => place !== '')
    .map((place) => join(place, name))
    .find((each) => existsSync(each));
  if (!path)
    console.warn(`${name} is not installed; its tests are skipped. GW_CLIENTS names a directory that has it`);
  return path;
}

/** All that a program prints, once it has ended. */
function run(program: string | undefined, args: string[], env: Record<string, string>): Promise<string> {
  if (!program) throw new Error('it is not installed');
  const home = tmpHome();
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: home,
      env: { PATH: process.env.PATH, HOME: home, TERM: 'dumb', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 60_000,
    });
    const parts: Buffer[] = [];
    child.stdout.on('data', (part: Buffer) => parts.push(part));
    child.stderr.on('data', (part: Buffer) => parts.push(part));
    child.on('error', reject);
    child.on('close', () => resolve(Buffer.concat(parts).toString()));
  });
}

const LONG = { timeout: 120_000 };
const NO_ROOM = { budget: { capUsd: 0, period: 'daily' } } as const;

describe.skipIf(!find('claude'))('Claude Code', LONG, () => {
  const say = (gateway: TestGateway, model: string) =>
    run(find('claude'), ['-p', 'Say hello', '--model', model], {
      ANTHROPIC_BASE_URL: gateway.origin,
      ANTHROPIC_AUTH_TOKEN: gateway.key,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    });

  test("talks to one of Anthropic's models", async () => {
    const gateway = await startBothWires();
    gateway.upstream.script(either(messageBody([text('Hello')]), messageStream([text('Hello')])));
    expect(await say(gateway, 'claude-opus-4-6')).toContain('Hello');
    expect((await gateway.records()).at(-1)).toMatchObject({
      endpoint: 'messages',
      outcome: 'ok',
      outputTokens: 5,
    });
    expect(gateway.upstream.requests.at(-1)?.path).toBe('/v1/messages?beta=true');
  });

  test("talks to a model of OpenAI's wire, with all of its tools", async () => {
    const gateway = await startBothWires();
    expect(await say(gateway, 'mock/test-model')).toContain('Hello from the upstream');
    expect((await gateway.records()).at(-1)).toMatchObject({
      endpoint: 'messages',
      provider: 'mock',
      outcome: 'ok',
    });
    const sent = JSON.parse(gateway.upstream.requests.at(-1)?.body.toString() ?? '{}');
    expect(sent.tools.length).toBeGreaterThan(5);
  });

  test('asks once where the budget is used up, and shows what to do', async () => {
    const gateway = await startBothWires(NO_ROOM);
    expect(await say(gateway, 'claude-opus-4-6')).toContain('gw budget set');
    expect(await gateway.records()).toHaveLength(1);
  });
});

describe.skipIf(!find('codex'))('Codex', LONG, () => {
  const say = (gateway: TestGateway) => {
    const service = `model_providers.gw={name="gw",base_url="${gateway.url}",env_key="OPENAI_API_KEY",wire_api="responses"}`;
    const settings = ['-c', 'model_provider="gw"', '-c', service, '-m', 'mock/test-model'];
    return run(find('codex'), ['exec', '--skip-git-repo-check', ...settings, 'Say hello'], {
      OPENAI_API_KEY: gateway.key,
    });
  };

  test('talks over responses, tool calls and all', async () => {
    const gateway = await startBothWires();
    gateway.upstream.script(provider);
    expect(await say(gateway)).toContain('Hello you');
    expect(await gateway.records()).toMatchObject([
      { endpoint: 'responses', outcome: 'ok' },
      { outcome: 'ok' },
    ]);
  });

  test('asks once where the budget is used up, and shows what to do', async () => {
    const gateway = await startBothWires(NO_ROOM);
    expect(await say(gateway)).toContain('gw budget set');
    expect(await gateway.records()).toHaveLength(1);
  });
});
