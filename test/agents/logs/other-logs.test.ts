import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { COPILOT_LOG } from '../../../src/agents/logs/copilot-log.ts';
import { GEMINI_LOG } from '../../../src/agents/logs/gemini-log.ts';
import type { AgentLog } from '../../../src/agents/logs/logged-call.ts';
import { QWEN_LOG } from '../../../src/agents/logs/qwen-log.ts';
import { identifyLog, readLogs } from '../../../src/agents/logs/read-logs.ts';
import { AGENTS } from '../../../src/agents/table.ts';
import { tmpHome } from '../../support/tmp-home.ts';
import { addLog } from './logs.ts';

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
