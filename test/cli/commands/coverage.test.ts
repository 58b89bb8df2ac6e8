import { appendFileSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { CoverageReport } from '../../../src/insight/coverage/report.ts';
import type { RequestRecord } from '../../../src/store/ledger/record.ts';
import { NO_USAGE } from '../../../src/usage.ts';
import { addLog } from '../../agents/logs/logs.ts';
import { type CliHome, cliHome } from '../cli-home.ts';

/** A moment after the logs were written. */
const NOW = Date.parse('2026-11-22T20:00:00Z');
const CLAUDE_SESSION = '1455c850-b5b4-46f8-8612-47daabb68f33';
const CODEX_SESSION = '01a204be-bfbb-79b3-aefc-6b924343e9c8';
const OLD_CODEX_SESSION = '01a204be-e591-7b01-a498-a717edae8313';

async function withLogs(...names: string[]): Promise<CliHome> {
  const cli = cliHome({ timezone: 'UTC' });
  await cli.clock.advance(NOW - cli.clock.now());
  // Each a minute older than the one before.
  names.forEach((name, i) => {
    const time = new Date(NOW - i * 60_000);
    utimesSync(addLog(cli.paths.home, name), time, time);
  });
  return cli;
}

type Call = Partial<RequestRecord> & { timeMs: number };

/** What gw records of calls in the logs. */
const claudeCall = (number: number): Call => ({
  timeMs: Date.parse('2026-11-22T19:32:21Z'),
  agent: 'claude',
  session: CLAUDE_SESSION,
  upstreamMessageId: `msg_000${number}abcdef`,
});
const codexCall = (number: number): Call => ({
  timeMs: Date.parse('2026-11-22T19:32:19Z'),
  agent: 'codex',
  session: CODEX_SESSION,
  upstreamMessageId: `resp_000${number}abcdef`,
});
const oldCodexCall = (inputTokens: number): Call => ({
  timeMs: Date.parse('2026-11-22T19:32:29Z'),
  agent: 'codex',
  session: OLD_CODEX_SESSION,
  upstreamMessageId: `resp_${inputTokens}`,
  usage: { ...NO_USAGE, inputTokens, outputTokens: inputTokens - 1_950 },
});

async function report(cli: CliHome, args: string[] = []) {
  const { code, stdout } = await cli.run(['coverage', ...args, '--json']);
  return { code, report: JSON.parse(stdout) as CoverageReport };
}

describe('gw coverage', () => {
  test('finds nothing where all requests of real logs came through gw', async () => {
    const cli = await withLogs(
      'claude-2.1.197-copy',
      'claude-2.1.197',
      'codex-0.169.0',
      'codex-0.169.0-fork',
      'codex-0.98.0',
    );
    await cli.record(
      ...[4, 5, 6, 7].map(claudeCall),
      ...[1, 2, 3].map(codexCall),
      {
        ...codexCall(1),
        session: '01a204bf-4b57-70b1-8a3a-7c39c87492c2',
        upstreamMessageId: 'resp_0013abcdef',
      },
      ...[2_008, 2_009, 2_010].map(oldCodexCall),
    );
    const { code, report: found } = await report(cli);
    expect([code, found.total]).toEqual([
      0,
      {
        sessions: 4,
        requests: 11,
        covered_requests: 11,
        bypassed_requests: 0,
        bypassed_usd: 0,
        bypassed_nano_usd: 0,
        unpriced_requests: 0,
      },
    ]);
    expect((await cli.run(['coverage'])).stdout).not.toContain('Went around gw');
  });

  test('finds each planted bypass, and what it cost at list price', async () => {
    const cli = await withLogs('claude-2.1.197', 'codex-0.169.0', 'codex-0.98.0');
    await cli.record(
      ...[4, 5, 7].map(claudeCall),
      ...[1, 3].map(codexCall),
      ...[2_008, 2_010].map(oldCodexCall),
    );
    const { code, report: found } = await report(cli);
    expect(code).toBe(1);
    expect(found).toMatchObject({ object: 'coverage', to: '2026-11-22T20:00:00.000Z' });
    const rows = Object.fromEntries(found.data.map((row) => [row.session_id, row]));
    // 26 tokens in, 1,006 read, 206 written for 5 minutes and 100 for an hour, 46 out.
    const nanoUsd = 26 * 3_000 + 1_006 * 300 + 206 * 3_750 + 100 * 6_000 + 46 * 15_000;
    expect(rows[CLAUDE_SESSION]).toEqual({
      agent: 'claude',
      session_id: CLAUDE_SESSION,
      first_at: '2026-11-22T19:32:22.305Z',
      last_at: '2026-11-22T19:32:25.685Z',
      models: ['claude-sonnet-4-5'],
      cwd: '/home/me/shop',
      requests: 4,
      covered_requests: 3,
      bypassed_requests: 1,
      bypassed_usd: nanoUsd / 1e9,
      bypassed_nano_usd: nanoUsd,
      unpriced_requests: 0,
    });
    for (const session of [CODEX_SESSION, OLD_CODEX_SESSION])
      expect(rows[session]).toMatchObject({ requests: 3, covered_requests: 2, bypassed_requests: 1 });
    expect(found.total).toMatchObject({ sessions: 3, requests: 10, bypassed_requests: 3 });

    const text = await cli.run(['coverage', 'claude'], { columns: 120 });
    expect(text.code).toBe(1);
    expect(text.stdout).toMatch(/claude +1 +4 +3 +75% +1 +\$0\.00/);
    expect(text.stdout).toContain(CLAUDE_SESSION);
    expect(text.stdout).toContain('gw connect claude');
    expect(text.stdout).not.toContain('codex');
  });

  test('knows records of older versions, which name no agent, by their usage', async () => {
    const cli = await withLogs('codex-0.98.0');
    await cli.record(
      ...[2_008, 2_009, 2_010].map((input) => {
        const { agent: _agent, session: _session, upstreamMessageId: _id, ...record } = oldCodexCall(input);
        return record;
      }),
    );
    expect((await report(cli)).code).toBe(0);
  });

  test('says that a price is unknown', async () => {
    const cli = await withLogs();
    const path = addLog(cli.paths.home, 'codex-0.98.0');
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('gpt-5.2', 'made-up-9'));
    const { report: found } = await report(cli);
    expect(found.total).toMatchObject({ bypassed_requests: 3, bypassed_usd: 0, unpriced_requests: 3 });
    const { stdout } = await cli.run(['coverage']);
    expect(stdout).toContain('unpriced');
    expect(stdout).toContain('3 requests of unknown price: gw prices set MODEL');
    await cli.run(['prices', 'set', 'made-up-9', '--input', '1', '--output', '2']);
    // All input at one price: the user set none for cached input.
    expect((await report(cli)).report.total.bypassed_usd).toBe((6_027 * 1 + 177 * 2) / 1e6);
  });

  test('looks as far back as it is told, and counts damaged lines', async () => {
    const cli = await withLogs();
    const path = addLog(cli.paths.home, 'claude-2.1.197');
    appendFileSync(path, '{"usage":\n');
    expect((await report(cli, ['--since', '2026-11-22T19:32:24Z'])).report.total.requests).toBe(1);
    expect((await report(cli, ['--since', '20m'])).report.total.requests).toBe(0);
    const others = ['opencode', 'kilo', 'cline', 'qwen', 'copilot', 'goose', 'gemini'].map((agent) => ({
      ...{ agent, files: 0, lines: 0, damaged_lines: 0, unread_files: [] },
    }));
    expect((await report(cli)).report.logs).toEqual([
      { agent: 'codex', files: 0, lines: 0, damaged_lines: 0, unread_files: [] },
      { agent: 'claude', files: 1, lines: 17, damaged_lines: 1, unread_files: [] },
      ...others,
    ]);
    expect((await cli.run(['coverage'])).stdout).toContain('1 damaged line in the logs of Claude Code');
  });

  test('says so where there are no logs', async () => {
    const { code, stdout } = await (await withLogs()).run(['coverage']);
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining('No requests in the logs of Codex, Claude Code, opencode, Kilo Code'),
    ]);
  });

  test.each([
    [['continue'], 2, "gw can't read the logs of Continue. It reads those of codex, claude, opencode, kilo"],
    [['cursor'], 5, 'gw knows no agent "cursor"'],
    [['--since', 'soon'], 2, '--since soon is not a time'],
    [['--since', '2027-01-01'], 2, '--since 2027-01-01 is in the future'],
  ])('refuses %j', async (args, code, message) => {
    const failed = await (await withLogs()).run(['coverage', ...args]);
    expect([failed.code, failed.stderr]).toEqual([code, expect.stringContaining(message)]);
  });
});

describe('what goes around gw while an agent is connected', () => {
  /** Codex and Continue, connected before or after the calls in Codex's log. */
  async function connected(at: string): Promise<CliHome> {
    const cli = await withLogs('codex-0.169.0');
    const connection = (key_id: number | null) => ({
      key_id,
      connected_at: at,
      proof: { state: 'not_run', request_id: null, went_to: null },
      files: [],
    });
    writeFileSync(
      cli.paths.connections,
      JSON.stringify({ codex: connection(1), continue: connection(2), goose: connection(null) }),
      { mode: 0o600 },
    );
    return cli;
  }

  const agentsOf = async (cli: CliHome) => {
    const { stdout } = await cli.run(['status', '--json']);
    return (JSON.parse(stdout) as { agents: unknown }).agents;
  };

  test('is in the status, with the agents that are connected', async () => {
    const cli = await connected('2026-11-22T19:00:00.000Z');
    await cli.record(...[1, 2].map(codexCall));
    const rest = {
      state: 'connected',
      connected_at: '2026-11-22T19:00:00.000Z',
      checked_since: '2026-11-22T19:00:00.000Z',
    };
    expect(await agentsOf(cli)).toEqual([
      { agent: 'codex', ...rest, bypassed_requests: 1, checked_all: true },
      { agent: 'continue', ...rest, bypassed_requests: null, checked_all: true },
    ]);
    const { stdout } = await cli.run(['status'], { columns: 120 });
    expect(stdout).toContain('agents     ! 1 request of codex since 19:00 went around gw: gw coverage codex');
    const dashboard = await cli.run(['dashboard', '--json']);
    expect(JSON.parse(dashboard.stdout)).toMatchObject({
      agents: [{ agent: 'codex', bypassed_requests: 1 }, {}],
    });
    expect((await cli.run(['dashboard', '--once'], { columns: 160 })).code).toBe(0);
  });

  test('is a warning of gw doctor', async () => {
    const cli = await connected('2026-11-22T19:00:00.000Z');
    await cli.record(...[1, 2].map(codexCall));
    const findings = async () => {
      const { stdout } = await cli.run(['doctor', '--json']);
      const all = JSON.parse(stdout) as { name: string; state: string; message: string }[];
      return all.filter(({ name }) => name === 'agents').map(({ state, message }) => `${state} ${message}`);
    };
    const unread = "ok Continue is connected; gw can't read its log";
    expect(await findings()).toEqual([
      'warning Codex is connected, but its log has 1 request since 19:00 that did not come through gw',
      unread,
    ]);
    await cli.record({ ...codexCall(3), timeMs: Date.parse('2026-11-22T19:32:20Z') });
    expect(await findings()).toEqual([
      'ok Codex is connected; nothing in its log since 19:00 went around gw',
      unread,
    ]);
  });

  test('does not include what was there before', async () => {
    const cli = await connected('2026-11-22T19:40:00.000Z');
    expect(await agentsOf(cli)).toMatchObject([{ agent: 'codex', bypassed_requests: 0 }, {}]);
  });
});
