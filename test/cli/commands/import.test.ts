import { appendFileSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ImportRow } from '../../../src/cli/commands/import.ts';
import type { SessionView, UsageView } from '../../../src/operations/schemas/usage.ts';
import { createArchive } from '../../../src/store/archive/archive.ts';
import { createPruning } from '../../../src/store/database/retention.ts';
import { inTransaction } from '../../../src/store/database/write.ts';
import type { RequestRecord } from '../../../src/store/ledger/record.ts';
import { NO_USAGE } from '../../../src/usage.ts';
import { addCompressedLog, addLog, addOpencodeLog, CLAUDE_FOLDER } from '../../agents/logs/logs.ts';
import { MODEL, startGateway } from '../../support/gateway.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { type CliHome, cliHome, commandLineOf } from '../cli-home.ts';

/** A moment after the logs were written. */
const NOW = Date.parse('2026-11-22T23:00:00Z');
const CLAUDE_SESSION = '1455c850-b5b4-46f8-8612-47daabb68f33';
const CLAUDE_LOGS = ['claude-2.1.197', 'claude-2.1.197-copy', 'claude-2.1.329'];

async function withLogs(...names: string[]): Promise<CliHome> {
  const cli = cliHome({ timezone: 'UTC' });
  await cli.clock.advance(NOW - cli.clock.now());
  for (const name of names) addLog(cli.paths.home, name);
  return cli;
}

const importing = (cli: CliHome, ...words: string[]) => cli.json<ImportRow[]>(['import', ...words]);

const usageOf = async (cli: CliHome, source: string, ...args: string[]) =>
  cli.json<UsageView>(['usage', '--source', source, '-g', 'agent', ...args]);

/** A call of the first log as gw records it. */
const recorded = (number: number): Partial<RequestRecord> & { timeMs: number } => ({
  timeMs: Date.parse('2026-11-22T19:32:21Z'),
  agent: 'claude',
  session: CLAUDE_SESSION,
  upstreamMessageId: `msg_000${number}abcdef`,
  usage: { ...NO_USAGE, inputTokens: 1_320 + 3 * number, outputTokens: 40 + number },
  costNanoUsd: 1_000_000,
});

describe('gw import', () => {
  test('adds what real agents logged, to the token, at list price and apart from what came through gw', async () => {
    const cli = await withLogs(...CLAUDE_LOGS, 'codex-0.169.0', 'codex-0.169.0-fork');
    addCompressedLog(cli.paths.home);
    addOpencodeLog(cli.paths.home);
    const rows = await importing(cli);
    expect(rows.map((row) => [row.source, row.files, row.lines, row.imported, row.sessions])).toEqual([
      ['codex', 3, 70, 4, 2],
      ['claude-code', 3, 65, 6, 2],
      ['opencode', 1, 8, 3, 3],
    ]);
    // 165 uncached, 6,045 cached, 1,245 written for 5 minutes and 600 for an hour, 285 out.
    expect(rows[1]).toMatchObject({ cost_nano_usd: 14_852_250, unpriced: 0, damaged_lines: 0 });
    const { data } = await usageOf(cli, 'imported');
    const tokens = data.map((row) => [
      ...[row.agent, row.requests, row.input_tokens, row.cached_input_tokens, row.cache_write_tokens],
      ...[row.output_tokens, row.reasoning_tokens, row.unpriced_requests],
    ]);
    expect(new Set(tokens)).toEqual(
      new Set([
        ['claude', 6, 8_055, 6_045, 1_845, 285, 0, 0],
        ['codex', 4, 8_019, 6_019, 0, 219, 40, 0],
        ['opencode', 3, 3_312, 900, 300, 140, 40, 0],
      ]),
    );
    const models = await cli.json<UsageView>(['usage', '--source', 'imported', '-g', 'model']);
    expect(models.data.map(({ model }) => model).sort()).toEqual([
      'anthropic/claude-sonnet-4-5',
      'openai/gpt-5.2',
    ]);
    const sessions = await cli.json<UsageView>(['usage', '--source', 'imported', '-g', 'session']);
    expect(sessions.data).toHaveLength(7);
  });

  test('is a no-op the second time, under either name of Claude Code and by file', async () => {
    const cli = await withLogs(...CLAUDE_LOGS);
    const [first] = await importing(cli, 'claude');
    const before = await usageOf(cli, 'imported');
    const file = join(cli.paths.home, 'elsewhere.txt');
    copyFileSync(addLog(cli.paths.home, 'claude-2.1.329'), file);
    const again = await importing(cli, 'claude-code', file);
    expect([first, ...again].map((row) => [row?.source, row?.imported, row?.already_imported])).toEqual([
      ['claude-code', 6, 0],
      ['claude-code', 0, 6],
      ['claude-code', 0, 2],
    ]);
    expect(await usageOf(cli, 'imported')).toEqual(before);
  });

  test('counts each call once when two imports of a long log run at the same time', async () => {
    const cli = await withLogs();
    const folder = join(cli.paths.home, CLAUDE_FOLDER);
    mkdirSync(folder, { recursive: true });
    const lines = Array.from({ length: 1_201 }, (_, i) => ({
      type: 'assistant',
      timestamp: new Date(NOW - i * 60_000).toISOString(),
      sessionId: 's',
      requestId: `req_${i}`,
      message: { id: `msg_${i}`, model: 'claude-sonnet-4-5', usage: { input_tokens: 10, output_tokens: i } },
    }));
    writeFileSync(join(folder, 'long.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    await cli.run(['keys']);
    const rows = (await Promise.all([importing(cli, 'claude'), importing(cli, 'claude')])).flat();
    expect(rows.map((row) => row.imported + row.already_imported)).toEqual([1_201, 1_201]);
    expect(rows.reduce((sum, row) => sum + row.imported, 0)).toBe(1_201);
    expect((await usageOf(cli, 'imported')).total).toMatchObject({
      requests: 1_201,
      input_tokens: 12_010,
      output_tokens: (1_200 * 1_201) / 2,
      cost_nano_usd: 12_010 * 3_000 + ((1_200 * 1_201) / 2) * 15_000,
    });
  });

  test('leaves out what came through gw', async () => {
    const cli = await withLogs('claude-2.1.197');
    await cli.record(...[4, 5].map(recorded));
    const [row] = await importing(cli, 'claude');
    expect(row).toMatchObject({ imported: 2, already_imported: 0, already_in_ledger: 2 });
    expect((await usageOf(cli, 'gw')).total.requests).toBe(2);
    expect((await usageOf(cli, 'imported')).total.requests).toBe(2);
    expect((await usageOf(cli, 'all')).total).toMatchObject({
      requests: 4,
      output_tokens: 44 + 45 + 46 + 47,
    });
  });

  test('leaves out what came through gw so long ago that only its figures are kept', async () => {
    const cli = await withLogs('claude-2.1.197');
    await cli.record(...[4, 5, 6, 7].map(recorded), { ...recorded(9), timeMs: NOW - 60_000 });
    const db = await cli.open();
    inTransaction(db, () => createArchive(db).takeOver(NOW));
    inTransaction(db, () => createPruning(db).requests(NOW, 3_600_000));
    expect(await cli.json(['requests'])).toHaveLength(1);
    expect((await importing(cli, 'claude'))[0]).toMatchObject({ imported: 0, already_in_ledger: 4 });
  });

  test('is in no other figure: status, sessions, requests, budgets, coverage, the status line', async () => {
    const cli = await withLogs('claude-2.1.197');
    await cli.run(['budget', 'set', '1']);
    await cli.record(recorded(4));
    const lines = [
      ...[
        'status',
        'sessions --source gw',
        'requests',
        'budget',
        'usage',
        'usage -g model',
        'usage -g project',
        'keys',
      ],
      ...['coverage', `usage --session ${CLAUDE_SESSION} -g day`],
    ];
    const readAll = () => Promise.all(lines.map((line) => cli.run([...line.split(' '), '--json'])));
    const statusLine = () =>
      cli.run(['statusline'], { stdin: JSON.stringify({ session_id: CLAUDE_SESSION }) });
    const before = [...(await readAll()), await statusLine()];
    expect((await importing(cli, 'claude'))[0]?.imported).toBe(3);
    expect([...(await readAll()), await statusLine()]).toEqual(before);
  });

  test('lists sessions as imported, and as its own once gw sees them, from then on', async () => {
    const cli = await withLogs('claude-2.1.197');
    await importing(cli, 'claude');
    const list = () => cli.json<SessionView[]>(['sessions']);
    const imported = { id: CLAUDE_SESSION, source: 'imported', requests: 4 };
    expect(await list()).toMatchObject([imported]);
    await cli.record({ ...recorded(9), timeMs: NOW - 60_000 });
    const seen = { id: CLAUDE_SESSION, source: 'gw', first_at: '2026-11-22T22:59:00.000Z', requests: 1 };
    expect(await list()).toMatchObject([seen, imported]);
  });

  test('counts and names damaged lines, and calls of unknown price', async () => {
    const cli = await withLogs();
    const path = addLog(cli.paths.home, 'claude-2.1.197');
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('claude-sonnet-4-5', 'house-model'));
    appendFileSync(path, '{"usage":\n\0\0\n');
    const { code, stdout } = await cli.run(['import', 'claude-code'], { columns: 120 });
    expect(code).toBe(0);
    expect(stdout).toContain(`2 damaged lines in ${path}, left out: 17, 18`);
    expect(stdout).toMatch(/claude-code +1 +18 +4 +0 +0 +unpriced/);
    expect((await cli.run(['usage', '--source', 'imported'])).stdout).toMatch(/^Imported usage by day/);
    expect((await usageOf(cli, 'imported')).total).toMatchObject({
      requests: 4,
      unpriced_requests: 4,
      cost_usd: 0,
    });
    const [row] = await importing(cli, 'claude-code');
    expect(row).toMatchObject({ damaged_lines: 2, damaged: [{ file: path, lines: [17, 18] }] });
  });

  test('shows its progress on a terminal', async () => {
    const cli = await withLogs('claude-2.1.197');
    const { stderr } = await cli.run(['import'], { tty: true, columns: 120 });
    expect(stderr).toContain(`${'█'.repeat(30)}\x1b[39m 100 %  reading the logs of Claude Code`);
    expect(stderr.endsWith('\r\x1b[K')).toBe(true);
    expect((await cli.run(['import'])).stderr).toBe('');
  });

  test('says so where there is nothing to import', async () => {
    const cli = await withLogs();
    expect((await cli.run(['import'])).stdout).toContain('Found no session logs');
    expect(await importing(cli)).toEqual([]);
    expect((await cli.run(['usage', '--source', 'imported'])).stdout).toContain('No imported requests.');
    const refused = await cli.run(['usage', '--source', 'all', '--status', 'ok']);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('imported usage has none')]);
    expect(await importing(cli, 'codex')).toMatchObject([{ source: 'codex', files: 0, imported: 0 }]);
  });

  test.each([
    [['continue'], 2, "gw can't read the logs of Continue"],
    [['cursor'], 5, 'there is no agent and no file "cursor"'],
    [[process.execPath], 1, 'is no session log of Codex, Claude Code, opencode, Kilo Code'],
    [['/'], 2, '/ is a folder'],
  ])('refuses %j', async (words, code, message) => {
    const failed = await (await withLogs()).run(['import', ...words]);
    expect([failed.code, failed.stderr]).toEqual([code, expect.stringContaining(message)]);
  });

  test('works beside a running daemon, and is refused where commands go to another machine', async () => {
    const clock = createVirtualClock(NOW);
    const gateway = await startGateway({ clock, budget: { period: 'daily', capUsd: 0.001 } });
    const here = commandLineOf(gateway, 'locally', clock);
    mkdirSync(join(here.env.HOME ?? '', 'logs'));
    addLog(here.env.HOME ?? '', 'claude-2.1.197');
    expect((await importing(here, 'claude'))[0]).toMatchObject({ imported: 4 });
    // Their cost is ten times the cap.
    const { status } = await gateway.post({
      model: MODEL,
      max_tokens: 1,
      messages: [{ role: 'user', content: 'Hi' }],
    });
    expect(status).toBe(200);
    const read = async (query: string) => {
      const { body } = await gateway.get(`/v1/usage?${query}`);
      return (JSON.parse(body.toString()) as UsageView).total.requests;
    };
    await gateway.settled(1);
    expect([await read(''), await read('source=imported'), await read('source=all')]).toEqual([1, 4, 5]);
    expect((await gateway.get('/v1/usage?source=other')).status).toBe(400);
    expect((await gateway.get('/v1/usage?source=all&status=ok')).status).toBe(400);

    const away = commandLineOf(gateway, 'remotely', clock);
    const refused = await away.run(['import', 'claude']);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('gw import is for the gw of this machine'),
    ]);
    expect((await usageOf(away, 'imported')).total.requests).toBe(4);
  });
});

describe('gw init', () => {
  test('offers what agents have logged', async () => {
    const cli = await withLogs(...CLAUDE_LOGS);
    const offer = 'Claude Code: 2 sessions in 30 days, $0.0149 at list price';
    const noted = await cli.run(['init', '--yes']);
    expect(noted.stderr).toContain(`${offer}. To add them to the reports: gw import`);
    expect((await cli.run(['init', '--json', '--yes'])).stderr).toBe('');

    const args = ['init', '--provider', 'ollama', '--budget', '5'];
    const declined = await cli.run(args, { tty: true, stdin: 'n\r' });
    expect(declined.stderr).toContain(`${offer}. Import them? [Y/n]: `);
    expect((await usageOf(cli, 'imported')).total.requests).toBe(0);
    expect((await cli.run(args, { tty: true, stdin: '\r' })).stdout).toContain('claude-code');
    expect((await usageOf(cli, 'imported')).total.requests).toBe(6);
    expect((await cli.run(args, { tty: true, stdin: '\r' })).stderr).not.toContain('Import them?');
    rmSync(join(cli.paths.home, '.claude'), { recursive: true });
  });
});
