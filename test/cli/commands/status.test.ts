import { describe, expect, test, vi } from 'vitest';
import { NO_USAGE } from '../../../src/usage.ts';
import { completion } from '../../support/chat-scripts.ts';
import { status } from '../../support/scripts.ts';
import { MANY, severalTargets } from '../../support/several-targets.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { cliHome, commandLineOf } from '../cli-home.ts';

interface Health extends Record<string, unknown> {
  provider: string;
}

describe('gw status', () => {
  test.each(['locally', 'remotely'] as const)(
    'shows %s whose 401 it was, what failed, and where the requests went on',
    async (how) => {
      const { gateway, upstreams } = await severalTargets({ count: 2 });
      const [a, b] = upstreams;
      a?.queue(completion());
      await gateway.post(MANY);
      a?.queue(status(401));
      b?.queue(completion());
      expect((await gateway.post(MANY)).status).toBe(200);
      await gateway.settled(2);
      const cli = commandLineOf(gateway, how, createVirtualClock(Date.now()));
      const read = async () => {
        const current = await cli.json<{ provider_health: Health[] }>(['status']);
        return current.provider_health.filter(({ provider }) => provider === 'a' || provider === 'b');
      };
      // The router saves its blocks a moment after the answer.
      await vi.waitFor(async () => expect((await read())[0]?.blocks).toHaveLength(1), {
        timeout: 60_000,
      });
      const health = await read();
      expect(health).toMatchObject([
        {
          provider: 'a',
          source: 'config',
          attempts: 2,
          failed_attempts: 1,
          error_share: 0.5,
          last_failure_status: 401,
          failovers: [{ to: 'b', requests: 1 }],
          blocks: [{ because: 'auth' }],
        },
        { provider: 'b', attempts: 1, failed_attempts: 0, error_share: 0, blocks: [], last_failure_at: null },
      ]);
      expect(health[0]?.last_success_at).toMatch(/^20/);
      const { stdout } = await cli.run(['status'], { columns: 400 });
      expect(stdout).toMatch(
        /! a: its key was refused until .*, 50% of 2 calls failed, a refused gw's key for it \(HTTP 401\)/,
      );
      expect(stdout).toContain('1 went on to b');
      expect(stdout).toContain('; 1 more: gw doctor\n');
      expect(stdout.trimEnd().split('\n').length).toBeLessThanOrEqual(8);
    },
  );

  test('says which providers were found in the environment', async () => {
    const { gateway } = await severalTargets({ count: 1 });
    const cli = commandLineOf(gateway, 'locally', createVirtualClock(Date.now()));
    const { stdout } = await cli.run(['status'], { env: { GROQ_API_KEY: 'gsk-0' }, columns: 200 });
    expect(stdout).toContain('groq (from the environment)');
  });

  test('says what compression saved in the last 7 days, and how many requests it left as they were', async () => {
    const cli = cliHome({ timezone: 'UTC' });
    const at = (days: number) => cli.clock.now() - days * 86_400_000;
    const usage = { ...NO_USAGE, inputTokens: 1_000 };
    const saved = { usage, savedTokens: 1_200, savedNanoUsd: 30_000_000 };
    await cli.record(
      { timeMs: at(3), ...saved },
      { timeMs: at(6), ...saved },
      { timeMs: at(8), ...saved },
      { timeMs: at(1), usage },
      { timeMs: at(1), usage, outcome: 'blocked' },
    );
    expect((await cli.run(['status'], { columns: 200 })).stdout).toContain(
      'this week saved 2,400 tokens, $0.06, 1 request left as it was',
    );
    const { optimizer_week } = JSON.parse((await cli.run(['status', '--json'])).stdout);
    expect(optimizer_week).toEqual({
      saved_tokens: 2_400,
      saved_usd: 0.06,
      saved_nano_usd: 60_000_000,
      left_requests: 1,
    });
  });
});
