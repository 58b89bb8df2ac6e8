import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CliHome, cliHome, stopAfterwards } from '../cli-home.ts';

const userMessages = (content: string) => [{ role: 'user', content }];
const THEMES = { hard: 'the spectral lemma of Zorn', easy: 'the banana bread of grandma' };

/** A prompt on a theme. Prompts on different themes differ only in their words. */
const prompt = (theme: keyof typeof THEMES, i: number) =>
  userMessages(`Tell me about ${THEMES[theme]} in chapter ${i}, as far as page ${(i * 7) % 90}`);

/** Labels of a project whose weak tier fails only on the hard theme. */
function labels(count: number): string {
  const lines = Array.from({ length: count }, (_, i) => {
    const theme = i % 2 ? 'hard' : 'easy';
    return { messages: prompt(theme, i), strong_correct: 1, weak_correct: theme === 'easy' };
  });
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

async function scoresOf(cli: CliHome, args: string[] = []): Promise<number[]> {
  const lines = [prompt('easy', 1), prompt('hard', 1)].map((messages, id) =>
    JSON.stringify({ id, messages }),
  );
  const { stdout } = await cli.run(['route', '--jsonl', ...args], { stdin: lines.join('\n') });
  return stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { score: number }).score);
}

describe('gw route', () => {
  const request = JSON.stringify({
    model: 'gpt-5',
    messages: userMessages('Translate "good morning" into Danish'),
  });

  test('explains the score, and that it has no effect without tiers', async () => {
    const { code, stdout, stderr } = await cliHome().run(['route', '-'], { stdin: request });
    expect(code).toBe(0);
    expect(stdout).toMatchInlineSnapshot(`
      "score  0.11 of 1: how much the prompt needs a strong model
      why    writing, short
      basis  prior: the built-in rules; project default is not trained yet (gw route learn FILE)
      tier   none: the request keeps gpt-5
      "
    `);
    expect(stderr).toContain('No tiers are configured for gpt-5, so the score does not affect routing.');
  });

  test('shows the tier that would be chosen, and why it is not applied yet', async () => {
    const cli = cliHome();
    const tiers = 'strong: openai/gpt-5, anthropic/claude-opus-4-1; fast: openai/gpt-5-mini';
    await cli.run(['config', 'set', 'tiers.gpt-5', `${tiers}; share=30%`]);
    const cold = await cli.run(['route', '-'], { stdin: request });
    expect(cold.stdout).toContain(
      'tier   none: the request keeps gpt-5, because too few requests have been scored',
    );
    await cli.run(['config', 'set', 'routing.shares.default', '0']);
    const own = await cli.run(['route', '-'], { stdin: request });
    expect(own.stdout).toContain('tier   fast (openai/gpt-5-mini); decided by the share');
    await cli.run(['config', 'unset', 'routing.shares.default']);
    await cli.run(['config', 'set', 'tiers.gpt-5', tiers]);
    const { stdout } = await cli.run(['route', '-', '--json'], { stdin: request });
    expect(JSON.parse(stdout)).toMatchObject({ tier: { applied: false, share: null, by: 'cold_start' } });
  });

  test.each([
    ['tiers.gpt-5', 'strong: openai/gpt-5', 'nothing to choose'],
    ['tiers.gpt-5', 'strong: openai/gpt-5; fast: opneai/gpt-5-mini', 'gw providers add opneai'],
    ['tiers.gpt-5-mini', 'strong: openai/gpt-5; fast: openai/gpt-5-mini', 'To allow that, add: up'],
    [
      'tiers.gpt-5-nano',
      'strong: openai/gpt-5; fast: openai/gpt-5-mini',
      'openai/gpt-5 costs more than gpt-5-nano',
    ],
    ['routing.shares.default', '300%', 'is no share'],
  ])('refuses %s %s', async (key, value, message) => {
    const { code, stderr } = await cliHome().run(['config', 'set', key, value]);
    expect(code).not.toBe(0);
    expect(stderr).toContain(message);
  });

  test('--json includes the full score', async () => {
    const cli = cliHome();
    const file = join(cli.paths.home, 'request.json');
    writeFileSync(file, request);
    expect(await cli.json(['route', file])).toEqual({
      project_id: 'default',
      model: 'gpt-5',
      score: expect.any(Number),
      basis: 'prior',
      gain: null,
      why: expect.arrayContaining(['short']),
      tier: null,
      route: null,
    });
  });

  test('asks the running daemon for targets, price and room in the budget', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    const body = (fields: object) =>
      JSON.stringify({ model: 'small', max_tokens: 50, messages: userMessages('Hi'), ...fields });
    await cli.run(['config', 'set', 'aliases.small', 'sandbox/small, sandbox/large']);
    await cli.run(['budget', 'set', '5']);
    await cli.exec(['start']);
    const whole = await cli.exec(['route', '-'], { stdin: body({}) });
    expect(whole.stdout).toMatch(
      /\ntarget +sandbox\/small, then sandbox\/large, for at most \$0\.\d+\nbudget admitted; default\/daily has \$5\.00 left\nneed {3}at most [\d,]+ tokens in \(by bytes\) \$[\d.]+, [\d,]+ out \$[\d.]+\n$/,
    );
    const once = await cli.exec(['route', '-', '--json'], { stdin: body({ service: { route: false } }) });
    expect(JSON.parse(once.stdout)).toMatchObject({
      route: {
        why: 'off',
        targets: [{ provider: 'sandbox', state: 'next' }],
        budget: { outcome: 'admitted' },
      },
    });
    const wrong = await cli.exec(['route', '-'], { stdin: body({ max_tokens: -1 }) });
    expect(wrong.stdout).toMatch(/\ntarget +none: gw would refuse the request, 400: .*max_tokens/);
    const unknown = await cli.exec(['route', '-', '--json'], { stdin: body({ model: 'nobody/none' }) });
    expect(JSON.parse(unknown.stdout).route).toEqual({ refused: expect.stringMatching(/^404: no provider/) });
    expect((await cli.exec(['requests', '--json'])).stdout.trim()).toBe('[]');
  }, 60_000);

  test.each([
    [[], '', 2, 'missing file'],
    [['-'], '{}', 2, 'stdin has no messages'],
    [['gone.json'], '', 5, 'there is no file "gone.json"'],
    [['/'], '', 2, '"/" is a folder, not a file'],
    [['-', '-p', 'nobody'], request, 5, 'no project "nobody"'],
    [['-', '--online'], request, 2, '--online requires --jsonl'],
    [['--jsonl', '--json'], '', 2, 'cannot be used with'],
    [['learn', '-'], '', 2, '"-" has no labels'],
    [['learn', 'gone.jsonl'], '', 5, 'there is no file "gone.jsonl"'],
    [['learn', '-'], `${labels(1)}{"messages":[]}`, 2, 'line 2: strong_correct or weak_correct is required'],
    [
      ['learn', '-'],
      '{"messages":[],"weak_correct":7}',
      2,
      'line 1: weak_correct must be a number from 0 to 1',
    ],
    [['learn', '-'], '{"weak_correct":1}', 2, 'line 1: it has no messages'],
    [['learn', '-'], '\n[]', 2, 'line 2: not a JSON object'],
    [['learn', '-', '-p', 'nobody'], labels(1), 5, 'no project "nobody"'],
  ])('%j exits with %i', async (args, stdin, code, message) => {
    const result = await cliHome().run(['route', ...args], { stdin });
    expect(result).toMatchObject({ code, stdout: '' });
    expect(result.stderr).toContain(message);
  });
});

describe('gw route learn', () => {
  test('trains one project, in a file that only its owner can read', async () => {
    const cli = cliHome();
    await cli.run(['projects', 'add', 'web']);
    const before = await scoresOf(cli, ['-p', 'web']);
    const result = await cli.run(['route', 'learn', '-', '-p', 'web'], { stdin: labels(600) });
    expect(result).toEqual({
      code: 0,
      stdout: '',
      stderr: 'Trained project web on 600 labels, 600 in total: the training now scores its prompts.\n',
    });
    expect(statSync(join(cli.paths.home, 'route-web.bin')).mode & 0o777).toBe(0o600);
    const [easy = 0, hard = 0] = await scoresOf(cli, ['-p', 'web']);
    expect(hard).toBeGreaterThan(easy + 0.1);
    expect(await scoresOf(cli)).toEqual(before);

    const stdin = JSON.stringify(prompt('hard', 3));
    const { stdout } = await cli.run(['route', '-', '-p', 'web'], { stdin });
    expect(stdout).toContain('basis  learnt: from 600 labels of project web\ngain   +');
  });

  test('says when there are too few labels, adds to earlier training, and starts over with --fresh', async () => {
    const cli = cliHome();
    const teach = async (count: number, ...more: string[]) => {
      const { stdout } = await cli.run(['route', 'learn', '-', '--json', ...more], { stdin: labels(count) });
      return JSON.parse(stdout) as unknown;
    };
    expect(await teach(40)).toEqual({ project_id: 'default', labels: 40, labels_total: 40, proven: false });
    const stdin = JSON.stringify(prompt('hard', 3));
    expect((await cli.run(['route', '-'], { stdin })).stdout).toContain(
      'do not prove the training better yet',
    );
    expect(await teach(20)).toMatchObject({ labels: 20, labels_total: 60 });
    expect(await teach(20, '--fresh')).toMatchObject({ labels: 20, labels_total: 20 });
  });

  test('is deterministic', async () => {
    const learn = async () => {
      const cli = cliHome();
      await cli.run(['route', 'learn', '-'], { stdin: labels(100) });
      return readFileSync(join(cli.paths.home, 'route-default.bin'));
    };
    expect((await learn()).equals(await learn())).toBe(true);
  });

  test('a damaged file is an error, and --fresh replaces it', async () => {
    const cli = cliHome();
    const file = join(cli.paths.home, 'route-default.bin');
    writeFileSync(file, 'damaged');
    const { code, stderr } = await cli.run(['route', '--jsonl']);
    expect(code).toBe(1);
    expect(stderr).toContain('To start over: gw route learn FILE -p default --fresh');
    expect((await cli.run(['route', 'learn', '-'], { stdin: labels(9) })).code).toBe(1);
    expect((await cli.run(['route', 'learn', '-', '--fresh'], { stdin: labels(9) })).code).toBe(0);
  });
});

describe('gw route --jsonl', () => {
  const line = (value: unknown) => `${JSON.stringify(value)}\n`;

  test('scores each line, and answers an invalid one with an error', async () => {
    const stdin =
      line({ id: 'a', messages: userMessages('Hello') }) +
      line({ id: 'b' }) +
      line({ id: 'c', feedback: {} });
    const { code, stdout } = await cliHome().run(['route', '--jsonl'], { stdin });
    expect(code).toBe(1);
    const answers = stdout.trim().split('\n');
    expect(JSON.parse(answers[0] ?? '')).toEqual({ id: 'a', score: expect.any(Number) });
    expect(answers[1]).toContain('{"id":"b","error":"the line has no messages');
    expect(answers[2]).toBe('{"id":"c","error":"feedback requires --online"}');
  });

  test('--online learns from feedback, does not answer it, and saves no training', async () => {
    const cli = cliHome();
    await cli.run(['route', 'learn', '-'], { stdin: labels(600) });
    const trained = readFileSync(join(cli.paths.home, 'route-default.bin'));
    const question = (id: number) => line({ id, messages: prompt('hard', 1) });
    const feedback = (id: number) => line({ id, feedback: { tier: 'strong', correct: 0 } });
    const turns = Array.from({ length: 50 }, (_, id) => question(id) + feedback(id));
    const { code, stdout } = await cli.exec(['route', '--jsonl', '--online'], { stdin: turns.join('') });
    expect(code).toBe(0);
    const answers = stdout
      .trim()
      .split('\n')
      .map((each) => JSON.parse(each) as { id: number; score: number });
    expect(answers.map(({ id }) => id)).toEqual(turns.map((_, id) => id));
    for (const { score } of answers) expect(score >= 0 && score <= 1).toBe(true);
    expect(answers.at(-1)?.score).toBeLessThan((answers[0]?.score ?? 0) - 0.02);
    expect(readFileSync(join(cli.paths.home, 'route-default.bin')).equals(trained)).toBe(true);
  });

  test.each([
    [{ id: 9, feedback: { tier: 'weak', correct: 1 } }, 'feedback on a prompt that was not scored'],
    [{ id: 1, feedback: { tier: 'middle', correct: 1 } }, 'feedback must be'],
    [{ id: 1, feedback: { tier: 'weak', correct: 2 } }, 'correct must be a number from 0 to 1'],
    [{ id: 1, feedback: null }, 'feedback must be'],
  ])('--online refuses %j', async (feedback, message) => {
    const stdin = line({ id: 1, messages: userMessages('Hello') }) + line(feedback);
    const { code, stdout } = await cliHome().run(['route', '--jsonl', '--online'], { stdin });
    expect(code).toBe(1);
    expect(stdout.split('\n')[1]).toContain(message);
  });
});
