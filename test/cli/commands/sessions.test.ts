import { describe, expect, test } from 'vitest';
import { NO_USAGE } from '../../../src/usage.ts';
import { cliHome } from '../cli-home.ts';

const NOON = Date.UTC(2026, 0, 1, 12);
const HOUR_MS = 3_600_000;

async function homeWithSessions() {
  const cli = cliHome();
  await cli.run(['projects', 'list']);
  const usage = { ...NO_USAGE, inputTokens: 1_000, outputTokens: 50, cachedInputTokens: 400 };
  const codex = { agent: 'codex', agentVersion: '0.1.0', session: 'thread-1' };
  await cli.record(
    { timeMs: NOON - 3 * HOUR_MS, usage, costNanoUsd: 2e9, agent: 'claude', session: 'chat-1' },
    { timeMs: NOON - HOUR_MS, usage, costNanoUsd: 1e9, ...codex },
    { timeMs: NOON, usage, costNanoUsd: 5e8, ...codex },
    { timeMs: NOON, outcome: 'blocked', status: 402, ...codex },
    { timeMs: NOON, usage, costNanoUsd: 7e9 },
  );
  return cli;
}

describe('gw sessions', () => {
  test('lists sessions, the last active first, with requests that are not archived yet', async () => {
    const cli = await homeWithSessions();
    expect(await cli.json(['sessions'])).toMatchObject([
      {
        object: 'session',
        id: 'thread-1',
        agent: 'codex',
        agent_version: '0.1.0',
        project_id: 'default',
        repo: null,
        first_at: '2026-01-01T11:00:00.000Z',
        last_at: '2026-01-01T12:00:00.000Z',
        requests: 3,
        blocked_requests: 1,
        input_tokens: 2_000,
        cached_input_tokens: 800,
        output_tokens: 100,
        cost_usd: 1.5,
      },
      { id: 'chat-1', agent: 'claude', agent_version: null, requests: 1, cost_usd: 2 },
    ]);
    expect((await cli.run(['sessions'])).stdout).toMatch(/^thread-1 +codex .*3 +1 +2,000>100 +\$1\.50/m);
  });

  test('shows one with its requests, and filters by agent and time', async () => {
    const cli = await homeWithSessions();
    const { stdout } = await cli.run(['sessions', 'thread-1']);
    expect(stdout.match(/req_/g)).toHaveLength(3);
    const ids = async (...args: string[]) =>
      (await cli.json<{ id: string }[]>(['sessions', ...args])).map(({ id }) => id);
    expect(await ids('chat-1')).toEqual(['chat-1']);
    expect(await ids('--agent', 'claude')).toEqual(['chat-1']);
    expect(await ids('--since', '2h')).toEqual(['thread-1']);
    expect(await ids('-n', '1')).toEqual(['thread-1']);
  });

  test('says so where there are none', async () => {
    const cli = await homeWithSessions();
    expect(await cli.run(['sessions', 'thread-9'])).toMatchObject({
      code: 5,
      stderr: 'gw: no session "thread-9". See: gw sessions\n',
    });
    const none = await cli.run(['sessions', '--agent', 'pi']);
    expect(none).toMatchObject({ code: 0, stdout: '' });
    expect(none.stderr).toContain('No sessions');
    expect((await cli.run(['sessions', '--since', 'soon'])).code).toBe(2);
  });
});
