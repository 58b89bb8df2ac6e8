import { describe, expect, test } from 'vitest';
import { createCalendar } from '../../../src/calendar.ts';
import { parseSince } from '../../../src/cli/input/values.ts';
import { FLAGS } from '../../../src/store/ledger/record.ts';
import { NO_USAGE } from '../../../src/usage.ts';
import { cliHome } from '../cli-home.ts';

const NOON = Date.UTC(2026, 0, 1, 12);
const MINUTE = 60_000;

async function busyHome() {
  const cli = cliHome();
  await cli.run(['projects', 'list']);
  await cli.record(
    {
      timeMs: NOON - 90 * MINUTE,
      costNanoUsd: 1_200_000,
      usage: { ...NO_USAGE, inputTokens: 1_234, outputTokens: 456 },
    },
    {
      timeMs: NOON - 20 * MINUTE,
      outcome: 'blocked',
      status: 402,
      provider: '',
      model: 'gpt-4.1',
      durationMs: 3,
    },
    {
      timeMs: NOON - 10 * MINUTE,
      outcome: 'upstream_failed',
      status: 502,
      detail: { error: 'ECONNRESET\u0007' },
    },
    { timeMs: NOON - MINUTE, outcome: 'crashed', status: 0, flags: FLAGS.estimated, costNanoUsd: 5_000_000 },
  );
  return cli;
}

test.each([
  ['2026-01-01 12:30', '2026-01-01T11:30:00Z'],
  ['2025-12-31T17:00:30', '2025-12-31T16:00:30Z'],
  ['2025-12-31T17:00:00Z', '2025-12-31T17:00:00Z'],
  ['yesterday 17:00', '2025-12-31T16:00:00Z'],
  ['today 00:00', '2025-12-31T23:00:00Z'],
  // The clocks are set forward and back in the night, and show 02:30 never.
  ['2026-03-29 17:00', '2026-03-29T15:00:00Z'],
  ['2026-03-29 02:30', '2026-03-29T00:30:00Z'],
  ['2026-10-25 00:30', '2026-10-24T22:30:00Z'],
  ['2026-10-25 17:00', '2026-10-25T16:00:00Z'],
])('--since %s is %s in Paris', (text, time) => {
  expect(parseSince(text, createCalendar('Europe/Paris'), NOON)).toBe(Date.parse(time));
});

describe('gw requests', () => {
  test('lists the newest first, marked by outcome, in 80 columns', async () => {
    const cli = await busyHome();
    const { stdout } = await cli.run(['requests']);
    expect(stdout).toMatchInlineSnapshot(`
      "Requests (Europe/Paris)

         id               time      model         st      in>out      cost   took
      !  req_03nmgvfm003  12:59:00  gpt-4.1-mini  -          0>0  ~$0.0050  812ms
      !  req_03nmesj8002  12:50:00  gpt-4.1-mini  502        0>0     $0.00  812ms
      X  req_03nmcgag001  12:40:00  gpt-4.1       402        0>0     $0.00    3ms
         req_03nkwfm8000  11:30:00  gpt-4.1-mini  200  1,234>456   $0.0012  812ms
      "
    `);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  test('shows the day where not all are of today', async () => {
    const cli = cliHome();
    await cli.run(['projects', 'list']);
    await cli.record({ timeMs: NOON - 19 * 60 * MINUTE });
    expect((await cli.run(['requests', '--since', '2d'])).stdout).toMatch(/^ +req_\w+ +12-31 18:00 /m);
  });

  test('shows a request that could not be parsed, without a model', async () => {
    const cli = cliHome();
    await cli.run(['projects', 'list']);
    const nothing = { provider: '', model: '', askedModel: '' };
    await cli.record({
      ...nothing,
      timeMs: NOON,
      outcome: 'refused',
      status: 400,
      detail: { error: 'invalid_json' },
    });
    const { stdout } = await cli.run(['requests']);
    expect(stdout).toMatch(/13:00:00 {2}- +400/);
    const [id = ''] = /req_\w+/.exec(stdout) ?? [];
    expect((await cli.run(['requests', id])).stdout).toContain('route    nobody\n');
    expect((await cli.run(['usage', '--group-by', 'model'])).stdout).toMatch(/^- +1 /m);
  });

  test.each([
    [['--status', '402'], [402]],
    [
      ['--status', 'failed'],
      [0, 502],
    ],
    [['--status', 'blocked', '--since', '1h'], [402]],
    [
      ['--since', '15m'],
      [0, 502],
    ],
    [['--limit', '1'], [0]],
    [['-p', 'default', '--status', 'ok', '--since', 'today'], [200]],
  ])('%j selects those with status %j', async (args, statuses) => {
    const cli = await busyHome();
    const requests = await cli.json<{ status: number }[]>(['requests', ...args]);
    expect(requests.map(({ status }) => status)).toEqual(statuses);
  });

  test('names the providers that failed before another one served the request', async () => {
    const cli = cliHome();
    await cli.run(['projects', 'list']);
    const attempts = ['azure', 'azure', 'openai'].map((provider) => ({
      provider,
      model: 'gpt-4.1',
      outcome: '500',
    }));
    await cli.record({ timeMs: NOON - MINUTE, model: 'gpt-4.1', detail: { attempts } });
    expect((await cli.run(['requests'], { columns: 100 })).stdout).toContain('gpt-4.1 (azure failed) ');
  });

  test('shows one request in full', async () => {
    const cli = await busyHome();
    const [request] = await cli.json<{ id: string }[]>(['requests', '--status', '502']);
    const { code, stdout } = await cli.run(['requests', request?.id ?? '']);
    expect(code).toBe(0);
    expect(stdout).toContain('Request (Europe/Paris)\n');
    expect(stdout).toMatch(/^id +req_\w+ {2}2026-01-01 12:50:00$/m);
    expect(stdout).toContain('outcome  upstream failed: ECONNRESET, HTTP 502\n');
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  test('shows every attempt of a request that failed over', async () => {
    const cli = cliHome();
    await cli.run(['projects', 'list']);
    const attempts = [
      { provider: 'openai', model: 'gpt-5', outcome: '429', ms: 120, cost_usd: 0 },
      // Only on old records: earlier versions sent a request to two targets at once.
      { provider: 'groq', model: 'gpt-5', outcome: 'outrun', ms: 900, cost_usd: 0.001 },
      { provider: 'azure', model: 'gpt-5', outcome: 'ok', ms: 2_000, cost_usd: 0.0021 },
    ];
    await cli.record({ timeMs: NOON - MINUTE, detail: { attempts } });
    const [request] = await cli.json<{ id: string }[]>(['requests']);
    const { stdout } = await cli.run(['requests', request?.id ?? '']);
    expect(stdout).toMatch(/^attempts +openai\/gpt-5: 429, 120ms, \$0.00$/m);
    expect(stdout).toMatch(/^ +groq\/gpt-5: outrun, 900ms, \$0.0010$/m);
    expect(stdout).toMatch(/^ +azure\/gpt-5: ok, 2.0s, \$0.0021/m);
  });

  test.each([
    [
      {
        tier: {
          chosen: 'fast',
          applied: true,
          score: 0.2134,
          threshold: 0.35,
          why: 'short,code',
          basis: 'prior',
          by: 'share',
          saved_usd: 0.0031,
        },
      },
      'tier fast, decided by the share; score 0.21, below 0.35 (short, code), by the built-in rules; saved $0.0031',
    ],
    [
      {
        tier: {
          chosen: 'strong',
          applied: true,
          score: 0.5,
          threshold: null,
          why: '',
          basis: 'learnt',
          by: 'needs',
          lacks: 'tools',
        },
      },
      'tier strong, decided by what the cheaper tier lacks (tools); score 0.5, by what the project learnt',
    ],
    [
      {
        tier: {
          chosen: 'fast',
          applied: false,
          score: 0.1,
          threshold: 0.5,
          why: '',
          basis: 'prior',
          by: 'cold_start',
        },
      },
      'tier the requested model, because too little is known; it would be fast; score 0.1, below 0.5, by the built-in rules',
    ],
    [{ feedback: 0.7 }, 'feedback 0.7 of 1, as reported'],
    [
      { budget: 'default/daily', budget_cap_usd: 5, budget_spent_usd: 4.99, budget_held_usd: 0.005 },
      'budget default/daily had no room: $4.99 spent and $0.0050 held of $5.00',
    ],
    [{ budget: 'default/daily' }, 'budget default/daily had no room'],
    [
      { shadow: { of: 'req_1', tier: 'weak', agrees: false } },
      'shadow of req_1, to compare with the cheaper tier; the answers differ',
    ],
    [
      { shadow: { of: 'req_1', tier: 'strong', agrees: null } },
      'shadow of req_1, to compare with the strong tier; the answers cannot be compared',
    ],
    [
      {
        need: {
          ...{
            input_tokens: 150_000,
            input_bound: 'edit',
            output_tokens: 8_000,
            output_asked_tokens: 32_000,
          },
          ...{ input_usd: 0.45, output_usd: 0.12, fees_usd: 0 },
        },
      },
      'at most 150,000 tokens in (from an earlier report) $0.45, 8,000 of 32,000 asked for out $0.12',
    ],
  ])('describes %j', async (detail, words) => {
    const cli = cliHome();
    await cli.run(['projects', 'list']);
    await cli.record({ timeMs: NOON - MINUTE, detail });
    const [request] = await cli.json<{ id: string }[]>(['requests']);
    const { stdout } = await cli.run(['requests', request?.id ?? '']);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(words);
  });

  test.each([
    [['req_00000000000'], 5, 'no request req_00000000000'],
    [['nonsense'], 2, '"nonsense" is not a request id'],
    [
      ['--status', 'sad'],
      2,
      '--status sad is neither an HTTP status nor one of: failed, fallback, ok, blocked',
    ],
    [['--since', '2026-01-01 24:00'], 2, '--since 2026-01-01 24:00 is not a time'],
    [['--since', 'soon'], 2, '--since soon is not a time'],
    [['--limit', 'all'], 2, '--limit all is not a whole number'],
  ])('%j exits with %i', async (args, code, message) => {
    const result = await cliHome().run(['requests', ...args]);
    expect(result.code).toBe(code);
    expect(result.stderr).toContain(message);
  });
});
