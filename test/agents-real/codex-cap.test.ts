import { expect, test } from 'vitest';
import type { Script } from '../support/scripts.ts';
import { events } from '../wire/support/event-scripts.ts';
import { completedEvents, responseUsage } from '../wire/support/responses-shapes.ts';
import { realAgent } from './agents.ts';
import { start } from './programs.ts';
import { GW, IN_PROJECT, stageFor } from './stage.ts';

const CAP_NANO_USD = 2e9;

/** Thinks for 8,000 tokens at a time, as far as the request lets it, and counts four bytes a token. */
const thinker: Script = async (exchange) => {
  const body = (await exchange.body).toString();
  const { model, max_output_tokens: limit = 8_000 } = JSON.parse(body);
  const usage = responseUsage(Math.ceil(body.length / 4), Math.min(limit, 8_000));
  await events(completedEvents(['Hello you'], { model, usage }))(exchange);
};

test('Codex, whose every request may search the web, spends its cap to the end', async () => {
  const codex = realAgent('codex');
  const { path, gateway, home, env } = await stageFor(codex);
  gateway.upstream.script(thinker);
  const gw = (...words: string[]) =>
    start('/bin/sh', ['-c', 'cd "$HOME/work" && exec "$0" "$@"', process.execPath, GW, ...words], env, home)
      .output;
  await gw('budget', 'set', String(CAP_NANO_USD / 1e9), ...IN_PROJECT);
  let said = '';
  for (let i = 0; i < 40 && !said.includes('has no room'); i++)
    said = await gw('run', ...IN_PROJECT, '--', path, ...codex.args);
  const spent = gateway.db.prepare('SELECT max(posted_nano_usd) FROM budget_periods').pluck().get() as number;
  const records = await gateway.records();
  expect(said).toContain('has no room for this request');
  expect(spent).toBeLessThanOrEqual(CAP_NANO_USD);
  expect(spent).toBeGreaterThan(0.95 * CAP_NANO_USD);
  expect(records[0]?.detail.left_out).toBeUndefined();
  expect(records.at(-2)?.detail.left_out).toEqual(['tools[] (web_search)']);
}, 300_000);
