import { describe, expect, test } from 'vitest';
import { closeTrial } from '../../../src/store/optimizer/trials.ts';
import { type CliHome, cliHome } from '../cli-home.ts';

const NOON = Date.UTC(2026, 0, 1, 12);

/** A home with conversations of 10,000 tokens. Each side is [number of conversations, about dollars per million tokens]. */
async function onTrial(sides: { treated: [number, number]; heldOut: [number, number] }): Promise<CliHome> {
  const cli = cliHome();
  const record = ([count, dollars]: [number, number], heldOut: boolean) =>
    Array.from({ length: count }, (_, i) => ({
      timeMs: NOON,
      savedTokens: heldOut ? 0 : 100,
      costNanoUsd: Math.round(dollars * 1e7 * (0.95 + (i % 11) / 100)),
      trial: { conversation: i, heldOut, level: 'safe', originalTokens: 10_000 },
    }));
  await cli.record(...record(sides.treated, false), ...record(sides.heldOut, true));
  return cli;
}

const reportOf = async (cli: CliHome, ...args: string[]) =>
  (await cli.run(['optimize', 'report', ...args])).stdout;

describe('gw optimize report', () => {
  test('compares the bill with what it would have been, judged by held-out conversations', async () => {
    const cli = await onTrial({ treated: [400, 2], heldOut: [40, 3] });
    expect(await reportOf(cli)).toMatchInlineSnapshot(`
      "Optimizer, project default, level safe

      model                prompts     conversations  requests  tokens  billed  per 1M
      openai/gpt-4.1-mini  compressed            400       400   4.00M   $8.00   $2.00
                           held out               40        40    400k   $1.20   $2.99

      It pays: compressing saved $3.96, give or take $0.1213 (95% confidence), 33% of the bill.

      Billed is everything that providers charged for these requests, including
      output, cache reads and cache writes. Tokens are those of the original
      conversations, estimated the same way on both sides.
      "
    `);
    expect(await cli.json(['optimize', 'report', '-p', 'default'])).toMatchObject({
      holdout_percent: 2,
      projects: [
        {
          project_id: 'default',
          level: 'safe',
          verdict: 'saves',
          held_out_conversations: 40,
          switched_off: null,
          models: [
            { model: 'openai/gpt-4.1-mini', is_compared: true, held_out: { usd_per_million_tokens: 2.9895 } },
          ],
        },
      ],
    });
  });

  test.each([
    ['saved', [400, 2], [40, 3], 'project default: compression saved 33% of the bill, give or take 1%'],
    ['cost', [400, 3], [40, 2], 'project default: compression cost 50% of the bill, give or take 1%'],
  ] as const)('gw usage says the share of the bill that it %s', async (_, treated, heldOut, line) => {
    const cli = await onTrial({ treated: [...treated], heldOut: [...heldOut] });
    expect((await cli.run(['usage', '--from', '2026-01-01', '--to', '2026-01-01'])).stdout).toContain(
      `${line}: gw optimize report\n`,
    );
  });

  test('gw usage says nothing of the bill while too few were held out', async () => {
    const cli = await onTrial({ treated: [400, 2], heldOut: [12, 3] });
    const { stdout } = await cli.run(['usage', '--from', '2026-01-01', '--to', '2026-01-01']);
    expect(stdout).toContain('saved $0.00 and 40,000 tokens');
    expect(stdout).not.toContain('of the bill');
  });

  test.each([
    ['nothing yet', undefined, 'Not enough data yet: no request had a prompt of 500 or more tokens.'],
    ['too few', { treated: [400, 2], heldOut: [12, 3] }, 'Not enough data yet: 12 of at least 30 held-out'],
    ['a loss', { treated: [400, 3], heldOut: [40, 2] }, 'It does not pay: compressing cost $4.'],
    ['no difference', { treated: [400, 2], heldOut: [40, 2] }, 'No clear difference: compressing '],
  ] as const)('says so of %s', async (_, sides, words) => {
    const cli = sides
      ? await onTrial({ treated: [...sides.treated], heldOut: [...sides.heldOut] })
      : cliHome();
    expect(await reportOf(cli)).toContain(words);
  });

  test('says so if nothing is held out', async () => {
    const cli = await onTrial({ treated: [400, 2], heldOut: [1, 3] });
    await cli.run(['config', 'set', 'optimizer.holdout', '0']);
    expect(await reportOf(cli)).toContain('optimizer.holdout is 0');
    expect((await cli.run(['config', 'set', 'optimizer.holdout', '51'])).stderr).toContain('from 0 to 50');
    expect((await cli.run(['optimize', 'report', '-p', 'none'])).code).toBe(5);
  });

  test('says, like doctor and config list, why the optimizer is off and how to switch it on', async () => {
    const cli = await onTrial({ treated: [400, 3], heldOut: [40, 2] });
    await cli.run(['config', 'set', 'optimizer.projects.default', 'off']);
    expect(await reportOf(cli)).toContain('The optimizer is off.');
    const counts = { treatedConversations: 400, heldOutConversations: 40 };
    closeTrial(await cli.open(), 1, { at: NOON, savedNanoUsd: -4e9, marginNanoUsd: 1e8, ...counts });
    const again = 'gw config set optimizer.projects.default safe';
    expect(await reportOf(cli)).toMatchInlineSnapshot(`
      "Optimizer, project default, level off

      Switched off automatically at 2026-01-01 13:00:00: compressing cost $4.00 more than it saved, give or take
      $0.10, over 400 conversations against 40 held out.
      To switch it on again: gw config set optimizer.projects.default safe

      Billed is everything that providers charged for these requests, including
      output, cache reads and cache writes. Tokens are those of the original
      conversations, estimated the same way on both sides.
      "
    `);
    expect(await cli.json(['optimize', 'report'])).toMatchObject({
      projects: [{ switched_off: { saved_usd: -4, held_out_conversations: 40, switch_on: again } }],
    });
    expect((await cli.run(['doctor'])).stdout).toContain(`to fix: ${again}`);
    const listed = () => cli.run(['config', 'list'], { columns: 200 });
    expect((await listed()).stdout).toContain(
      'switched off automatically, because it cost more than it saved: gw optimize report',
    );
    await cli.run(again.split(' ').slice(1));
    expect((await listed()).stdout).not.toContain('switched off automatically');
    expect((await cli.run(['doctor'])).stdout).toContain('not switched off automatically for any project');
  });
});
