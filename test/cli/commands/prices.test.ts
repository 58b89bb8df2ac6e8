import { describe, expect, test } from 'vitest';
import { NO_USAGE } from '../../../src/usage.ts';
import { cliHome } from '../cli-home.ts';

describe('gw prices', () => {
  test('set accepts dollars per million tokens, and list shows them', async () => {
    const cli = cliHome();
    const { code, stderr } = await cli.run([
      ...['prices', 'set', 'openai/my-tune', '--input', '3', '--output', '$12.50', '--cached-input', '0.3'],
    ]);
    expect(code).toBe(0);
    expect(stderr).toContain('Set the price of openai/my-tune: $3.00 in, $12.50 out per million tokens.');
    expect(await cli.json(['prices', 'list'])).toEqual([
      {
        provider: 'openai',
        model: 'my-tune',
        input_usd_per_million: 3,
        output_usd_per_million: 12.5,
        cached_input_usd_per_million: 0.3,
        cache_write_usd_per_million: null,
        cache_write_1h_usd_per_million: null,
        usd_per_request: null,
        usd_per_image: null,
        usd_per_second: null,
        usd_per_million_characters: null,
      },
    ]);
    expect((await cli.run(['prices'])).stdout).toMatch(/openai\/my-tune +\$3\.00 +\$0\.30 +- +\$12\.50/);
  });

  test('set accepts a fee per request, which the price in force includes', async () => {
    const cli = cliHome();
    const fee = ['--input', '1', '--output', '2', '--per-request', '0.005'];
    expect((await cli.run(['prices', 'set', 'openai/searcher', ...fee])).stderr).toContain(
      '$1.00 in, $2.00 out per million tokens, plus $0.0050 per request.',
    );
    const prices = [{ model: 'searcher', usd_per_request: 0.005 }];
    expect(await cli.json(['prices', 'list'])).toMatchObject(prices);
    expect(await cli.json(['prices', 'list', 'openai/searcher'])).toMatchObject(prices);
    for (const args of [['list'], ['list', 'openai/searcher']]) {
      expect((await cli.run(['prices', ...args])).stdout).toMatch(/per request[\s\S]+\$0\.0050/);
    }
  });

  test('set accepts what is written for an hour, and list shows what service options cost', async () => {
    const cli = cliHome();
    const rates = ['--input', '1', '--output', '2', '--cache-write', '1.25', '--cache-write-1h', '2'];
    await cli.run(['prices', 'set', 'claude-opus-5', ...rates]);
    const written = { cache_write_usd_per_million: 1.25, cache_write_1h_usd_per_million: 2 };
    expect(await cli.json(['prices', 'list'])).toMatchObject([written]);
    expect(await cli.json(['prices', 'list', 'anthropic/claude-opus-5'])).toMatchObject([
      { ...written, service_prices: expect.arrayContaining([{ field: 'speed', value: 'fast', factor: 2 }]) },
    ]);
    expect((await cli.run(['prices', 'list', 'anthropic/claude-opus-5'])).stdout).toContain(
      'speed fast: 2 times these prices',
    );
  });

  test("list shows a router's own fee", async () => {
    const cli = cliHome();
    await cli.run(['prices', 'set', 'azure/model-router', '--input', '5', '--output', '30']);
    const [price] = (await cli.json(['prices', 'list', 'azure/model-router'])) as object[];
    expect(price).toMatchObject({ input_usd_per_million: 5, router_fee_usd_per_million: 0.14 });
    expect((await cli.run(['prices', 'list', 'azure/model-router'])).stdout).toContain('input $0.14 more');
  });

  test('a name whose part before the slash is not a provider is the name of a model', async () => {
    const cli = cliHome();
    await cli.run(['prices', 'set', 'meta-llama/llama-4', '--input', '1', '--output', '2']);
    expect(await cli.json(['prices', 'list'])).toMatchObject([
      { provider: null, model: 'meta-llama/llama-4' },
    ]);
  });

  test("list MODEL shows the built-in price, or the user's own price if there is one", async () => {
    const cli = cliHome();
    const price = async () => (await cli.json<Record<string, unknown>[]>(['prices', 'list', 'gpt-4o']))[0];
    expect(await price()).toMatchObject({
      provider: 'openai',
      input_usd_per_million: 2.5,
      output_usd_per_million: 10,
    });
    await cli.run(['prices', 'set', 'gpt-4o', '--input', '1', '--output', '2']);
    expect(await price()).toMatchObject({ input_usd_per_million: 1, source: 'override gpt-4o' });
  });

  test("remove deletes the user's own price, and exits with 5 if there is none", async () => {
    const cli = cliHome();
    await cli.run(['prices', 'set', 'x', '--input', '1', '--output', '2']);
    expect((await cli.run(['prices', 'remove', 'x'])).code).toBe(0);
    expect((await cli.run(['prices', 'remove', 'x'])).code).toBe(5);
  });

  test.each([
    [['set', 'x', '--input', '1'], 2, 'a price has --input and --output'],
    [['set', 'x', '--input', 'cheap', '--output', '1'], 2, '--input cheap is not a price'],
    [['set', 'x', '--input', '0.0000001', '--output', '1'], 2, 'at most 6 decimal places'],
    [['set', 'x', '--input', '1', '--output', '1', '--per-request', '1001'], 2, '1001 is not a fee'],
    [['list', 'made-up-9'], 5, 'gw prices set made-up-9 --input X --output Y'],
  ])('%j exits with %i', async (args, code, message) => {
    const result = await cliHome().run(['prices', ...args]);
    expect(result.code).toBe(code);
    expect(result.stderr).toContain(message);
  });
});

describe('gw prices diff', () => {
  test("compares what was booked with today's prices, by model, each request in its own tier", async () => {
    const cli = cliHome({ timezone: 'UTC' });
    const timeMs = cli.clock.now() - 3_600_000;
    const usage = (inputTokens: number, outputTokens = 0) => ({ ...NO_USAGE, inputTokens, outputTokens });
    const sonnet = { timeMs, provider: 'anthropic', model: 'claude-sonnet-4-5' };
    await cli.record(
      { timeMs, usage: usage(1_000_000, 1_000_000), costNanoUsd: 1_500_000_000, model: 'gpt-4.1-mini' },
      { timeMs, usage: usage(1_000), costNanoUsd: 0, model: 'nobody-knows' },
      { ...sonnet, usage: usage(150_000), costNanoUsd: 450_000_000 },
      { ...sonnet, usage: usage(300_000), costNanoUsd: 1_800_000_000 },
      { timeMs: timeMs - 40 * 86_400_000, usage: usage(1_000_000), costNanoUsd: 1, model: 'gpt-4o' },
    );
    expect(await cli.json(['prices', 'diff'])).toEqual([
      {
        model: 'openai/gpt-4.1-mini',
        requests: 1,
        booked_usd: 1.5,
        booked_nano_usd: 1_500_000_000,
        today_usd: 2,
        today_nano_usd: 2_000_000_000,
        difference_nano_usd: 500_000_000,
      },
      expect.objectContaining({
        model: 'anthropic/claude-sonnet-4-5',
        requests: 2,
        booked_usd: 2.25,
        today_usd: 2.25,
      }),
      expect.objectContaining({ model: 'openai/nobody-knows', today_usd: null }),
    ]);
    const { stdout } = await cli.run(['prices', 'diff', '--since', '2h'], { columns: 120 });
    expect(stdout).toMatch(/openai\/gpt-4\.1-mini +1 +\$1\.50 +\$2\.00 +\+\$0\.50/);
  });
});
