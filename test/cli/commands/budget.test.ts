import { mkdirSync, realpathSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { tmpHome } from '../../support/tmp-home.ts';
import { cliHome } from '../cli-home.ts';

const NOON = Date.UTC(2026, 0, 1, 12);
const HOUR = 3_600_000;

/** A home whose default project has spent $4.30 since midnight in Paris, 13 hours ago. */
async function spentHome() {
  const cli = cliHome();
  await cli.run(['projects', 'list']);
  await cli.record({ timeMs: NOON - HOUR, costNanoUsd: 4_300_000_000 });
  return cli;
}

describe('gw budget', () => {
  test('set caps a project from the next request, and counts what it spent today', async () => {
    const cli = await spentHome();
    const { code, stdout, stderr } = await cli.run(['budget', 'set', '5']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toBe(
      'Budget default/daily: $4.30 spent of $5.00, alert at 80%, resets 00:00 (Europe/Paris). It applies from the next request.\n',
    );
  });

  test('set caps a session, an agent, a key or each of them; remove takes the same options', async () => {
    const cli = await spentHome();
    await cli.run(['keys', 'create', '--label', 'ci']);
    const session = await cli.run(['budget', 'set', '5', '--session', 'thread-1']);
    expect(session.stderr).toContain('as far as the client says which that is: to be sure, cap the key too');
    await cli.run(['budget', 'set', '5', '--key', 'ci']);
    await cli.run(['budget', 'set', '5', '--per', 'agent']);
    const listed = async () =>
      (await cli.json<{ id: string; scope: unknown }[]>(['budget', 'list'])).map(({ id, scope }) => [
        id,
        scope,
      ]);
    expect(await listed()).toEqual([
      ['default/daily@each:agent', { kind: 'agent', value: null }],
      ['default/daily@key:ci', { kind: 'key', value: 'ci' }],
      ['default/daily@session:thread-1', { kind: 'session', value: 'thread-1' }],
    ]);
    expect((await cli.run(['budget'])).stdout).toContain('default/daily@key:ci');
    expect((await cli.run(['budget', 'remove', '--period', 'daily'])).code).toBe(5);
    expect((await cli.run(['budget', 'remove', '--session', 'thread-1'])).stderr).toContain('Removed budget');
    expect((await cli.run(['budget', 'remove', 'default/daily@key:ci'])).code).toBe(0);
    const ambiguous = await cli.run(['budget', 'remove', '--key', 'ci']);
    expect([ambiguous.code, ambiguous.stderr]).toEqual([
      5,
      'gw: no budget "default/daily@key:ci". See: gw budget list\n',
    ]);
    await cli.run(['budget', 'remove', '--per', 'agent']);
    expect(await listed()).toEqual([]);
  });

  test('set warns of a provider or a model that nothing is known of: its cap would never fill', async () => {
    const cli = cliHome();
    const warningOf = async (...scope: string[]) => {
      const { code, stderr } = await cli.run(['budget', 'set', '5', ...scope]);
      expect(code).toBe(0);
      return /warning: (.*)/.exec(stderr)?.[1];
    };
    expect(await warningOf('--provider', 'opneai')).toBe(
      'gw has no provider "opneai", so this cap counts nothing yet. Did you mean openai? To list them: gw providers list',
    );
    expect(await warningOf('--model', 'openai/gpt-5-mni')).toContain('Did you mean openai/gpt-5-mini');
    for (const unknown of ['opneai/*', 'gtp-5', 'sandbx/large'])
      expect(await warningOf('--model', unknown)).toContain(`gw knows no model that "${unknown}" names`);
    const known = ['openai/gpt-5*', 'gpt-5', 'sandbox/large', 'ollama/qwen3', '*mini', '*'];
    for (const model of known) expect([model, await warningOf('--model', model)]).toEqual([model, undefined]);
    expect(await warningOf('--provider', 'anthropic')).toBeUndefined();
  });

  test('set checks cheaper models: what nothing serves is refused, what has no price yet is named', async () => {
    const cli = cliHome();
    const set = (names: string) => cli.run(['budget', 'set', '5', '--on-limit', `fallback:${names}`]);
    const wrong = await set('sandbox/nope');
    expect(wrong).toMatchObject({ code: 2, stdout: '' });
    expect(wrong.stderr).toContain("The sandbox has no model 'nope'. It has sandbox/echo, sandbox/large");
    expect((await set('openai/gpt-5-minii')).stderr).toContain('Did you mean gpt-5-mini');
    expect(await set('nowhere/some-model')).toMatchObject({ code: 2 });
    expect((await set('openai/gpt-5-mini')).stderr).toContain('gw providers add openai');
    expect((await set('gpt-5-mini')).stderr).toContain('Name one, such as openai/gpt-5-mini');
    expect(await set('sandbox/free')).toMatchObject({ code: 0 });
    await cli.run(['providers', 'add', 'mine', '--base-url', 'http://127.0.0.1:9/v1', '--wire', 'openai']);
    const taken = await set('mine/new-model');
    expect(taken.code).toBe(0);
    expect(taken.stderr).toContain('gw has no price of mine/new-model');
  });

  test('list shows bars, amounts and forecasts', async () => {
    const cli = await spentHome();
    await cli.run(['budget', 'set', '5']);
    await cli.run(['budget', 'set', '500', '--period', 'monthly']);
    await cli.run(['budget', 'set', '--max-rate', '2/hour', '--alert', '50%']);
    const { stdout } = await cli.run(['budget']);
    expect(stdout).toMatchInlineSnapshot(`
      "Budgets (Europe/Paris)

         budget                               spent          cap     left  forecast
      X  default/rolling  ████████████  215%  $4.30  $2.00 in 1h    $0.00  until 14:01
      !  default/daily    ██████████░░   86%  $4.30        $5.00    $0.70  out ~15:06
         default/monthly  █░░░░░░░░░░░    1%  $4.30      $500.00  $495.70  ok to Feb 1

        default/rolling: full: requests are refused until 14:01
        default/daily: at this pace the cap is reached at 15:06; resets 00:00
      "
    `);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  test('list --json has every amount in dollars and in nano-USD', async () => {
    const cli = await spentHome();
    await cli.run(['budget', 'set', '5']);
    expect(await cli.json(['budget', 'list'])).toEqual([
      {
        object: 'budget',
        id: 'default/daily',
        project_id: 'default',
        period: 'daily',
        repo: null,
        scope: null,
        window_seconds: null,
        alert_percent: 80,
        alert_percents: [80],
        alert_usd: 4,
        fallback: null,
        fallback_percent: 100,
        runaway: 'alert',
        cap_usd: 5,
        spent_usd: 4.3,
        held_usd: 0,
        left_usd: 0.7,
        cap_nano_usd: 5_000_000_000,
        spent_nano_usd: 4_300_000_000,
        held_nano_usd: 0,
        left_nano_usd: 700_000_000,
        budget_id: 'default/daily',
        remaining_usd: 0.7,
        remaining_nano_usd: 700_000_000,
        resets_at: '2026-01-01T23:00:00.000Z',
        on_limit: 'block',
        raised_usd: 0,
        raised_until: null,
        exceeded: false,
        reached_at: '2026-01-01T14:06:58.604Z',
      },
    ]);
  });

  test("--repo caps the repository that contains the path, in addition to the project's budget", async () => {
    const cli = await spentHome();
    const repo = join(realpathSync(tmpHome()), 'shop');
    mkdirSync(join(repo, '.git'), { recursive: true });
    mkdirSync(join(repo, 'src'));
    await cli.record({
      timeMs: NOON - HOUR + 1,
      costNanoUsd: 1_000_000_000,
      origin: { process: 'claude', repo },
    });
    const { stderr } = await cli.run(['budget', 'set', '5', '--repo', join(repo, 'src')]);
    expect(stderr).toBe(
      `Budget default/daily@${repo}: $1.00 spent of $5.00, alert at 80%, resets 00:00 (Europe/Paris). It applies from the next request. It counts requests of project default from ${repo}.\n`,
    );
    await cli.run(['budget', 'set', '20']);
    expect((await cli.run(['budget'])).stdout).toContain('default/daily@shop');
    expect(await cli.json(['budget', 'list', '--repo', repo])).toMatchObject([
      { budget_id: 'default/daily', repo: null, spent_usd: 5.3 },
      { budget_id: `default/daily@${repo}`, repo, spent_usd: 1 },
    ]);
    const which = await cli.run(['budget', 'remove']);
    expect(which).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        `  gw budget remove --period daily -p default   # $20.00\n  gw budget remove --period daily -p default --repo '${repo}'   # $5.00\n`,
      ),
    });
    await cli.run(['budget', 'set', '7', '--period', 'monthly', '--repo', repo]);
    const short = `default/monthly@${basename(repo)}`;
    expect((await cli.run(['budget', 'remove', short])).stderr).toBe(
      `Removed budget default/monthly@${repo}.\n`,
    );
    expect((await cli.run(['budget', 'remove', '--repo', repo])).stderr).toBe(
      `Removed budget default/daily@${repo}.\n`,
    );
    expect(await cli.json<unknown[]>(['budget', 'list'])).toHaveLength(1);
  });

  test('--repo is refused outside a repository, and while attribution is off', async () => {
    const cli = cliHome();
    const nowhere = tmpHome();
    const { code, stderr } = await cli.run(['budget', 'set', '5', '--repo', nowhere]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('is not in a git repository. To make it one: git init'),
    ]);
    await cli.run(['config', 'set', 'attribution', 'off']);
    const refused = await cli.run(['budget', 'set', '5', '--repo', nowhere]);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('gw config set attribution on'),
    ]);
  });

  test('a cap of $0 has no reset time', async () => {
    const cli = cliHome();
    expect((await cli.run(['budget', 'set', '0'])).stderr).toBe(
      'Budget default/daily: $0.00 spent of $0.00, alert at 80%. It applies from the next request.\n',
    );
    expect((await cli.run(['budget'])).stdout).toContain('every request that costs money is refused');
  });

  test('check exits with 6 while a budget is full, and names it', async () => {
    const cli = await spentHome();
    await cli.run(['budget', 'set', '5']);
    expect((await cli.run(['budget', 'check'])).code).toBe(0);
    await cli.run(['budget', 'set', '4.30']);
    const { code, stdout, stderr } = await cli.run(['budget', 'check', '-p', 'default']);
    expect({ code, stderr }).toEqual({ code: 6, stderr: 'gw: over budget: default/daily\n' });
    expect(stdout).toContain('X  default/daily');
    expect(stdout).toContain('full: requests are refused until 00:00');
  });

  test('remove deletes a budget, and exits with 5 if there is none', async () => {
    const cli = await spentHome();
    await cli.run(['budget', 'set', '5']);
    expect((await cli.run(['budget', 'remove'])).stderr).toBe('Removed budget default/daily.\n');
    const again = await cli.run(['budget', 'remove']);
    expect(again).toMatchObject({ code: 5, stderr: 'gw: no budget "default/daily". See: gw budget list\n' });
  });

  test('remove accepts the name that list shows', async () => {
    const cli = cliHome();
    await cli.run(['projects', 'add', 'web']);
    for (const project of ['default', 'web']) await cli.run(['budget', 'set', '20', '-p', project]);
    expect((await cli.run(['budget', 'remove', 'web/daily'])).stderr).toBe('Removed budget web/daily.\n');
    const again = await cli.run(['budget', 'remove', 'web/daily']);
    expect(again).toMatchObject({ code: 5, stderr: 'gw: no budget "web/daily". See: gw budget list\n' });
    expect((await cli.run(['budget', 'remove', 'default/daily', '--period', 'monthly'])).code).toBe(2);
    const left = await cli.json<{ budget_id: string }[]>(['budget', 'list']);
    expect(left.map(({ budget_id }) => budget_id)).toEqual(['default/daily']);
  });

  test('remove deletes the only budget, whatever its period, and refuses to choose among several', async () => {
    const cli = await spentHome();
    await cli.run(['budget', 'set', '5', '--period', 'monthly']);
    expect((await cli.run(['budget', 'remove'])).stderr).toBe('Removed budget default/monthly.\n');
    await cli.run(['budget', 'set', '5', '--period', 'monthly']);
    await cli.run(['budget', 'set', '--max-rate', '2/hour']);
    const which = await cli.run(['budget', 'remove']);
    expect([which.code, which.stderr]).toEqual([2, expect.stringContaining('2 budgets match. Choose one:')]);
    expect(which.stderr).toContain('gw budget remove --period rolling -p default   # $2.00 in 1h');
    expect((await cli.run(['budget', 'remove', '--period', 'daily'])).code).toBe(5);
    expect(await cli.json<unknown[]>(['budget', 'list'])).toHaveLength(2);
    await cli.run(['budget', 'remove', '--period', 'rolling']);
    expect(await cli.json<unknown[]>(['budget', 'list'])).toMatchObject([{ budget_id: 'default/monthly' }]);
  });

  test('a budget with almost nothing left is shown as almost full, without a forecast', async () => {
    const cli = await spentHome();
    await cli.run(['budget', 'set', '4.31']);
    const { stdout } = await cli.run(['budget']);
    expect(stdout).toContain('almost out');
    expect(stdout).toContain('default/daily: almost full: $0.01 left; resets 00:00');
    expect(stdout).not.toContain('is reached at');
  });

  test('list says on stderr that there are no budgets, and prints nothing to stdout', async () => {
    const { code, stdout, stderr } = await cliHome().run(['budget', 'list']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toContain('gw budget set 5');
  });

  test.each([
    [['much'], '"much" is not an amount'],
    [['-1'], '"-1" is not an amount'],
    [[], 'missing amount'],
    [['5', '--max-rate', '2/hour'], 'not both'],
    [['--max-rate', '2 an hour'], '"2 an hour" is not a rate'],
    [['--max-rate', '2/second'], 'the window of a rate is from a minute to 31 days'],
    [['5', '--alert', '0'], 'alert percentage 0 is not a whole number from 1 to 100'],
    [['5', '--period', 'yearly'], 'Allowed choices are daily, weekly, monthly, lifetime'],
    [['5', '--per', 'month'], 'Allowed choices are session, agent, key'],
    [['5', '--per', 'key', '--session', 'a'], 'a budget is for one thing: give one of --session and --per'],
    [['5', '--key', 'nobody'], 'project default has no key "nobody": use its label or id'],
  ])('set %j is refused with exit code 2', async (args, message) => {
    const result = await cliHome().run(['budget', 'set', ...args]);
    expect(result.code).toBe(2);
    expect(result.stderr).toContain(message);
  });
});
