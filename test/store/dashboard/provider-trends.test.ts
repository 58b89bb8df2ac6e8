import { expect, test } from 'vitest';
import { createProject } from '../../../src/store/accounts/projects.ts';
import { createProviderTrendsReader } from '../../../src/store/dashboard/provider-trends.ts';
import { NO_USAGE } from '../../../src/usage.ts';
import { cliHome } from '../../cli/cli-home.ts';

test('a provider has its speed and its cache in twelfths of the last hour, without failures', async () => {
  const cli = cliHome({ timezone: 'UTC' });
  const now = cli.clock.now();
  const db = await cli.open();
  await createProject(db, { name: 'web', now });
  const at = (minutesAgo: number, fields: object) => ({
    ...{ timeMs: now - minutesAgo * 60_000 + 1, provider: 'openai', projectId: 1 + (minutesAgo % 2) },
    ...fields,
  });
  const usage = (inputTokens: number, cachedInputTokens: number, outputTokens: number) => ({
    usage: { ...NO_USAGE, inputTokens, cachedInputTokens, outputTokens },
  });
  await cli.record(
    at(59, { durationMs: 2_000, firstByteMs: 300, ...usage(1_000, 500, 100) }),
    at(58, { durationMs: 2_000, firstByteMs: 500, ...usage(1_000, 1_000, 100) }),
    at(1, { durationMs: 500, firstByteMs: 100, ...usage(0, 0, 50) }),
    at(1, { durationMs: 9_000, firstByteMs: 9_000, status: 502, outcome: 'upstream_error' }),
    at(70, { durationMs: 500, firstByteMs: 100, ...usage(10, 0, 50) }),
    at(3, { provider: 'anthropic', durationMs: 1_000, firstByteMs: null, ...usage(10, 10, 7) }),
  );
  const none = Array.from({ length: 10 }, () => null);
  expect(createProviderTrendsReader(db)(now)).toEqual([
    {
      provider: 'anthropic',
      ...{
        firstByteMs: [null, ...none, null],
        tokensPerSecond: [null, ...none, 7],
        cachedShare: [null, ...none, 1],
      },
    },
    {
      provider: 'openai',
      firstByteMs: [400, ...none, 100],
      tokensPerSecond: [50, ...none, 100],
      cachedShare: [0.75, ...none, null],
    },
  ]);
});
