import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cliHome, stopAfterwards } from '../cli-home.ts';

const userMessages = (content: string) => [{ role: 'user', content }];

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
      basis  prior: the built-in rules
      tier   none: the request keeps gpt-5
      "
    `);
    expect(stderr).toContain('No tiers are configured for gpt-5, so the score does not affect routing.');
  });

  test("reads a request of Gemini's API, whose model is in no file", async () => {
    const text = 'Translate "good morning" into Danish';
    const contents = [{ role: 'user', parts: [{ text }] }];
    const stdin = JSON.stringify({ contents, generationConfig: {} });
    const cli = cliHome();
    const [chat, gemini] = [
      await cli.run(['route', '-', '--json'], { stdin: request }),
      await cli.run(['route', '-', '--json', '--model', 'gpt-5'], { stdin }),
    ];
    expect(JSON.parse(gemini.stdout)).toEqual(JSON.parse(chat.stdout));
    expect((await cli.run(['route', '-'], { stdin })).stderr).toContain('gw route --model MODEL FILE');
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
    const google = { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] };
    const named = ['route', '-', '--json', '--model', 'small'];
    const asGemini = await cli.exec(named, { stdin: JSON.stringify(google) });
    expect(JSON.parse(asGemini.stdout)).toMatchObject({
      route: { targets: [{ provider: 'sandbox' }, { provider: 'sandbox' }], budget: { outcome: 'admitted' } },
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
    [['learn', 'labels.jsonl', '-p', 'web', '--fresh'], '', 2, 'gw route learn was removed in this version'],
  ])('%j exits with %i', async (args, stdin, code, message) => {
    const result = await cliHome().run(['route', ...args], { stdin });
    expect(result).toMatchObject({ code, stdout: '' });
    expect(result.stderr).toContain(message);
  });
});

test('gw route --help does not show the refused subcommand', async () => {
  const { stdout } = await cliHome().run(['route', '--help']);
  expect(stdout).toContain('Usage: gw route [options] [file]\n');
  expect(stdout).not.toContain('Commands:');
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

  test('--online reads over feedback, which changes no score', async () => {
    const question = line({ id: 1, messages: userMessages('Hello') });
    const stdin = question + line({ id: 1, feedback: { tier: 'strong', correct: 0 } }) + question;
    const { code, stdout } = await cliHome().run(['route', '--jsonl', '--online'], { stdin });
    expect(code).toBe(0);
    const answers = stdout.trim().split('\n');
    expect(answers).toHaveLength(2);
    expect(answers[0]).toBe(answers[1]);
  });
});
