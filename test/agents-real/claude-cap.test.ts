import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { TestGateway } from '../support/gateway.ts';
import { seededRandom } from '../support/random.ts';
import { json, type Script } from '../support/scripts.ts';
import { events } from '../wire/support/event-scripts.ts';
import { messageStream, messageUsage, text, toolUse } from '../wire/support/messages-shapes.ts';
import { realAgent } from './agents.ts';
import { start } from './programs.ts';
import { GW, IN_PROJECT, stageFor } from './stage.ts';

const MODEL = 'claude-sonnet-4-6';
const CAP_NANO_USD = 5e9;
/** What one file adds to the conversation, in tokens of four bytes: twenty of them make 150,000. */
const FILES = 20;
const OUTPUT_TOKENS = 3_000;

interface MessagesRequest {
  model: string;
  tools?: unknown[];
  system?: unknown;
  messages: { content: string | { type: string }[] }[];
}

/**
 * A provider whose model reads one file after another and then says that it is done. It counts four bytes a token, reads
 * what it counted for the request before from its cache, and bills what it says: `billedNanoUsd`, at the list price of
 * Claude Sonnet 4.6.
 */
function reader(home: string) {
  const state = { billedNanoUsd: 0, largest: 0, cached: 0, messages: 0, answers: 0 };
  const script: Script = async (exchange) => {
    const body = (await exchange.body).toString();
    const request = JSON.parse(body) as MessagesRequest;
    const { tools, system, messages } = request;
    const count = Math.ceil(JSON.stringify([tools, system, messages]).length / 4);
    if (exchange.request.path.includes('/count_tokens')) {
      await json(200, { input_tokens: count })(exchange);
      return;
    }
    const isNew = messages.length <= state.messages || count <= state.cached;
    const read = isNew ? 0 : state.cached;
    const written = count - read;
    const perToken = body.includes('"ttl":"1h"') ? 6_000 : 3_750;
    const kind = perToken === 6_000 ? 'ephemeral_1h_input_tokens' : 'ephemeral_5m_input_tokens';
    state.messages = messages.length;
    state.cached = count;
    state.largest = Math.max(state.largest, count);
    const results = messages.filter(
      ({ content }) => Array.isArray(content) && content.some(({ type }) => type === 'tool_result'),
    ).length;
    const limit = Number(/"max_tokens":(\d+)/.exec(body)?.[1]);
    const output = Math.min(limit, OUTPUT_TOKENS);
    state.billedNanoUsd += read * 300 + written * perToken + output * 15_000;
    const usage = messageUsage(0, output, {
      cache_read_input_tokens: read,
      cache_creation_input_tokens: written,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0, [kind]: written },
    });
    const calls = tools && tools.length > 0 && body.includes('Read them all') && results < FILES;
    const file = join(home, 'work', `file-${results}.txt`);
    const content = calls
      ? [toolUse(`toolu_${state.answers}`, 'Read', { file_path: file })]
      : [text('That is all of them.')];
    await events(
      messageStream(content, {
        startUsage: { ...usage, output_tokens: 1 },
        endUsage: usage,
        stopReason: calls ? 'tool_use' : 'end_turn',
        // Claude Code joins answers of the same id.
        rest: { id: `msg_${state.answers++}`, model: request.model },
      }),
    )(exchange);
  };
  return { state, script };
}

/** A file of 30 kB that resembles no other. */
function words(file: number): string {
  const random = seededRandom(`file ${file}`);
  const line = () => `${random(50).toString('base64').replaceAll(/[+/=]/g, ' ')}\n`;
  return Array.from({ length: 450 }, line).join('');
}

function posted(gateway: TestGateway): number {
  return gateway.db.prepare('SELECT max(posted_nano_usd) FROM budget_periods').pluck().get() as number;
}

test('Claude Code spends the $5 of its cap, growing to 150,000 tokens, and is told why it is refused', async () => {
  const claude = realAgent('claude');
  const newer = { ...claude.package, spec: '@anthropic-ai/claude-code@2.1.329' };
  const { path, gateway, home, env } = await stageFor({ ...claude, package: newer, files: () => ({}) });
  for (let i = 0; i < FILES; i++) writeFileSync(join(home, 'work', `file-${i}.txt`), words(i));
  const provider = reader(home);
  gateway.upstream.script(provider.script);
  const gw = (...words: string[]) => start(process.execPath, [GW, ...words], env, home).output;
  const ask = (prompt: string) =>
    gw('run', ...IN_PROJECT, '--', path, '-p', '--model', MODEL, '--permission-mode', 'auto', prompt);

  expect(await gw('budget', 'set', '5', ...IN_PROJECT)).toContain('$5.00');
  let refusal = '';
  while (!refusal.includes('402')) refusal = await ask('Read them all');
  const spentAtRefusal = posted(gateway);
  // What is left pays for smaller questions.
  let last = '';
  while (!last.includes('402')) last = await ask('Say hello');
  const spent = posted(gateway);
  console.log({ spentAtRefusal, spent, largest: provider.state.largest });

  expect(spent).toBe(provider.state.billedNanoUsd);
  expect(spent).toBeLessThanOrEqual(CAP_NANO_USD);
  expect(provider.state.largest).toBeGreaterThan(150_000);
  // The largest request needs up to 15 % of the cap.
  expect(spentAtRefusal).toBeGreaterThan(0.85 * CAP_NANO_USD);
  expect(spent).toBeGreaterThan(0.95 * CAP_NANO_USD);
  const needs = (await gateway.records()).flatMap(
    ({ detail }) => (detail.need as { input_bound: string } | undefined) ?? [],
  );
  expect(needs.slice(1).map((need) => need.input_bound)).toEqual(needs.slice(1).map(() => 'edit'));
  const events = gateway.db.prepare('SELECT type FROM events ORDER BY sequence').pluck().all();
  expect(events[0]).toBe('budget.threshold_reached');
  expect(events).toContain('request.blocked');
  expect(refusal).toMatch(
    /API Error: 402 budget web\/daily has no room for this request: \$4\.\d\d of \$5\.00 is spent, and claude-sonnet-4-6 needs up to \$0\.\d+ \(at most \d+ input tokens, from an earlier report, and 1024 output tokens\)\. It resets at .* To raise the cap: gw budget set 10 --period daily -p web/,
  );
}, 600_000);
