import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CliHome, cliHome } from '../cli-home.ts';

const rows = Array.from({ length: 60 }, (_, id) => ({
  id,
  name: `user ${id}`,
  active: id % 3 === 0,
  plan: 'pro',
}));
const messages = [
  { role: 'user', content: 'Who is active?' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'list', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: 'a', content: JSON.stringify(rows, null, 2) },
];
/** Unusual formatting, to check that it is kept. */
const body = `{"temperature":1.0, "messages": ${JSON.stringify(messages)} ,"model":"gpt-4.1-mini"}`;

function write(cli: CliHome, text: string): string {
  const file = join(cli.paths.home, 'request.json');
  writeFileSync(file, text);
  return file;
}

interface Outcome {
  level: string;
  tokens_exact: boolean;
  saved_tokens: number;
  saved_nano_usd: number | null;
  messages: { index: number; transforms: string[] }[];
}

describe('gw optimize', () => {
  test('shows the saving of each message, its transforms, and the total in dollars', async () => {
    const cli = cliHome();
    const { code, stdout, stderr } = await cli.run(['optimize', write(cli, body), '--no-diff']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatchInlineSnapshot(`
      "Optimizer, level safe

      #  role       before  after  saved  by
      0  user            4      4      -
      1  assistant       0      0      -
      2  tool        1,982    392    80%  json
      ────────────────────────────────────────
         total       1,986    396    80%

      Saves 1,590 of 1,986 input tokens, $0.00064 at openai/gpt-4.1-mini ($0.40 per million, uncached).
      "
    `);
  });

  test("shortens a result in a request of Gemini's API, and leaves the rest as it is", async () => {
    const cli = cliHome();
    const result = (output: string) => [{ functionResponse: { name: 'list', response: { output } } }];
    const contents = [
      { role: 'user', parts: [{ text: 'Who is active?' }] },
      { role: 'model', parts: [{ functionCall: { name: 'list', args: {} } }] },
      { role: 'user', parts: result(JSON.stringify(rows, null, 2)) },
    ];
    const file = write(cli, JSON.stringify({ contents, safetySettings: [] }));
    const { stdout } = await cli.run(['optimize', file, '--output', '-', '--model', 'gemini-2.5-pro']);
    const shortened = JSON.parse(stdout);
    expect(stdout.length).toBeLessThan(JSON.stringify(contents).length / 2);
    const { output } = shortened.contents[2].parts[0].functionResponse.response;
    expect(output).toContain('user 59');
    expect({ ...shortened, contents: [...shortened.contents.slice(0, 2)] }).toEqual({
      contents: contents.slice(0, 2),
      safetySettings: [],
    });
  });

  test('shows removed and added lines, in colour', async () => {
    const cli = cliHome();
    const colour = await cli.run(['optimize', write(cli, body)], { env: { FORCE_COLOR: '1' } });
    expect(colour.stdout).toContain('\u001b[33m- [\u001b[39m');
    const { stdout } = await cli.run(['optimize', write(cli, body)], { columns: 60 });
    expect(stdout).toContain('\n2 tool: json\n- [\n-   {\n-     "id": 0,\n');
    expect(stdout).toMatch(/ {2}\.\.\. \d+ more lines removed\n\+ /);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(110);
  });

  test('--output writes the compressed request, and leaves the rest of it unchanged', async () => {
    const cli = cliHome();
    const file = join(cli.paths.home, 'out.json');
    await cli.run(['optimize', write(cli, body), '--output', file]);
    const text = readFileSync(file, 'utf8');
    expect(text.length).toBeLessThan(body.length / 2);
    expect(
      text.startsWith('{"temperature":1.0, "messages": [{"role":"user","content":"Who is active?"}'),
    ).toBe(true);
    expect(text.endsWith('] ,"model":"gpt-4.1-mini"}')).toBe(true);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const missing = join(cli.paths.home, 'none', 'o.json');
    expect((await cli.run(['optimize', write(cli, body), '--output', missing])).stderr).toMatch(
      /^gw: cannot write .*: there is no folder .*To make it: mkdir -p /,
    );
    const piped = await cli.run(['optimize', '-', '--output', '-'], { stdin: body });
    expect(piped.stdout).toBe(text);
    expect(piped.stderr).toContain('Saves ');
  });

  test.each([
    [
      'messages',
      `{"model":"claude-sonnet-4-5","system":"Be brief.","messages":[
        {"role":"user","content":"Who is active?"},
        {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"list","input":{}},{"type":"tool_use","id":"b","name":"list","input":{}}]},
        {"role":"user","content":[
          {"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":${JSON.stringify(JSON.stringify(rows, null, 2))}}]},
          {"type":"tool_result" ,"tool_use_id":"b","content":${JSON.stringify(JSON.stringify(rows, null, 2))},"cache_control":{"type":"ephemeral"}}]}]}`,
      [0, 1, 2, 2],
    ],
    [
      'responses',
      `{"model":"gpt-4.1-mini","input":[
        {"role":"user","content":"Who is active?"},
        {"type":"function_call","call_id":"a","name":"list","arguments":"{}"},
        {"type":"function_call_output" ,"call_id":"a","output":${JSON.stringify(JSON.stringify(rows, null, 2))}}]}`,
      [0, 1, 2],
    ],
  ])('accepts a request of the %s API', async (_, text, indexes) => {
    const cli = cliHome();
    const file = write(cli, text);
    const outcome = await cli.json<Outcome>(['optimize', file]);
    expect(outcome.messages.map(({ index }) => index)).toEqual(indexes);
    expect(outcome.messages[2]?.transforms).toEqual(['json']);
    expect(outcome.saved_nano_usd).toBeGreaterThan(0);
    const { stdout } = await cli.run(['optimize', file, '--output', '-']);
    expect(stdout.length).toBeLessThan(text.length / 2);
    const frame = (body: string) => body.replace(/"(?:[^"\\]|\\.){200,}"/g, '""');
    const marks = (body: string) => frame(body).replace(/"\[gw: [^"]*"/g, '""');
    expect(marks(stdout)).toBe(marks(text));
  });

  test('accepts an array of messages, and prices it only if a model is named', async () => {
    const cli = cliHome();
    const bare = write(cli, ` ${JSON.stringify(messages)}\n`);
    const unpriced = await cli.json<Outcome>(['optimize', bare]);
    expect(unpriced).toMatchObject({ level: 'safe', tokens_exact: false, saved_nano_usd: null, price: null });
    await cli.run(['config', 'set', 'aliases.mini', 'openai/gpt-4.1-mini']);
    const priced = await cli.json<Outcome>(['optimize', bare, '--model', 'mini']);
    expect(priced).toMatchObject({ price: { provider: 'openai', input_usd_per_million: 0.4 } });
    expect(priced.saved_nano_usd).toBe(priced.saved_tokens * 400);
    expect((await cli.run(['optimize', bare])).stdout).toContain('To see dollars: gw optimize --model MODEL');
  });

  test('uses the configured level, and safe if the optimizer is off', async () => {
    const cli = cliHome();
    const file = write(cli, body);
    const levelOf = async (...args: string[]) => (await cli.json<Outcome>(['optimize', file, ...args])).level;
    expect(await levelOf('--level', 'balanced')).toBe('balanced');
    await cli.run(['config', 'set', 'optimizer.level', 'balanced']);
    expect(await levelOf()).toBe('balanced');
    await cli.run(['config', 'set', 'optimizer.level', 'off']);
    expect(await levelOf()).toBe('safe');
    expect((await cli.run(['optimize', file, '--level', 'off'])).stdout).toContain('The optimizer is off.');
    const short = JSON.stringify([{ role: 'user', content: 'Hello' }]);
    expect((await cli.run(['optimize', '-'], { stdin: short })).stdout).toContain('Nothing to save');
  });

  test.each([
    [['nothing.json'], '', 5, 'there is no file "nothing.json"'],
    [[], '', 2, 'missing file'],
    [['-'], 'Hello', 2, 'stdin is not a JSON object or array'],
    [['-'], 'null', 2, 'stdin is not a JSON object or array'],
    [['-'], '{"prompt":"x"}', 2, 'stdin has no messages'],
    [['-'], '{"messages":["x"]}', 2, 'messages[0] is not an object'],
    [['-', '--level', 'wild'], '[]', 2, 'Allowed choices are off, safe, balanced'],
    [['-', '--json', '--output', '-'], '[]', 2, 'both write to stdout'],
    [['--jsonl', '--diff'], '', 2, 'cannot be used with'],
  ])('%j of %j exits with %i', async (args, stdin, code, message) => {
    const result = await cliHome().run(['optimize', ...args], { stdin });
    expect(result).toMatchObject({ code, stdout: '' });
    expect(result.stderr).toContain(message);
  });
});

describe('gw optimize --jsonl', () => {
  const line = (id: unknown) => JSON.stringify({ id, messages });

  test('answers each line in order, invalid ones with an error, and fails at the end', async () => {
    const stdin = `${line(1)}\n\nnot JSON\n{"id":"two"}\n${line('three\u2028')}`;
    const { code, stdout, stderr } = await cliHome().run(['optimize', '--jsonl'], { stdin });
    const answers = stdout
      .trim()
      .split('\n')
      .map((each) => JSON.parse(each) as { id: unknown; error?: string; messages?: unknown[] });
    expect(answers.map(({ id }) => id)).toEqual([1, null, 'two', 'three\u2028']);
    expect(answers[0]?.messages?.[0]).toEqual(messages[0]);
    expect(answers[0]?.messages?.[2]).toMatchObject({
      tool_call_id: 'a',
      content: expect.stringMatching(/^.{50,1500}$/s),
    });
    expect(answers[3]?.messages).toEqual(answers[0]?.messages);
    expect(answers[1]?.error).toContain('not JSON');
    expect(answers[2]?.error).toContain('has no messages');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'gw: 2 lines failed; see "error" in the output\n',
    });
  });

  test('answers each line at once, and runs until its input ends', async () => {
    const child = cliHome().spawn(['optimize', '--jsonl', '--level', 'off']);
    const answer = () =>
      new Promise<string>((resolve) => child.stdout?.once('data', (data) => resolve(String(data))));
    for (const id of [1, 2]) {
      const answered = answer();
      child.stdin?.write(`${line(id)}\n`);
      expect(JSON.parse(await answered)).toEqual({ id, messages });
    }
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.stdin?.end();
    expect(await ended).toBe(0);
  });
});
