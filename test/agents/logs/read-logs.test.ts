import { appendFileSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { CLAUDE_LOG } from '../../../src/agents/logs/claude-log.ts';
import { CODEX_LOG } from '../../../src/agents/logs/codex-log.ts';
import type { AgentLog } from '../../../src/agents/logs/logged-call.ts';
import { opencodeLog } from '../../../src/agents/logs/opencode-log.ts';
import { type ReadOptions, readLogs } from '../../../src/agents/logs/read-logs.ts';
import { seededRandom } from '../../support/random.ts';
import { tmpHome } from '../../support/tmp-home.ts';
import { addCompressedLog, addLog, addOpencodeLog, CLAUDE_FOLDER, changeDatabase } from './logs.ts';

/** Reads the logs of a home with these fixtures. */
async function read(log: AgentLog, names: string[], options: Partial<ReadOptions> = {}) {
  const home = tmpHome();
  for (const name of names) addLog(home, name);
  return readLogs(log, { home, env: {}, since: 0, ...options });
}

const ids = (calls: readonly { messageId: string }[]) => calls.map(({ messageId }) => messageId);

describe("Claude Code's logs", () => {
  test('have each call once, with its ids and all kinds of tokens', async () => {
    const { calls, files, lines, damaged } = await read(CLAUDE_LOG, ['claude-2.1.197']);
    expect([files, lines, damaged.size]).toEqual([1, 16, 0]);
    // The first answer has three blocks, each on a line of its own.
    expect(ids(calls)).toEqual(['msg_0004abcdef', 'msg_0005abcdef', 'msg_0006abcdef', 'msg_0007abcdef']);
    expect(calls[0]).toEqual({
      key: 'msg_0004abcdef',
      messageId: 'msg_0004abcdef',
      requestId: 'req_0004abcdef',
      sessionId: '1455c850-b5b4-46f8-8612-47daabb68f33',
      agentVersion: '2.1.197',
      provider: '',
      model: 'claude-sonnet-4-5',
      at: Date.parse('2026-11-22T19:32:22.305Z'),
      usage: {
        inputTokens: 24 + 1_004 + 304,
        cachedInputTokens: 1_004,
        cacheWriteTokens: 204,
        cacheWrite1hTokens: 100,
        audioInputTokens: 0,
        cachedAudioInputTokens: 0,
        imageInputTokens: 0,
        cachedImageInputTokens: 0,
        outputTokens: 44,
        reasoningTokens: 0,
        audioOutputTokens: 0,
        imageOutputTokens: 44,
      },
      cwd: '/home/me/shop',
    });
  });

  // https://github.com/lis186/ccxray/issues/565, https://github.com/ccusage/ccusage/issues/1762
  test('of the agents of a workflow are read, and an answer is one call in whatever sessions it stands', async () => {
    const home = tmpHome();
    const nested = `${CLAUDE_FOLDER}/1455c850-b5b4-46f8-8612-47daabb68f33/subagents/workflows/wf_1`;
    const path = addLog(home, 'claude-2.1.197', nested);
    const once = await readLogs(CLAUDE_LOG, { home, env: {}, since: 0 });
    expect(once.calls).toHaveLength(4);
    const elsewhere = readFileSync(path, 'utf8').replaceAll('1455c850', '2455c850');
    writeFileSync(join(home, CLAUDE_FOLDER, 'other.jsonl'), elsewhere);
    const twice = await readLogs(CLAUDE_LOG, { home, env: {}, since: 0 });
    expect([twice.files, ids(twice.calls)]).toEqual([2, ids(once.calls)]);
  });

  test('may repeat calls in the log of a copied session', async () => {
    const both = await read(CLAUDE_LOG, ['claude-2.1.197', 'claude-2.1.197-copy']);
    expect(both.files).toBe(2);
    expect(ids(both.calls)).toEqual(ids((await read(CLAUDE_LOG, ['claude-2.1.197'])).calls));
  });

  test('are read in the format of 2.1.329, and in the folder of CLAUDE_CONFIG_DIR', async () => {
    const home = tmpHome();
    addLog(home, 'claude-2.1.329', 'elsewhere/projects/shop/session/subagents');
    const env = { CLAUDE_CONFIG_DIR: join(home, 'elsewhere') };
    const { calls } = await readLogs(CLAUDE_LOG, { home, env, since: 0 });
    expect(ids(calls)).toEqual(['msg_0011abcdef', 'msg_0012abcdef']);
    expect(calls[0]?.agentVersion).toBe('2.1.329');
  });

  test('keep the usage that came last of an answer that was logged while it streamed', async () => {
    const line = (output: number, at: string) => assistant({ output, timestamp: `2026-11-22T10:00:0${at}Z` });
    const { calls } = await readLines([line(1, '1.000'), line(40, '2.000'), line(3, '3.000')]);
    expect(calls.map(({ usage, at }) => [usage.outputTokens, new Date(at).toISOString()])).toEqual([
      [40, '2026-11-22T10:00:01.000Z'],
    ]);
  });

  test('of a relay that gives all answers one id have a call for each prompt', async () => {
    const answer = (input: number) => assistant({ id: 'same', requestId: undefined, input });
    const { calls } = await readLines([answer(10), answer(10), answer(25)]);
    expect(calls.map(({ usage }) => usage.inputTokens)).toEqual([10, 25]);
  });

  test('have messages that cost nothing: those of Claude Code itself, and those without usage', async () => {
    const { calls, damaged } = await readLines([
      assistant({ model: '<synthetic>' }),
      assistant({ input: 0, output: 0 }),
      { type: 'user', message: { role: 'user', content: 'what is "usage"?' } },
      { type: 'assistant', message: 'usage', usage: null },
    ]);
    expect([calls, damaged.size]).toEqual([[], 0]);
  });
});

describe("Codex's logs", () => {
  test('have each response with its id', async () => {
    const { calls } = await read(CODEX_LOG, ['codex-0.169.0']);
    expect(ids(calls)).toEqual(['resp_0001abcdef', 'resp_0002abcdef', 'resp_0003abcdef']);
    expect(calls[0]).toMatchObject({
      requestId: '',
      sessionId: '01a204be-bfbb-79b3-aefc-6b924343e9c8',
      agentVersion: '0.169.0',
      provider: 'gw',
      model: 'gpt-5.2',
      usage: { inputTokens: 2_001, cachedInputTokens: 1_501, outputTokens: 51, reasoningTokens: 10 },
      cwd: '/home/me/shop',
    });
  });

  test('of a fork have its own calls under its own session', async () => {
    const { calls } = await read(CODEX_LOG, ['codex-0.169.0', 'codex-0.169.0-fork']);
    expect(calls.map(({ messageId, sessionId }) => [messageId, sessionId.slice(0, 8)])).toEqual([
      ['resp_0001abcdef', '01a204be'],
      ['resp_0002abcdef', '01a204be'],
      ['resp_0003abcdef', '01a204be'],
      ['resp_0013abcdef', '01a204bf'],
    ]);
  });

  // https://github.com/ccusage/ccusage/issues/1349: 14,741 copied lines in a file, all of the day of the fork.
  test.each(['', 'the id of its parent'])(
    'of a fork without response ids, whose head has "%s", count what it has copied as its parent does',
    async (named) => {
      const home = tmpHome();
      const parent = addLog(home, 'codex-0.98.0');
      const lines = readFileSync(parent, 'utf8').trim().split('\n');
      const [head = ''] = lines;
      const meta = JSON.parse(head);
      const at = '2026-11-23T08:00:00.000Z';
      const own = {
        ...{ ...meta, timestamp: at },
        payload: {
          ...{ ...meta.payload, id: '00000000-0000-7000-8000-000000000000' },
          ...(named ? { forked_from_id: meta.payload.id } : {}),
        },
      };
      const copied = lines.map((line) => JSON.stringify({ ...JSON.parse(line), timestamp: at }));
      const usage = { input_tokens: 70_000, cached_input_tokens: 0, output_tokens: 900 };
      const info = { total_token_usage: usage, last_token_usage: { ...usage, input_tokens: 77 } };
      const last = { timestamp: at, type: 'event_msg', payload: { type: 'token_count', info } };
      // It stands before its parent.
      const path = join(dirname(parent), 'rollout-a-fork.jsonl');
      writeFileSync(path, [JSON.stringify(own), ...copied, JSON.stringify(last)].join('\n').concat('\n'));
      const { calls } = await readLogs(CODEX_LOG, { home, env: {}, since: 0 });
      const day = (call: { at: number }) => new Date(call.at).toISOString().slice(8, 10);
      expect(
        calls.map((call) => [call.usage.inputTokens, call.sessionId.slice(0, 4), day(call)]).sort(),
      ).toEqual([
        [2_008, '01a2', '22'],
        [2_009, '01a2', '22'],
        [2_010, '01a2', '22'],
        [77, '0000', '23'],
      ]);
    },
  );

  test('without response ids, as 0.98 writes them, count each total once', async () => {
    const { calls } = await read(CODEX_LOG, ['codex-0.98.0']);
    expect(calls.map(({ messageId, usage }) => [messageId, usage.inputTokens, usage.outputTokens])).toEqual([
      ['', 2_008, 58],
      ['', 2_009, 59],
      ['', 2_010, 60],
    ]);
  });

  test('are read in the folder of CODEX_HOME, and when they are archived', async () => {
    const home = tmpHome();
    addLog(home, 'codex-0.98.0', 'elsewhere/archived_sessions');
    const env = { CODEX_HOME: join(home, 'elsewhere') };
    expect((await readLogs(CODEX_LOG, { home, env, since: 0 })).calls).toHaveLength(3);
  });

  test('are read where Codex has compressed them', async () => {
    const home = tmpHome();
    addCompressedLog(home);
    const { calls, lines, unread } = await readLogs(CODEX_LOG, { home, env: {}, since: 0 });
    const plain = await read(CODEX_LOG, ['codex-0.169.0']);
    expect([calls, lines, unread]).toEqual([plain.calls, plain.lines, []]);
  });

  test.each([
    ['of another kind', () => Buffer.from('x')],
    ['cut short', (whole: Buffer) => whole.subarray(0, 1_000)],
  ])('that are compressed and %s are named', async (_, damage) => {
    const home = tmpHome();
    const path = addCompressedLog(home);
    writeFileSync(path, damage(readFileSync(path)));
    const { unread } = await readLogs(CODEX_LOG, { home, env: {}, since: 0 });
    expect(unread).toEqual([path]);
  });
});

describe("opencode's database", () => {
  const readDatabase = (home: string, since = 0) =>
    readLogs(opencodeLog('opencode'), { home, env: {}, since });

  test('has each answer once, in the session that it was given in', async () => {
    const home = tmpHome();
    addOpencodeLog(home);
    const { calls, files, lines, damaged } = await readDatabase(home);
    expect([files, lines, damaged.size]).toEqual([1, 8, 0]);
    expect(calls.map(({ sessionId, model }) => [sessionId.slice(0, 12), model])).toEqual([
      ['ses_dfa980b6', 'gpt-5.2'],
      // The fork has a copy of it.
      ['ses_dfa97f24', 'claude-sonnet-4-5'],
      ['ses_dfa932b0', 'gpt-5.2'],
    ]);
    expect(calls[0]).toMatchObject({
      agentVersion: '1.18.33',
      provider: 'openai',
      usage: { inputTokens: 1_202, cachedInputTokens: 200, outputTokens: 50, reasoningTokens: 20 },
      cwd: '/home/me/shop',
    });
    expect(calls[1]?.usage).toMatchObject({
      inputTokens: 904,
      cachedInputTokens: 500,
      cacheWriteTokens: 300,
      outputTokens: 40,
    });
  });

  test('is read beside a running opencode, whose newest rows are in the log of the database', async () => {
    const home = tmpHome();
    const path = addOpencodeLog(home);
    const running = new Database(path);
    onTestFinished(() => void running.close());
    utimesSync(path, new Date(0), new Date(0));
    running.exec(
      "UPDATE message SET data = replace(data, '1006', '2006') WHERE id = 'msg_2056cde4b001BpyttJ9lgUmej0'",
    );
    const { calls } = await readDatabase(home, Date.parse('2026-11-22T22:40:00Z'));
    expect(calls.map(({ usage }) => usage.inputTokens)).toEqual([2_206]);
  });

  test('may have running and damaged messages', async () => {
    const home = tmpHome();
    const path = addOpencodeLog(home);
    changeDatabase(
      path,
      `UPDATE message SET data = replace(data, '"completed"', '"begun"') WHERE id = 'msg_20567fbfa001LYlNhGKClptA9s';
       UPDATE message SET data = substr(data, 1, 200) WHERE id = 'msg_2056cde4b001BpyttJ9lgUmej0';`,
    );
    const { calls, damaged } = await readDatabase(home);
    expect(calls).toHaveLength(1);
    expect([...damaged]).toEqual([[path, [1]]]);
  });

  test('of a version that gw does not know is named', async () => {
    const home = tmpHome();
    const path = addOpencodeLog(home);
    changeDatabase(path, 'ALTER TABLE message RENAME TO messages');
    expect((await readDatabase(home)).unread).toEqual([path]);
  });

  test("has the same form in Kilo Code's folder", async () => {
    const home = tmpHome();
    addOpencodeLog(home, 'data/kilo');
    const env = { XDG_DATA_HOME: join(home, 'data') };
    expect((await readLogs(opencodeLog('kilo'), { home, env, since: 0 })).calls).toHaveLength(3);
  });
});

describe('reading logs', () => {
  test('counts damaged lines and goes on', async () => {
    const home = tmpHome();
    const path = addLog(home, 'claude-2.1.197');
    const whole = readFileSync(path, 'utf8');
    const [answer = ''] = whole.split('\n').filter((line) => line.includes('msg_0007abcdef'));
    appendFileSync(path, `${answer.slice(0, 200)}\n\0\0\0\n\n${answer.replace('"usage":{', '"usage":')}\r\n`);
    const { calls, damaged, lines } = await readLogs(CLAUDE_LOG, { home, env: {}, since: 0 });
    expect(ids(calls)).toHaveLength(4);
    expect([...damaged]).toEqual([[path, [17, 18, 20]]]);
    expect(lines).toBe(16 + 4);
  });

  test('never fails on a damaged log, and loses no more than what is damaged', async () => {
    const random = seededRandom('damage');
    const below = (limit: number) => random(4).readUInt32LE() % limit;
    for (const [log, name] of [
      [CLAUDE_LOG, 'claude-2.1.197'],
      [CODEX_LOG, 'codex-0.169.0'],
      [CODEX_LOG, 'codex-0.98.0'],
    ] as const) {
      const home = tmpHome();
      const path = addLog(home, name);
      const whole = readFileSync(path);
      const { calls: known } = await readLogs(log, { home, env: {}, since: 0 });
      for (let run = 0; run < 60; run++) {
        const start = below(whole.length);
        // Shorter than three lines.
        const end = start + 1 + below(300);
        const filling = [Buffer.alloc(end - start), Buffer.alloc(end - start, '"'), Buffer.alloc(0)][
          below(3)
        ];
        const bytes = Buffer.concat([whole.subarray(0, start), filling ?? whole, whole.subarray(end)]);
        writeFileSync(path, bytes);
        const { calls } = await readLogs(log, { home, env: {}, since: 0 });
        expect([run, Math.abs(calls.length - known.length) <= 3]).toEqual([run, true]);
        for (const count of calls.flatMap(({ usage }) => Object.values(usage)))
          expect(Number.isSafeInteger(count) && count >= 0).toBe(true);
      }
    }
  });

  test('leaves a last line that is still being written for later', async () => {
    const home = tmpHome();
    const path = addLog(home, 'claude-2.1.197');
    const whole = readFileSync(path, 'utf8');
    writeFileSync(path, whole.slice(0, whole.indexOf('msg_0007abcdef') + 100));
    const { calls, damaged } = await readLogs(CLAUDE_LOG, { home, env: {}, since: 0 });
    expect([ids(calls).length, damaged.size]).toEqual([3, 0]);
  });

  test('reads lines that are longer than what is read at once', async () => {
    const long = 'x'.repeat(3 * 1024 * 1024);
    const { calls, damaged } = await readLines([
      assistant({ id: 'msg_1', text: long }),
      { type: 'user', content: long },
      assistant({ id: 'msg_2' }),
    ]);
    expect([ids(calls), damaged.size]).toEqual([['msg_1', 'msg_2'], 0]);
  });

  test('leaves out what is older than `since`: files by their date, calls by their own', async () => {
    const home = tmpHome();
    const since = Date.parse('2026-11-22T19:32:23Z');
    addLog(home, 'claude-2.1.197');
    const old = addLog(home, 'claude-2.1.329');
    utimesSync(old, 0, 0);
    const { calls, files } = await readLogs(CLAUDE_LOG, { home, env: {}, since });
    expect([files, ids(calls)]).toEqual([1, ['msg_0006abcdef', 'msg_0007abcdef']]);
  });

  test('stops when its time is over', async () => {
    const home = tmpHome();
    addLog(home, 'claude-2.1.197');
    expect(await readLogs(CLAUDE_LOG, { home, env: {}, since: 0, isOver: () => true })).toMatchObject({
      calls: [],
      complete: false,
    });
  });

  test('finds nothing where there is no folder', async () => {
    const { calls, files } = await readLogs(CODEX_LOG, { home: tmpHome(), env: {}, since: 0 });
    expect([calls, files]).toEqual([[], 0]);
  });
});

interface Answer {
  id?: string;
  requestId?: string | undefined;
  model?: string;
  input?: number;
  output?: number;
  text?: string;
  timestamp?: string;
}

/** A line of Claude Code's log. */
function assistant(answer: Answer): object {
  const { id, requestId, model, input, output, text, timestamp } = {
    id: 'msg_a',
    requestId: 'req_a',
    model: 'claude-sonnet-4-5',
    input: 10,
    output: 5,
    text: 'Hi',
    timestamp: '2026-11-22T10:00:00.000Z',
    ...answer,
  };
  const usage = { input_tokens: input, output_tokens: output };
  const message = { id, model, role: 'assistant', content: [{ type: 'text', text }], usage };
  return { type: 'assistant', message, ...(requestId && { requestId }), timestamp, sessionId: 's' };
}

/** Reads a log of Claude Code with these lines. */
function readLines(lines: readonly object[]) {
  const home = tmpHome();
  const path = join(home, CLAUDE_FOLDER, 's.jsonl');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return readLogs(CLAUDE_LOG, { home, env: {}, since: 0 });
}
