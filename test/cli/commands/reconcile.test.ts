import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { CountedRow, ReconciledRow } from '../../../src/insight/reconcile/reconcile.ts';
import { NO_USAGE } from '../../../src/usage.ts';
import { type CliHome, cliHome } from '../cli-home.ts';

const ADMIN_KEY = 'sk-admin-Secret0123456789';
const NOW = Date.parse('2026-11-23T09:00:00Z');

interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body: unknown;
}

/** A provider whose report is a list of answers, one for each request. */
async function provider(cli: CliHome, name: string, answers: Answer[]): Promise<IncomingMessage[]> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    const { status = 200, headers = {}, body } = answers.shift() ?? { status: 404, body: {} };
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const { code, stderr } = await cli.run(['providers', 'add', name, '--base-url', url, '--stdin'], {
    stdin: 'sk-plain-0123456789abcdef',
  });
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  return requests;
}

async function home(): Promise<CliHome> {
  const cli = cliHome({ timezone: 'America/New_York' });
  await cli.clock.advance(NOW - cli.clock.now());
  return cli;
}

async function reconcile(cli: CliHome, args: string[], stdin = `${ADMIN_KEY}\n`) {
  const { code, stdout, stderr } = await cli.run(['reconcile', ...args, '--json'], { stdin });
  expect(stdout + stderr).not.toContain('Secret');
  const report = stdout ? JSON.parse(stdout) : undefined;
  const rows = report?.data.map((row: ReconciledRow) => [
    row.day,
    row.model,
    row.ledger_usd,
    row.billed_usd,
    row.state,
  ]);
  return { code, stderr, report, rows };
}

const call = (time: string, model: string, usd: number, name = 'openai') => ({
  timeMs: Date.parse(time),
  provider: name,
  model,
  costNanoUsd: usd * 1e9,
});
const cost = (value: number | string, line_item: string | null) => ({
  object: 'organization.costs.result',
  amount: { value, currency: 'usd' },
  line_item,
});
const bucket = (day: string, results: unknown[]) => ({
  object: 'bucket',
  start_time: Date.parse(`${day}T00:00:00Z`) / 1_000,
  end_time: Date.parse(`${day}T00:00:00Z`) / 1_000 + 86_400,
  results,
});
const page = (data: unknown[], next: string | null = null) => ({
  body: { object: 'page', data, has_more: next !== null, next_page: next },
});

describe('gw reconcile', () => {
  test('finds each difference between the ledger and a report of OpenAI', async () => {
    const cli = await home();
    const requests = await provider(cli, 'openai', [
      page(
        [
          bucket('2026-11-20', [
            cost(1.2, 'gpt-4.1-2025-04-14, input'),
            cost('0.8', 'gpt-4.1-2025-04-14, cached input'),
            cost(0.5, 'priority | gpt-5.5, output, long context'),
            cost(0.25, 'web search tool calls'),
          ]),
        ],
        'page_2',
      ),
      { status: 429, headers: { 'retry-after': '0' }, body: { error: { message: 'slow down' } } },
      page([bucket('2026-11-21', [cost(3, 'gpt-4.1-2025-04-14, output'), cost(0, 'o3, input')])]),
    ]);
    await cli.record(
      // 02:00 in New York on the day before: the UTC day counts.
      call('2026-11-20T00:30:00Z', 'gpt-4.1', 0.5),
      call('2026-11-20T23:30:00Z', 'gpt-4.1', 1.5),
      call('2026-11-20T12:00:00Z', 'gpt-5.5', 0.49),
      call('2026-11-21T12:00:00Z', 'gpt-4.1', 3.009),
      call('2026-11-21T13:00:00Z', 'gpt-5.5', 0.004),
      call('2026-11-21T13:00:00Z', 'claude-sonnet-4-5', 9, 'anthropic'),
    );
    const { code, rows, report } = await reconcile(cli, ['openai', '--stdin', '--from', '2026-11-20']);
    expect([code, rows]).toEqual([
      1,
      [
        ['2026-11-20', 'gpt-4.1', 2, 2, 'agrees'],
        ['2026-11-20', 'gpt-5.5', 0.49, 0.5, 'differs'],
        ['2026-11-20', 'web search tool calls', 0, 0.25, 'only_billed'],
        ['2026-11-21', 'gpt-4.1', 3.009, 3, 'agrees'],
        ['2026-11-21', 'gpt-5.5', 0.004, 0, 'only_booked'],
      ],
    ]);
    expect(report).toMatchObject({
      object: 'reconciliation',
      total: { ledger_usd: 5.503, billed_usd: 5.75, agrees: 2, differs: 1, only_billed: 1, only_booked: 1 },
    });
    const [first, , third] = requests.map(({ url }) => new URL(url ?? '', 'http://x'));
    expect(Object.fromEntries(first?.searchParams ?? [])).toMatchObject({
      start_time: String(Date.parse('2026-11-20T00:00:00Z') / 1_000),
      end_time: String(Date.parse('2026-11-23T00:00:00Z') / 1_000),
      group_by: 'line_item',
    });
    expect(third?.searchParams.get('page')).toBe('page_2');
    expect(requests[0]?.headers.authorization).toBe(`Bearer ${ADMIN_KEY}`);
  });

  test("reads Anthropic's cents, and exits with 0 where all agrees but a day that is not over", async () => {
    const cli = await home();
    const result = (amount: string, model: string | null, description: string) => ({
      amount,
      currency: 'USD',
      model,
      description,
      cost_type: model ? 'tokens' : 'web_search',
    });
    const day = (starting_at: string, results: unknown[]) => ({
      starting_at,
      ending_at: starting_at,
      results,
    });
    const requests = await provider(cli, 'anthropic', [
      page([
        day('2026-11-22T00:00:00Z', [
          result('123.45', 'claude-haiku-4-5-20251001', 'Claude Haiku 4.5 Usage - Input Tokens'),
          result('0.55', 'claude-haiku-4-5-20251001', 'Claude Haiku 4.5 Usage - Output Tokens'),
        ]),
        day('2026-11-23T00:00:00Z', [result('1', null, 'Web Search Usage')]),
      ]),
    ]);
    await cli.record(call('2026-11-22T12:00:00Z', 'claude-haiku-4-5', 1.24, 'anthropic'));
    const { code, rows, report } = await reconcile(cli, ['anthropic', '--stdin', '--to', 'today']);
    expect([code, rows]).toEqual([
      0,
      [
        ['2026-11-22', 'claude-haiku-4-5', 1.24, 1.24, 'agrees'],
        ['2026-11-23', 'Web Search Usage', 0, 0.01, 'only_billed'],
      ],
    ]);
    expect(report.data.map(({ partial }: ReconciledRow) => partial)).toEqual([false, true]);
    expect(requests[0]?.headers).toMatchObject({ 'x-api-key': ADMIN_KEY, 'anthropic-version': '2023-06-01' });
  });

  const tokens = (input: number, output: number) => ({ input, output });
  const because = ({ model, because, ledger_tokens, billed_tokens }: CountedRow) => [
    model,
    because,
    ledger_tokens,
    billed_tokens,
  ];

  test("says by OpenAI's usage whether the tokens differ or the price alone", async () => {
    const cli = await home();
    const used = (model: string, input_tokens: number, output_tokens: number) => ({
      object: 'organization.usage.completions.result',
      ...{ model, input_tokens, output_tokens, input_cached_tokens: 5 },
    });
    const requests = await provider(cli, 'openai', [
      page([
        bucket('2026-11-20', [
          cost(1, 'gpt-4.1-2025-04-14, input'),
          cost(2, 'gpt-5.5, output'),
          cost(3, 'o3, input'),
          cost(4, 'gpt-5.5-mini, input'),
        ]),
      ]),
      page([bucket('2026-11-20', [used('gpt-4.1-2025-04-14', 60, 10)])], 'next'),
      page([
        bucket('2026-11-20', [
          used('gpt-4.1-2025-04-14', 40, 10),
          used('gpt-5.5', 100, 21),
          used('o3', 100, 20),
        ]),
        bucket('2026-11-21', [used('gpt-5.5', 9_999, 9)]),
      ]),
    ]);
    const calls = (['gpt-4.1', 'gpt-5.5', 'o3'] as const).map((model, i) => ({
      ...call('2026-11-20T12:00:00Z', model, [0.9, 1.9, 3][i] ?? 0),
      usage: { ...NO_USAGE, inputTokens: 100, outputTokens: 20 },
    }));
    await cli.record(...calls);
    const { report } = await reconcile(cli, ['openai', '--stdin', '--from', '2026-11-20']);
    expect(report.data.map(because)).toEqual([
      ['gpt-4.1', 'price', tokens(100, 20), tokens(100, 20)],
      ['gpt-5.5', 'tokens', tokens(100, 20), tokens(100, 21)],
      ['gpt-5.5-mini', null, null, null],
      ['o3', null, tokens(100, 20), tokens(100, 20)],
    ]);
    expect(requests.map(({ url }) => url?.split('?')[0])).toEqual([
      '/v1/organization/costs',
      '/v1/organization/usage/completions',
      '/v1/organization/usage/completions',
    ]);
  });

  test("adds up the parts of Anthropic's input, and goes on where the usage can't be read", async () => {
    const cli = await home();
    const costs = page([
      {
        starting_at: '2026-11-20T00:00:00Z',
        results: [{ amount: '100', currency: 'USD', model: 'claude-sonnet-4-5-20250929' }],
      },
    ]);
    const cache_creation = { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 4 };
    const result = {
      ...{ model: 'claude-sonnet-4-5-20250929', uncached_input_tokens: 1, cache_read_input_tokens: 200 },
      ...{ cache_creation, output_tokens: 7, server_tool_use: { web_search_requests: 0 } },
    };
    await provider(cli, 'anthropic', [
      costs,
      page([{ starting_at: '2026-11-20T00:00:00Z', results: [result] }]),
      costs,
      { status: 403, body: {} },
    ]);
    await cli.record({
      ...call('2026-11-20T12:00:00Z', 'claude-sonnet-4-5', 0.9, 'anthropic'),
      usage: { ...NO_USAGE, inputTokens: 235, outputTokens: 7 },
    });
    const asked = ['anthropic', '--stdin', '--from', '2026-11-20'];
    const counted = await reconcile(cli, asked);
    expect(counted.report.data.map(because)).toEqual([
      ['claude-sonnet-4-5', 'price', tokens(235, 7), tokens(235, 7)],
    ]);
    const uncounted = await reconcile(cli, asked);
    expect(uncounted.report.data.map(because)).toEqual([['claude-sonnet-4-5', null, tokens(235, 7), null]]);
    expect(uncounted.stderr).toContain('Tokens are not compared: anthropic answered 403');
  });

  test("reads OpenRouter's activity of the last 30 days", async () => {
    const cli = await home();
    const activity = (model: string, usage: number) => ({
      date: '2026-11-21',
      model,
      model_permaslug: `${model}-2025-04-14`,
      usage,
      byok_usage_inference: 0,
      requests: 1,
    });
    const requests = await provider(cli, 'openrouter', [
      { body: { data: [activity('openai/gpt-4.1', 0.015), activity('x-ai/grok-5', 2)] } },
    ]);
    await cli.record(call('2026-11-21T12:00:00Z', 'openai/gpt-4.1', 0.015, 'openrouter'));
    const { code, rows } = await reconcile(cli, ['openrouter', '--stdin']);
    expect([code, rows]).toEqual([
      1,
      [
        ['2026-11-21', 'openai/gpt-4.1', 0.015, 0.015, 'agrees'],
        ['2026-11-21', 'x-ai/grok-5', 0, 2, 'only_billed'],
      ],
    ]);
    expect(requests[0]?.url).toBe('/api/v1/activity');
    const early = await reconcile(cli, ['openrouter', '--stdin', '--from', '2026-10-01']);
    expect([early.code, early.stderr]).toEqual([2, expect.stringContaining('from 2026-10-24')]);
  });

  test.each([
    [
      'openai',
      'start_time_iso,amount_value,amount_currency,line_item\n2026-11-20T00:00:00+00:00,1.25,usd,"gpt-4.1-2025-04-14, input"\n',
    ],
    [
      'anthropic',
      'usage_date_utc,model,workspace,token_type,cost_usd\n2026-11-20,Claude Sonnet 4.5,Default,input_no_cache,1.00\n2026-11-20,Claude Sonnet 4.5,Default,output,0.25\n',
    ],
    [
      'openrouter',
      '\uFEFFgeneration_id,created_at,cost_total,model_permaslug\ngen-1,2026-11-20 23:59:59.1,1.25,openai/gpt-4.1-2025-04-14\n',
    ],
  ])('reads the CSV export of %s', async (name, text) => {
    const cli = await home();
    const model =
      { openai: 'gpt-4.1', anthropic: 'claude-sonnet-4-5', openrouter: 'openai/gpt-4.1' }[name] ?? '';
    const file = join(cli.paths.home, 'export.csv');
    writeFileSync(file, text);
    await cli.record(
      call('2026-11-20T12:00:00Z', model, 1.25, name),
      // Not in the days of the file.
      call('2026-11-21T12:00:00Z', model, 1.25, name),
    );
    const { code, rows, stderr } = await reconcile(cli, [name, '--csv', file]);
    expect([code, rows, stderr]).toEqual([0, [['2026-11-20', model, 1.25, 1.25, 'agrees']], '']);
  });

  test('says what is wrong with a CSV file', async () => {
    const cli = await home();
    const file = join(cli.paths.home, 'export.csv');
    const wrong = async (text: string) => {
      writeFileSync(file, text);
      const { code, stderr } = await reconcile(cli, ['anthropic', '--csv', file]);
      expect(code).toBe(2);
      return stderr;
    };
    expect(await wrong('a,b\n1,2\n')).toContain('no column usage_date_utc or date; its columns are a, b');
    expect(await wrong('')).toContain('its columns are none');
    expect(await wrong('usage_date_utc,model,cost_usd\n2026-11-20,m,1\n2026-11-20,m,x\n')).toContain(
      'line 3: "x" is not an amount',
    );
    expect(await wrong('usage_date_utc,model,cost_usd\nsoon,m,1\n')).toContain(
      'line 2: usage_date_utc is "soon"',
    );
    expect(await wrong('usage_date_utc,model,cost_usd\n2026-11-20,m\n')).toContain('not a CSV file');
  });

  test('says what a failure means, and shows nothing of the key', async () => {
    const cli = await home();
    // Some providers repeat the key in their error.
    const refused = (status: number) => ({ status, body: { error: { message: `Bad key ${ADMIN_KEY}` } } });
    const euros = { amount: { value: 1, currency: 'eur' } };
    const failures: [Answer, string][] = [
      [refused(401), 'the key is wrong, expired or not an admin key'],
      [refused(403), 'this key may not read it'],
      [refused(404), 'answered 404'],
      [{ ...refused(429), headers: { 'retry-after': '3600' } }, 'Try again in 3600 s'],
      [{ body: `<html>${ADMIN_KEY}` }, 'not of the documented form'],
      [page([bucket('2026-11-20', [euros])]), '"eur"'],
      [{ body: { data: [], has_more: true, next_page: null } }, 'more pages'],
    ];
    await provider(
      cli,
      'openai',
      failures.map(([answer]) => answer),
    );
    for (const [, words] of failures) {
      const { code, stderr } = await reconcile(cli, ['openai', '--stdin']);
      expect([code, stderr]).toEqual([1, expect.stringContaining(words)]);
    }
  });

  test('takes a page that leads to itself for an error', async () => {
    const cli = await home();
    await provider(cli, 'openai', [page([], 'again'), page([], 'again')]);
    const { code, stderr } = await reconcile(cli, ['openai', '--stdin']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('has no end')]);
  });

  test('refuses what it cannot use', async () => {
    const cli = await home();
    const wrong: [string[], string, string][] = [
      [['openai'], '', 'gw reconcile openai --stdin < FILE'],
      [['openai', '--stdin'], '', 'stdin has no key'],
      [['openai', '--stdin'], 'a key\nand more', 'more than a key'],
      [['mistral', '--stdin'], 'k', 'anthropic, openai, openrouter'],
      [['openai', '--stdin', '--to', '2027-01-01'], 'k', 'in the future'],
      [['openai', '--csv', 'nowhere.csv'], '', "can't read nowhere.csv: ENOENT"],
    ];
    for (const [args, stdin, words] of wrong) {
      const { code, stderr } = await reconcile(cli, args, stdin);
      expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
    }
  });
});
