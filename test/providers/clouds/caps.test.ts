import { expect, test } from 'vitest';
import type { ProviderSettings } from '../../../src/config/settings.ts';
import { type TestGateway, until } from '../../support/gateway.ts';
import { ask as askGemini, GENERATE, STREAM, start as startGemini } from '../../support/gemini.ts';
import { json, type Script } from '../../support/scripts.ts';
import { events } from '../../wire/support/event-scripts.ts';
import { messageBody, messageStream, messageUsage, text } from '../../wire/support/messages-shapes.ts';
import { ask, startClouds } from './support/clouds.ts';
import { chunk, frames } from './support/frames.ts';

const CLAUDE = 'anthropic.claude-sonnet-4-5-20250929-v1:0';
const CLOUDS: { name: string; provider: string; model: string; settings: ProviderSettings }[] = [
  { name: 'runtime', provider: 'bedrock', model: `eu.${CLAUDE}`, settings: { region: 'eu-west-1' } },
  {
    name: 'invoke',
    provider: 'bedrock',
    model: `global.${CLAUDE}`,
    settings: { region: 'eu-west-1', surface: 'invoke' },
  },
  {
    name: 'vertex',
    provider: 'vertex',
    model: 'claude-sonnet-4-5@20250929',
    settings: { project: 'p', region: 'europe-west1', keyEnv: 'TOKEN' },
  },
  { name: 'azure', provider: 'azure', model: 'claude-opus-4-8', settings: { baseUrl: '/openai/v1' } },
];

/** Generates as much as the request allows; at Gemini in one candidate with thoughts. */
const greedyGemini: Script = async (exchange) => {
  const body = JSON.parse(String(await exchange.body)) as { generationConfig: { maxOutputTokens: number } };
  const { maxOutputTokens } = body.generationConfig;
  const content = { role: 'model', parts: [{ text: 'Hello' }] };
  const answer = {
    candidates: [{ content, finishReason: 'MAX_TOKENS', index: 0 }],
    usageMetadata: {
      promptTokenCount: 15,
      candidatesTokenCount: 10,
      thoughtsTokenCount: maxOutputTokens - 10,
      totalTokenCount: 15 + maxOutputTokens,
    },
    modelVersion: 'gemini-2.5-flash',
  };
  if (!exchange.request.path.includes(':stream')) return json(200, answer)(exchange);
  return events([['', answer]])(exchange);
};

/** Generates as much as the request allows. */
const greedy =
  (isFramed: boolean): Script =>
  async (exchange) => {
    const body = JSON.parse(String(await exchange.body)) as { max_tokens: number; stream?: boolean };
    const isStream = body.stream === true || /stream/i.test(exchange.request.path);
    const usage = messageUsage(15, body.max_tokens);
    if (!isStream) return json(200, messageBody([text('Hello')], { usage }))(exchange);
    const list = messageStream([text('Hello')], { endUsage: { output_tokens: body.max_tokens } });
    return (isFramed ? frames(list.map(chunk), 500) : events(list))(exchange);
  };

test.each(CLOUDS)(
  'a cap of one dollar is used and never passed: $name',
  async ({ name, provider, model, settings }) => {
    const gateway = await startClouds(
      { [provider]: settings },
      {
        credentials: { bedrock: 'key', azure: 'key' },
        env: { TOKEN: 'token' },
        budget: { capUsd: 1, period: 'daily' },
        settings: { 'admission.max_wait_ms': 60_000 },
      },
    );
    gateway.upstream.script(greedy(name === 'invoke'));
    await mustUseUp(gateway, (stream) => ask(gateway, `${provider}/${model}`, { stream, max_tokens: 4000 }));
  },
);

test('a cap of $1 is used and never passed: gemini', async () => {
  const gateway = await startGemini({
    budget: { capUsd: 1, period: 'daily' },
    settings: { 'admission.max_wait_ms': 60_000 },
  });
  gateway.upstream.script(greedyGemini);
  await mustUseUp(gateway, (stream) =>
    askGemini(gateway, { generationConfig: { maxOutputTokens: 6000 } }, stream ? STREAM : GENERATE),
  );
});

/** Four clients ask, two of them for streams, until the budget is spent. */
async function mustUseUp(gateway: TestGateway, ask: (stream: boolean) => Promise<{ status: number }>) {
  let isSpent = false;
  let sent = 0;
  const client = async (stream: boolean) => {
    while (!isSpent) {
      sent++;
      const { status } = await ask(stream);
      if (status === 402) isSpent = true;
    }
  };
  await Promise.all([client(true), client(false), client(true), client(false)]);
  await until(() => gateway.holds() === 0);
  const records = await gateway.settled(sent);
  const spent = records.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0);
  expect(spent).toBeLessThanOrEqual(1e9);
  expect(spent).toBeGreaterThan(0.98e9);
}
