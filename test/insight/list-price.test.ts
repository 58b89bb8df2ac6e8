import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CLAUDE_LOG } from '../../src/agents/logs/claude-log.ts';
import { CODEX_LOG } from '../../src/agents/logs/codex-log.ts';
import { readLogs } from '../../src/agents/logs/read-logs.ts';
import { createListPrice } from '../../src/insight/list-price.ts';
import { CLAUDE_FOLDER, CODEX_FOLDER } from '../agents/logs/logs.ts';
import { tmpHome } from '../support/tmp-home.ts';

const price = createListPrice([], join(import.meta.dirname, 'no-prices.json'));

/** What a Claude Code log with this usage costs, in nano-dollars. */
async function priced(model: string, usage: object): Promise<number | undefined> {
  const home = tmpHome();
  mkdirSync(join(home, CLAUDE_FOLDER), { recursive: true });
  const message = { id: 'msg_1', model, usage };
  const line = {
    type: 'assistant',
    sessionId: 's',
    requestId: 'r',
    timestamp: '2026-11-20T12:00:00Z',
    message,
  };
  writeFileSync(join(home, CLAUDE_FOLDER, 's.jsonl'), `${JSON.stringify(line)}\n`);
  const { calls } = await readLogs(CLAUDE_LOG, { home, env: {}, since: 0 });
  expect(calls).toHaveLength(1);
  return calls[0] && price(calls[0]).nanoUsd;
}

test.each<[string, string, object, number]>([
  ['tokens', 'claude-opus-5', { input_tokens: 1_000, output_tokens: 100 }, 7_500_000],
  ['fast mode', 'claude-opus-5', { input_tokens: 1_000, output_tokens: 100, speed: 'fast' }, 15_000_000],
  ['a region', 'claude-opus-5', { input_tokens: 1_000, output_tokens: 100, inference_geo: 'us' }, 8_250_000],
  [
    'searches',
    'claude-opus-5',
    { input_tokens: 1_000, output_tokens: 100, server_tool_use: { web_search_requests: 3 } },
    7_500_000 + 30_000_000,
  ],
  [
    'compaction',
    'claude-opus-5',
    {
      input_tokens: 1_000,
      output_tokens: 100,
      iterations: [
        { type: 'compaction', input_tokens: 180_000, output_tokens: 3_500 },
        { type: 'message', input_tokens: 1_000, output_tokens: 100 },
      ],
    },
    7_500_000 + 180_000 * 5_000 + 3_500 * 25_000,
  ],
  [
    'an advisor of another model',
    'claude-haiku-4-5',
    {
      input_tokens: 1_000,
      output_tokens: 100,
      iterations: [
        { type: 'message', input_tokens: 1_000, output_tokens: 100 },
        { type: 'advisor_message', model: 'claude-opus-5', input_tokens: 2_000, output_tokens: 50 },
      ],
    },
    1_500_000 + 2_000 * 5_000 + 50 * 25_000,
  ],
])('a logged call costs what is billed for %s', async (_, model, usage, nanoUsd) => {
  expect(await priced(model, usage)).toBe(nanoUsd);
});

test('a Codex session that was forked from a fork counts no call twice', async () => {
  const home = tmpHome();
  mkdirSync(join(home, CODEX_FOLDER), { recursive: true });
  const at = '2026-11-20T12:00:00Z';
  const head = (id: string, from?: string) => ({
    timestamp: at,
    type: 'session_meta',
    payload: { id, cwd: '/a', ...(from && { forked_from_id: from }) },
  });
  const turn = { timestamp: at, type: 'turn_context', payload: { model: 'gpt-5.2' } };
  const count = (total: number) => ({
    timestamp: at,
    type: 'event_msg',
    payload: {
      type: 'token_count',
      info: {
        total_token_usage: { input_tokens: total, output_tokens: total },
        last_token_usage: { input_tokens: 100, output_tokens: 10 },
      },
    },
  });
  const a = [head('a'), turn, count(100)];
  const b = [head('b', 'a'), ...a, count(200)];
  const c = [head('c', 'b'), ...b, count(300)];
  for (const [name, lines] of Object.entries({ a, b, c }))
    writeFileSync(
      join(home, CODEX_FOLDER, `rollout-${name}.jsonl`),
      lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
    );
  const { calls } = await readLogs(CODEX_LOG, { home, env: {}, since: 0 });
  expect(calls).toHaveLength(3);
});
