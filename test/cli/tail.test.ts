import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cliHome } from './cli-home.ts';

/** Reads the lines that a process prints, one at a time. */
function linesOf(child: ChildProcess): () => Promise<string> {
  onTestFinished(() => void child.kill('SIGKILL'));
  if (!child.stdout) throw new Error('no stdout');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async () => (await lines.next()).value as string;
}

/** Resolves with the message on stderr that gw is following. */
const waiting = (child: ChildProcess) => (child.stderr ? once(child.stderr, 'data') : undefined);

describe('gw tail', () => {
  test('prints the last requests, then each new one, one per line', async () => {
    const cli = cliHome();
    const now = Date.now();
    await cli.run(['projects', 'list']);
    await cli.record({ timeMs: now - 2_000, model: 'old' }, { timeMs: now - 1_000, model: 'last' });
    const child = cli.spawn(['tail', '-n', '1']);
    const next = linesOf(child);
    expect(await next()).toMatch(/^ {3}\d\d:\d\d:\d\d default +last +200 +0>0 +\$0\.00 +812ms$/);
    await waiting(child);
    await cli.record({
      timeMs: Date.now(),
      model: 'claude-sonnet-4',
      outcome: 'upstream_error',
      status: 529,
      detail: { error: 'overloaded\u001b[2J' },
    });
    expect(await next()).toMatch(/^ ! \S+ default +claude-sonnet-4 +529 +upstream error: overloaded\[2J$/);
    const failed = { outcome: 'upstream_failed', status: 502 } as const;
    await cli.record({ timeMs: Date.now(), ...failed, detail: { error: 'upstream_unreachable' } });
    expect(await next()).toMatch(/ 502 +upstream unreachable$/);
  });

  test('prints the matching requests as JSON lines', async () => {
    const cli = cliHome();
    await cli.run(['projects', 'add', 'web']);
    const child = cli.spawn(['tail', '--json', '-p', 'web', '-s', 'ok', '-n', '5']);
    const next = linesOf(child);
    const first = next();
    // gw prints nothing before the first line, so record requests until one comes through.
    for (let found = false; !found; ) {
      await cli.record(
        { timeMs: Date.now(), projectId: 1 },
        { timeMs: Date.now(), projectId: 2, outcome: 'refused', status: 404 },
        { timeMs: Date.now(), projectId: 2, model: 'wanted', costNanoUsd: 5 },
      );
      found = await Promise.race([
        first.then(() => true),
        new Promise<false>((resolve) => setTimeout(resolve, 200, false)),
      ]);
    }
    expect(JSON.parse(await first)).toMatchObject({
      project_id: 'web',
      model: 'wanted',
      outcome: 'ok',
      cost_nano_usd: 5,
    });
  });

  test('rejects a count that is not a number', async () => {
    const { code, stderr } = await cliHome().run(['tail', '-n', 'x']);
    expect([code, stderr]).toEqual([2, 'gw: --lines x is not a whole number from 0 to 10000\n']);
  });
});

describe('gw dashboard --json', () => {
  test('prints what the dashboard shows, in the fields of the other commands', async () => {
    const cli = cliHome();
    await cli.run(['budget', 'set', '5']);
    await cli.record(
      { timeMs: cli.clock.now(), costNanoUsd: 2_000_000_000 },
      { timeMs: cli.clock.now(), outcome: 'blocked', status: 402 },
    );
    const shown = await cli.json<Record<string, unknown>>(['dashboard']);
    expect(shown).toMatchObject({
      status: 'stopped',
      timezone: 'Europe/Paris',
      total: { requests: 2, blocked_requests: 1, cost_usd: 2, cost_nano_usd: 2_000_000_000 },
      requests: [{ outcome: 'blocked' }, { outcome: 'ok', cost_usd: 2 }],
      models: [{ provider: 'openai', model: 'gpt-4.1-mini', requests: 2, cost_usd: 2 }],
    });
    expect(shown.budgets).toEqual(await cli.json(['budget', 'list']));
    expect(shown.hourly_cost_usd).toHaveLength(24);
  });
});
