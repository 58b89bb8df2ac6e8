import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CLINE_LOG } from '../../../src/agents/logs/cline-log.ts';
import { COPILOT_LOG } from '../../../src/agents/logs/copilot-log.ts';
import { CURSOR_EXPORT } from '../../../src/agents/logs/cursor-export.ts';
import { GEMINI_LOG } from '../../../src/agents/logs/gemini-log.ts';
import { GOOSE_LOG } from '../../../src/agents/logs/goose-log.ts';
import type { AgentLog } from '../../../src/agents/logs/logged-call.ts';
import { QWEN_LOG } from '../../../src/agents/logs/qwen-log.ts';
import { identifyLog, readLogs } from '../../../src/agents/logs/read-logs.ts';
import { AGENTS, EXPORTING } from '../../../src/agents/table.ts';
import { tmpHome } from '../../support/tmp-home.ts';
import { addClineLog, addGooseLog, addLog, changeDatabase } from './logs.ts';

async function read(log: AgentLog, name: string) {
  const home = tmpHome();
  const path = addLog(home, name);
  expect((await identifyLog(path, AGENTS))?.log).toBe(log);
  // A copy of the session counts nothing twice.
  addLog(home, name, `${path.slice(home.length + 1, path.lastIndexOf('/'))}-copy/chats`);
  return readLogs(log, { home, env: {}, since: 0 });
}

describe("Qwen Code's log", () => {
  test('has each request, those for its memory included', async () => {
    const { calls, files, damaged } = await read(QWEN_LOG, 'qwen-0.15.10');
    expect([files, damaged.size]).toEqual([2, 0]);
    expect(calls.map(({ usage }) => [usage.inputTokens, usage.outputTokens])).toEqual([
      [16_867, 5],
      [8_003, 5],
    ]);
    expect(calls[0]).toMatchObject({
      messageId: 'chatcmpl-test',
      sessionId: '3b24b705-6303-476a-abf6-da1124dddb14',
      agentVersion: '0.15.10',
      model: 'gpt-4.1',
      at: Date.parse('2026-11-28T08:58:20.545Z'),
      cwd: '/home/me/shop',
    });
  });

  test.each([
    ["OpenAI's thoughts are a part of the output", 120, [20, 12]],
    ["Google's are beside it", 132, [32, 12]],
  ])('%s', (_, total, expected) => {
    const event = {
      'event.name': 'qwen-code.api_response',
      'event.timestamp': '2026-11-28T08:58:20.545Z',
      input_token_count: 100,
      output_token_count: 20,
      thoughts_token_count: 12,
      total_token_count: total,
    };
    const call = QWEN_LOG.createParser().parse(JSON.stringify({ systemPayload: { uiEvent: event } }));
    expect([call?.usage.outputTokens, call?.usage.reasoningTokens]).toEqual(expected);
  });
});

test("Copilot CLI's log has each request, in the session that its first line names", async () => {
  const { calls, damaged } = await read(COPILOT_LOG, 'copilot-1.0.102');
  expect(damaged.size).toBe(0);
  expect(calls).toMatchObject([
    {
      messageId: 'chatcmpl-test',
      sessionId: '9cac3fd7-48c1-4780-82af-596d3688c552',
      agentVersion: '1.0.102',
      model: 'gpt-4.1',
      at: Date.parse('2026-11-28T08:58:39.607Z'),
      usage: { inputTokens: 13_182, outputTokens: 5, cachedInputTokens: 0 },
      cwd: '/home/me/shop',
    },
  ]);
});

describe("Gemini CLI's log", () => {
  test('has each answer once, also where its tool calls follow, and the folder of the project', async () => {
    const { calls, damaged } = await read(GEMINI_LOG, 'gemini-0.61.0');
    expect(damaged.size).toBe(0);
    expect(calls.map(({ usage }) => usage)).toMatchObject([
      { inputTokens: 1_000, cachedInputTokens: 300, outputTokens: 32, reasoningTokens: 12 },
      { inputTokens: 2_000, cachedInputTokens: 300, outputTokens: 32, reasoningTokens: 12 },
    ]);
    expect(calls[0]).toMatchObject({
      sessionId: 'ecc0ef32-2821-4655-91a5-e5a1a27f96ca',
      model: 'gemini-2.5-pro',
      at: Date.parse('2026-11-28T10:27:11.063Z'),
      cwd: '/home/me/shop',
    });
  });

  test('of an earlier version is one JSON file, and has the same answers', async () => {
    const home = tmpHome();
    const folder = join(home, '.gemini/tmp/4a68c726/chats');
    mkdirSync(folder, { recursive: true });
    const path = join(folder, 'session-2025-12-17T10-00-ecc0ef32.json');
    // By hand, after ConversationRecord in packages/core/src/services/chatRecordingService.ts of its version 0.20.
    const about = { timestamp: '2025-12-17T10:00:05.000Z', type: 'gemini', model: 'gemini-2.5-pro' };
    const tokens = { input: 1000, output: 20, cached: 300, thoughts: 12, tool: 0, total: 1032 };
    const messages = [
      { id: 'm1', timestamp: '2025-12-17T10:00:00.000Z', type: 'user', content: 'list files' },
      { id: 'm2', content: '', tokens, toolCalls: [], ...about },
    ];
    const session = { sessionId: 's1', projectHash: '4a68c726', startTime: about.timestamp, messages };
    writeFileSync(path, JSON.stringify(session, null, 2));
    writeFileSync(join(folder, 'logs.json'), '[]');
    expect((await identifyLog(path, AGENTS))?.log).toBe(GEMINI_LOG);
    const { calls, files, unread } = await readLogs(GEMINI_LOG, { home, env: {}, since: 0 });
    expect([files, unread]).toEqual([1, []]);
    expect(calls).toMatchObject([
      { key: 'm2', sessionId: 's1', model: 'gemini-2.5-pro', at: Date.parse(about.timestamp), cwd: '' },
    ]);
    const usage = { inputTokens: 1000, cachedInputTokens: 300, outputTokens: 32, reasoningTokens: 12 };
    expect(calls[0]?.usage).toMatchObject(usage);
  });

  test('a subagent names its folders in its first line; what tools read is input', () => {
    const { parse } = GEMINI_LOG.createParser();
    const folder = '/home/me/shop';
    const projectHash = createHash('sha256').update(folder).digest('hex');
    expect(
      parse(JSON.stringify({ sessionId: 's', projectHash, directories: ['/', folder] })),
    ).toBeUndefined();
    const answer = { id: 'm', timestamp: '2026-11-28T10:27:11.063Z', type: 'gemini', model: 'gemini-3-pro' };
    const call = parse(JSON.stringify({ ...answer, tokens: { input: 100, tool: 40, output: 7 } }));
    expect(call).toMatchObject({ sessionId: 's', cwd: folder, usage: { inputTokens: 140, outputTokens: 7 } });
    expect(parse(JSON.stringify({ ...answer, tokens: null }))).toBeUndefined();
  });
});

test("Cline's log has each message, those of subagents in the session that began them, and a copy counts nothing", async () => {
  const home = tmpHome();
  expect((await identifyLog(addClineLog(home), AGENTS))?.log).toBe(CLINE_LOG);
  const { calls, files, unread } = await readLogs(CLINE_LOG, { home, env: {}, since: 0 });
  expect([files, unread]).toEqual([4, []]);
  expect(
    calls.map(({ usage }) => [usage.inputTokens, usage.cachedInputTokens, usage.outputTokens]).sort(),
  ).toEqual([
    [1_001, 101, 11],
    [1_002, 102, 12],
    [1_003, 103, 13],
  ]);
  expect(new Set(calls.map(({ sessionId }) => sessionId))).toEqual(new Set(['1795863273539_2botj']));
  expect(calls[0]).toMatchObject({
    ...{ agentVersion: '3.0.65', provider: 'openai-compatible', model: 'gpt-5.2', cwd: '/home/me/shop' },
  });
});

test("Goose's ledger has each call, cached input within or beside the input, and copies once", async () => {
  const home = tmpHome();
  const path = addGooseLog(home);
  expect((await identifyLog(path, AGENTS))?.log).toBe(GOOSE_LOG);
  const { calls } = await readLogs(GOOSE_LOG, { home, env: {}, since: 0 });
  expect(
    calls.map(({ sessionId, model, usage }) => [
      ...[sessionId, model, usage.inputTokens, usage.cachedInputTokens],
      ...[usage.cacheWriteTokens, usage.outputTokens],
    ]),
  ).toEqual([
    ['20261128_1', 'claude-sonnet-4-5', 1_000, 700, 100, 20],
    ['20261128_1', 'claude-haiku-4-5', 300, 0, 0, 10],
    ['20261128_1', 'claude-sonnet-4-5', 1_140, 900, 200, 30],
    ['20261128_3', 'gpt-4.1', 50, 0, 0, 5],
  ]);
  expect(calls[0]).toMatchObject({ provider: 'anthropic', at: 1_795_860_000_000, cwd: '/home/me/shop' });
  // An earlier version keeps no calls.
  changeDatabase(path, 'DROP TABLE usage_ledger');
  expect(await readLogs(GOOSE_LOG, { home, env: {}, since: 0 })).toMatchObject({ calls: [], unread: [path] });
});

test("Cursor's export has a row a request, whose kinds of input are beside each other", async () => {
  const path = join(tmpHome(), 'usage-events.csv');
  // Rows of real exports: https://github.com/junhoyeo/tokscale/blob/main/crates/tokscale-core/src/sessions/cursor.rs
  writeFileSync(
    path,
    `Date,Kind,Model,Max Mode,Input (w/ Cache Write),Input (w/o Cache Write),Cache Read,Output Tokens,Total Tokens,Cost
"2025-11-13T18:36:05.846Z","Included","auto","No","28342","775","105891","21282","156290","0.19"
"2025-11-13T13:35:04.658Z","On-Demand","gpt-5-codex","No","0","8263","66964","1612","76839","0.03"
"2025-11-13T13:35:04.658Z","Errored, No Charge","gpt-5-codex","No","0","0","0","0","0","-"
`,
  );
  expect((await identifyLog(path, [...AGENTS, ...EXPORTING]))?.log).toBe(CURSOR_EXPORT);
  const { calls, damaged } = await readLogs(CURSOR_EXPORT, { home: '', env: {}, since: 0, files: [path] });
  expect(damaged.size).toBe(0);
  expect(calls.map(({ model, at }) => [model, at])).toEqual([
    ['gpt-5-codex', Date.UTC(2025, 10, 13, 13, 35, 4, 658)],
    ['auto', Date.UTC(2025, 10, 13, 18, 36, 5, 846)],
  ]);
  expect(calls.map(({ usage }) => usage.inputTokens + usage.outputTokens)).toEqual([76_839, 156_290]);
  expect(calls[1]?.usage).toMatchObject({ cachedInputTokens: 105_891, cacheWriteTokens: 28_342 });
});
