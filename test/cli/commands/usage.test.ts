import { describe, expect, test } from 'vitest';
import { FLAGS } from '../../../src/store/ledger/record.ts';
import { NO_USAGE } from '../../../src/usage.ts';
import { type CliHome, cliHome } from '../cli-home.ts';

const NOON = Date.UTC(2026, 0, 1, 12);
const DAY_MS = 86_400_000;
const usage = (inputTokens: number, outputTokens: number, cachedInputTokens = 0) => ({
  ...NO_USAGE,
  inputTokens,
  outputTokens,
  cachedInputTokens,
});

/** Three days of spending, most of it today, with a blocked, a failed and an unpriced request. */
async function spendingHome(): Promise<CliHome> {
  const cli = cliHome();
  await cli.run(['projects', 'add', 'web']);
  await cli.record(
    { timeMs: NOON - 2 * DAY_MS, usage: usage(1_200, 300), costNanoUsd: 1_000_000_000 },
    {
      timeMs: NOON - DAY_MS,
      usage: usage(2_345_678, 41_000, 900_000),
      costNanoUsd: 3_480_000_000,
      projectId: 2,
    },
    {
      timeMs: NOON,
      usage: usage(900, 100),
      costNanoUsd: 8_000_000_000,
      savedTokens: 50,
      savedNanoUsd: 200_000_000,
    },
    { timeMs: NOON, usage: usage(70, 7), model: 'made-up-1', flags: FLAGS.unpriced },
    { timeMs: NOON, outcome: 'blocked', status: 402, provider: '', model: 'gpt-4.1' },
    { timeMs: NOON, outcome: 'upstream_failed', status: 502 },
  );
  return cli;
}

describe('gw usage', () => {
  test('draws its days as a calendar, and as an area by model or another thing', async () => {
    const cli = await spendingHome();
    expect((await cli.run(['usage', '--heat'])).stdout).toMatchInlineSnapshot(`
      "$12.48, 2025-12-03 to 2026-01-01 (Europe/Paris), most on 2026-01-01: $8.00

             Mon       Tue       Wed       Thu       Fri       Sat       Sun
      Dec                        03        04        05        06        07
             08        09        10        11        12        13        14
             15        16        17        18        19        20        21
             22        23        24        25        26        27        28
      Jan    29        30░ $1.00 31▒ $3.48 01█ $8.00
      "
    `);
    expect(
      (await cli.run(['usage', '--heat', '--ascii', '--month', '2026-01'])).stdout,
    ).toMatchInlineSnapshot(`
      "$8.00, 2026-01-01 to 2026-01-31 (Europe/Paris), most on 2026-01-01: $8.00

             Mon       Tue       Wed       Thu       Fri       Sat       Sun
      Jan                                  01# $8.00 02        03        04
             05        06        07        08        09        10        11
             12        13        14        15        16        17        18
             19        20        21        22        23        24        25
             26        27        28        29        30        31
      "
    `);
    expect(
      (await cli.run(['usage', '--chart', '-g', 'project', '--from', '7d'])).stdout,
    ).toMatchInlineSnapshot(`
      "$12.48, 2025-12-25 to 2026-01-01 (Europe/Paris)

      $8.00                                                                █████████
                                                                           █████████
                                                                           █████████
                                                                           █████████
                                                                           █████████
                                                                           █████████
                                                                           █████████
                                                                  ▓▓▓▓▓▓▓▓▓█████████
                                                                  ▓▓▓▓▓▓▓▓▓█████████
                                                                  ▓▓▓▓▓▓▓▓▓█████████
                                                         █████████▓▓▓▓▓▓▓▓▓█████████
         $0                                              █████████▓▓▓▓▓▓▓▓▓█████████
            12-25                                                              01-01

      ▓ web                               $3.48
      █ default                           $9.00
      "
    `);
  });

  test('refuses drawings of what has no days, and two formats at once', async () => {
    const cli = await spendingHome();
    for (const [args, message] of [
      [['--heat', '-g', 'model'], '--heat is by day'],
      [['--chart', '-g', 'agent,model'], '--chart is by one thing'],
      [['--chart', '-g', 'hour'], '--chart is by one thing'],
      [['--chart', '--json'], 'cannot be used with'],
      [['--heat', '--chart'], 'cannot be used with'],
    ] as const) {
      const { code, stderr } = await cli.run(['usage', ...args]);
      expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    }
  });

  test('shows a row and a bar for each day, and totals, in 80 columns', async () => {
    const cli = await spendingHome();
    const { code, stdout } = await cli.run(['usage']);
    expect(code).toBe(0);
    expect(stdout).toMatchInlineSnapshot(`
      "Usage by day, 2025-12-03 to 2026-01-01 (Europe/Paris), all projects

      day         requests  input  cached  output      cost
      2025-12-30         1  1,200       0     300     $1.00  ███
      2025-12-31         1  2.35M    900k  41,000     $3.48  ██████████▌
      2026-01-01         4    970       0     107   $8.00+?  ████████████████████████
      ───────────────────────────────────────────────────────────────────────────────
      total              6  2.35M    900k  41,407  $12.48+?

      saved $0.20 and 50 tokens
      1 request blocked: gw requests --status blocked
      1 request failed: gw requests --status failed
      1 request unpriced, not in the totals: gw prices set MODEL --input X --output Y
      "
    `);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  test('groups by model, most expensive first, and marks unknown prices as unpriced', async () => {
    const cli = await spendingHome();
    const { stdout } = await cli.run(['usage', '--group-by', 'model', '--ascii']);
    expect(stdout).toMatchInlineSnapshot(`
      "Usage by model, 2025-12-03 to 2026-01-01 (Europe/Paris), all projects

      model                requests  input  cached  output      cost  days
      openai/gpt-4.1-mini         4  2.35M    900k  41,400    $12.48  _____________.#
      gpt-4.1                     1      0       0       0     $0.00
      openai/made-up-1            1     70       0       7  unpriced
      --------------------------------------------------------------------------------
      total                       6  2.35M    900k  41,407  $12.48+?

      saved $0.20 and 50 tokens
      1 request blocked: gw requests --status blocked
      1 request failed: gw requests --status failed
      1 request unpriced, not in the totals: gw prices set MODEL --input X --output Y
      "
    `);
  });

  test('answers --json with the fields of GET /v1/usage, and nano-USD beside dollars', async () => {
    const cli = await spendingHome();
    const report = await cli.json<Record<string, unknown>>(['usage', '-g', 'project', '-p', 'web']);
    expect(report).toEqual({
      object: 'usage',
      project_id: 'web',
      from: '2025-12-03',
      to: '2026-01-01',
      timezone: 'Europe/Paris',
      group_by: 'project',
      data: [expect.objectContaining({ project_id: 'web', cost_usd: 3.48, cost_nano_usd: 3_480_000_000 })],
      total: {
        requests: 1,
        blocked_requests: 0,
        failed_requests: 0,
        unpriced_requests: 0,
        input_tokens: 2_345_678,
        cached_input_tokens: 900_000,
        cache_write_tokens: 0,
        output_tokens: 41_000,
        reasoning_tokens: 0,
        replayed_requests: 0,
        saved_tokens: 0,
        cost_usd: 3.48,
        saved_usd: 0,
        cost_nano_usd: 3_480_000_000,
        saved_nano_usd: 0,
        missed_tokens: 0,
        missed_usd: 0,
        missed_nano_usd: 0,
      },
    });
  });

  test('prints CSV that spreadsheets can read: plain decimals, quoted commas', async () => {
    const cli = cliHome();
    await cli.run(['projects', 'list']);
    await cli.record({ timeMs: NOON, model: 'a,"b"', costNanoUsd: 1 });
    const { stdout } = await cli.run(['usage', '-g', 'model', '--csv']);
    expect(stdout.split('\n')).toEqual([
      'model,requests,blocked_requests,failed_requests,unpriced_requests,input_tokens,cached_input_tokens,cache_write_tokens,output_tokens,reasoning_tokens,saved_tokens,cost_usd,saved_usd,cost_nano_usd,saved_nano_usd,missed_tokens,missed_usd,missed_nano_usd,replayed_requests',
      '"openai/a,""b""",1,0,0,0,0,0,0,0,0,0,0.000000001,0,1,0,0,0,0,0',
      '',
    ]);
  });

  test('accepts days as dates, names and ages', async () => {
    const cli = await spendingHome();
    const days = async (...args: string[]) => {
      const { data } = await cli.json<{ data: { day: string }[] }>(['usage', ...args]);
      return data.map(({ day }) => day);
    };
    expect(await days('--from', 'yesterday')).toEqual(['2025-12-31', '2026-01-01']);
    expect(await days('--from', '7d', '--to', '2025-12-30')).toEqual(['2025-12-30']);
    expect(await days('--from', 'today')).toEqual(['2026-01-01']);
  });

  test('filters, takes a month, and groups by two things', async () => {
    const cli = await spendingHome();
    const rows = async (...args: string[]) => {
      const { data } = await cli.json<{ data: Record<string, unknown>[] }>(['usage', ...args]);
      return data.map(({ day, model, project_id, key, requests }) => [day, model, project_id, key, requests]);
    };
    expect(await rows('--month', '2025-12', '-g', 'project,day')).toEqual([
      ['2025-12-31', undefined, 'web', undefined, 1],
      ['2025-12-30', undefined, 'default', undefined, 1],
    ]);
    expect(await rows('--month', '-g', 'day,model', '--status', 'ok')).toEqual([
      ['2026-01-01', 'openai/gpt-4.1-mini', undefined, undefined, 1],
      ['2026-01-01', 'openai/made-up-1', undefined, undefined, 1],
    ]);
    expect(await rows('--model', 'made-up-1', '-g', 'key')).toEqual([
      [undefined, undefined, undefined, expect.any(String), 1],
    ]);
    expect(await rows('--session', 'none', '-g', 'agent')).toEqual([]);
    const table = await cli.run(['usage', '--month', '2025-12', '-g', 'project,model', '--ascii']);
    expect(table.stdout).toMatch(/^Usage by project and model, 2025-12-01 to 2025-12-31/);
    expect(table.stdout).toMatch(/^web +openai\/gpt-4.1-mini +1 /m);
    const csv = await cli.run(['usage', '--month', '2025-12', '-g', 'project,model', '--csv']);
    expect(csv.stdout).toMatch(/^project_id,model,requests,/);
  });

  test.each([
    [['--from', '2026-02-30'], 2, '--from 2026-02-30 is not a day'],
    [['--from', '2026-01-01', '--to', '2025-12-31'], 2, '--from 2026-01-01 is after --to 2025-12-31'],
    [['--group-by', 'day,day'], 2, 'or two of them such as agent,model'],
    [['--month', '2026-13'], 2, '--month 2026-13 is not a month'],
    [['--month', '--to', 'today'], 2, '--month is for a whole month'],
    [['--status', 'strange'], 2, '--status strange is neither an HTTP status nor'],
    [['--group-by', 'minute'], 2, 'Allowed choices are day, hour, model, project'],
    [['--json', '--csv'], 2, 'cannot be used with'],
    [['-p', 'nobody'], 5, 'no project "nobody". See: gw projects list'],
  ])('refuses %j with exit code %i', async (args, code, message) => {
    const result = await cliHome().run(['usage', ...args]);
    expect(result).toMatchObject({ code, stdout: '' });
    expect(result.stderr).toContain(message);
  });

  test('prints model names without control characters', async () => {
    const cli = cliHome();
    await cli.run(['projects', 'list']);
    await cli.record({ timeMs: NOON, model: '\u001b[2Jgpt\u0007\u202e漢字' });
    const { stdout } = await cli.run(['usage', '-g', 'model']);
    expect(stdout).toContain('openai/[2Jgpt漢字  ');
  });

  test('says how to start if there are no requests', async () => {
    const { stdout } = await cliHome().run(['usage']);
    expect(stdout).toContain('No requests yet. To point a client at gw:');
  });

  test('uses colour on a terminal, but not with NO_COLOR or in a pipe', async () => {
    const cli = await spendingHome();
    const start = '\u001b[';
    expect((await cli.run(['usage'], { tty: true })).stdout).toContain(start);
    expect((await cli.run(['usage'], { tty: true, env: { NO_COLOR: '1' } })).stdout).not.toContain(start);
    expect((await cli.run(['usage'])).stdout).not.toContain(start);
  });
});

test('gw usage and gw requests mark the shadow requests of old records', async () => {
  const cli = await spendingHome();
  const origin = { process: 'gw shadow', repo: '' };
  await cli.record({
    timeMs: NOON + 9,
    origin,
    flags: FLAGS.shadow,
    costNanoUsd: 2_000_000,
    usage: usage(9, 1),
  });
  expect((await cli.run(['usage', '-g', 'process'])).stdout).toMatch(/^gw shadow +1 /m);
  expect((await cli.run(['requests', '--limit', '1'])).stdout).toContain('gpt-4.1-mini (shadow)');
});
