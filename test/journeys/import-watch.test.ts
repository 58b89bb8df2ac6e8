import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { SessionView, UsageView } from '../../src/operations/schemas/usage.ts';
import { addLog, addOpencodeLog, CLAUDE_FOLDER } from '../agents/logs/logs.ts';
import { commandLineOf } from '../cli/cli-home.ts';
import { startGateway, type TestGateway, until } from '../support/gateway.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

/** A moment after the logs were written. */
const NOW = Date.parse('2026-11-22T23:00:00Z');

async function startWatching(settings: Record<string, string> = { 'import.watch': 'on' }) {
  const user = tmpHome();
  const clock = createVirtualClock(NOW);
  const gateway = await startGateway({ clock, env: { HOME: user }, settings });
  const cli = commandLineOf(gateway, 'locally', clock);
  cli.env.HOME = user;
  const imported = () =>
    gateway.db
      .prepare<
        [],
        [string, number]
      >(`SELECT n.name, count(*) FROM imported_calls c JOIN names n ON n.id = c.agent_id
        GROUP BY 1 ORDER BY 1`)
      .raw()
      .all();
  return { user, clock, gateway, cli, imported };
}

/** Lets the daemon's time pass until a condition holds: changes of files are told of in real time. */
async function passUntil(clock: VirtualClock, isSo: () => boolean): Promise<number> {
  const start = clock.now();
  await until(async () => {
    await clock.advance(250);
    return isSo();
  });
  return clock.now() - start;
}

/** Lets seconds pass in which nothing may be imported. */
async function pass(clock: VirtualClock, gateway: TestGateway): Promise<void> {
  for (let i = 0; i < 40; i++) {
    await clock.advance(250);
    await gateway.committed();
  }
}

describe('with import.watch', () => {
  test('what agents log beside gw is imported as it is logged, once', async () => {
    const { user, clock, gateway, cli, imported } = await startWatching();
    const log = join(user, CLAUDE_FOLDER, 'session.jsonl');
    mkdirSync(dirname(log), { recursive: true });
    const lines = readFileSync(addLog(tmpHome(), 'claude-2.1.329'), 'utf8').trimEnd().split('\n');
    writeFileSync(log, '');
    // Half a line is one that is still being written.
    for (const line of lines) {
      appendFileSync(log, line.slice(0, 100));
      appendFileSync(log, `${line.slice(100)}\n`);
    }
    await passUntil(clock, () => imported().length > 0);
    const [first] = imported();
    expect(first).toEqual(['claude', expect.any(Number)]);
    const usage = await cli.json<UsageView>([
      'usage',
      '--source',
      'imported',
      '-g',
      'agent',
      '--from',
      '2026-11-01',
    ]);
    expect(usage.total.requests).toBe(first?.[1]);
    expect((await cli.json<UsageView>(['usage', '--from', '2026-11-01'])).total.requests).toBe(0);
    const sessions = await cli.json<SessionView[]>(['sessions']);
    expect(sessions.reduce((sum, { requests }) => sum + requests, 0)).toBe(first?.[1]);
    expect(sessions[0]).toMatchObject({ source: 'imported', agent: 'claude', project_id: 'default' });
    expect(await cli.json(['sessions', '--source', 'gw'])).toEqual([]);
    expect((await cli.run(['sessions'])).stdout).toMatch(/^\S+ +claude +imported /m);
    const [row] = await cli.json<{ imported: number; already_imported: number }[]>(['import', 'claude']);
    expect(row).toMatchObject({ imported: 0, already_imported: first?.[1] });
    // Copies of a session, and other agents.
    addLog(user, 'claude-2.1.329', `${CLAUDE_FOLDER}-copy`);
    addLog(user, 'codex-0.169.0');
    addOpencodeLog(user);
    await passUntil(clock, () => imported().length === 3);
    await pass(clock, gateway);
    expect(imported()).toEqual([first, ['codex', expect.any(Number)], ['opencode', 3]]);
  });

  test('a log that grows is read from where it was, and anew when it is replaced', async () => {
    const { user, clock, gateway, cli, imported } = await startWatching();
    const log = addLog(user, 'claude-2.1.197');
    await passUntil(clock, () => imported().length > 0);
    const before = imported()[0]?.[1] ?? 0;
    const call = (id: string) =>
      `${JSON.stringify({
        type: 'assistant',
        sessionId: 's',
        timestamp: '2026-11-22T22:59:00Z',
        requestId: `req_${id}`,
        message: {
          id: `msg_${id}`,
          model: 'claude-sonnet-4-5',
          usage: { input_tokens: 9, output_tokens: 1 },
        },
      })}\n`;
    appendFileSync(log, call('more'));
    const took = await passUntil(clock, () => imported()[0]?.[1] === before + 1);
    expect(took).toBeLessThanOrEqual(5_000);
    const [session] = await cli.json<SessionView[]>(['sessions', 's']);
    // 9 tokens at $3 and one at $15 for a million.
    expect(session).toMatchObject({
      source: 'imported',
      requests: 1,
      input_tokens: 9,
      cost_nano_usd: 42_000,
    });
    const view = (await gateway.get('/v1/gw/dashboard')).json() as { data: { imported: SessionView[] } };
    expect(view.data.imported).toContainEqual(session);
    const { stdout } = await cli.run(['top', '--once'], { columns: 200 });
    expect(stdout).toMatch(/IMPORTED SESSIONS, AT LIST PRICE/);
    rmSync(log);
    writeFileSync(log, call('anew'));
    await passUntil(clock, () => imported()[0]?.[1] === before + 2);
    // Agents rewrite a log in place, with less of the past and more at its end:
    // https://github.com/junhoyeo/tokscale/issues/994
    writeFileSync(log, call('rewritten') + call('longer') + call('last'));
    await passUntil(clock, () => imported()[0]?.[1] === before + 5);
  });

  test('what came through gw is left out, and nothing is read once it is off', async () => {
    const { user, clock, gateway, cli, imported } = await startWatching();
    const through = readFileSync(addLog(tmpHome(), 'claude-2.1.329'), 'utf8');
    const ids = [...new Set([...through.matchAll(/"id":"(msg_[^"]+)"/g)].map(([, id]) => id))];
    await cli.record(
      ...ids.map((upstreamMessageId) => ({
        ...{ timeMs: Date.parse('2026-11-22T19:32:30Z'), agent: 'claude' },
        ...(upstreamMessageId && { upstreamMessageId }),
      })),
    );
    addLog(user, 'claude-2.1.329');
    addLog(user, 'codex-0.169.0');
    await passUntil(clock, () => imported().length > 0);
    await pass(clock, gateway);
    expect(imported().map(([agent]) => agent)).toEqual(['codex']);
    await cli.run(['config', 'set', 'import.watch', 'off']);
    await gateway.get('/v1/models');
    addOpencodeLog(user);
    await pass(clock, gateway);
    expect(imported().map(([agent]) => agent)).toEqual(['codex']);
  });

  test('gw import --watch switches it on', async () => {
    const { user, clock, gateway, cli, imported } = await startWatching({});
    addLog(user, 'codex-0.169.0');
    await pass(clock, gateway);
    expect(imported()).toEqual([]);
    const { stderr } = await cli.run(['import', '--watch']);
    expect(stderr).toContain('gw config set import.watch off');
    expect(imported().map(([agent]) => agent)).toEqual(['codex']);
    await gateway.get('/v1/models');
    addOpencodeLog(user);
    await passUntil(clock, () => imported().length === 2);
    expect((await cli.run(['import', '--watch', 'codex'])).code).toBe(2);
  });
});
