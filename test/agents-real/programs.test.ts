import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { chunkBody } from '../support/chat-shapes.ts';
import type { Script } from '../support/scripts.ts';
import { agentScript, COMMAND_OUTPUT, USE_TOOL } from '../wire/support/agent-script.ts';
import { startBothWires } from '../wire/support/anthropic-gateway.ts';
import { either, eventText } from '../wire/support/event-scripts.ts';
import { messageBody, messageStream, text } from '../wire/support/messages-shapes.ts';
import { provider } from '../wire/support/provider-script.ts';
import { ask, kill, PROGRAMS } from './programs.ts';

const MODEL = 'mock/test-model';

/** Sends a first word and then waits. */
const beginAndWait: Script = async (exchange) => {
  if (!exchange.request.path.startsWith('/v1/chat/completions')) return agentScript(exchange);
  await exchange.body;
  await exchange.start(200, { 'content-type': 'text/event-stream' });
  await exchange.chunk(eventText(['', chunkBody('test-model', { delta: { content: 'Hello' } })]));
  await exchange.untilGone();
};

describe.each(PROGRAMS)('$name', (program) => {
  const run = async (gateway: Parameters<typeof ask>[1], prompt: string, model = MODEL) =>
    (await ask(program, gateway, { model, prompt })).output;

  test('works with a provider that only has chat completions', async () => {
    const gateway = await startBothWires();
    gateway.upstream.script(agentScript);
    expect(await run(gateway, 'Say hello')).toContain('Hello you');
    const records = await gateway.settled(1);
    expect(records.every(({ outcome, inputTokens }) => outcome === 'ok' && inputTokens === 20)).toBe(true);
    expect(records.length).toBeLessThanOrEqual(program.requests);
  });

  test('runs a tool and repeats its output', async () => {
    const gateway = await startBothWires();
    gateway.upstream.script(agentScript);
    expect(await run(gateway, `${USE_TOOL} and tell`)).toContain(`It says ${COMMAND_OUTPUT}`);
  });

  test('works with the sandbox', async () => {
    const gateway = await startBothWires();
    expect(await run(gateway, 'Say hello', 'sandbox/echo')).toContain("This is gw's sandbox");
  });

  test('does not retry when the budget is exhausted, and shows what to do', async () => {
    const gateway = await startBothWires({ budget: { capUsd: 0, period: 'daily' } });
    gateway.upstream.script(agentScript);
    expect(await run(gateway, 'Say hello')).toContain('gw budget set');
    expect((await gateway.records()).length).toBeLessThanOrEqual(program.requests);
    expect(gateway.upstream.requests).toHaveLength(0);
  });

  test('when killed, its upstream call is closed within 100 ms', { retry: 2 }, async () => {
    const gateway = await startBothWires();
    gateway.upstream.script(beginAndWait);
    const running = await ask(program, gateway, { model: MODEL, prompt: 'Say hello' });
    let request = await gateway.upstream.nextRequest();
    while (!request.path.startsWith('/v1/chat/completions')) request = await gateway.upstream.nextRequest();
    kill(running);
    await once(running.child, 'exit');
    // Measured from the exit, as a large program takes a while to exit and its connections close with it.
    const exitedAt = performance.now();
    await request.done;
    expect((request.hungUp?.monotonicMs ?? Number.POSITIVE_INFINITY) - exitedAt).toBeLessThan(100);
    await running.output;
  });
});

function program(name: string) {
  const found = PROGRAMS.find((each) => each.name === name);
  if (!found) throw new Error(`no program ${name}`);
  return found;
}

test('Claude Code works with a model of Anthropic', async () => {
  const gateway = await startBothWires();
  gateway.upstream.script(either(messageBody([text('Hello')]), messageStream([text('Hello')])));
  const question = { model: 'claude-opus-4-6', prompt: 'Say hello' };
  const running = await ask(program('claude'), gateway, question);
  expect(await running.output).toContain('Hello');
  const [record] = await gateway.settled(1);
  expect(record).toMatchObject({ endpoint: 'messages', outcome: 'ok', outputTokens: 5 });
  expect(gateway.upstream.requests.at(-1)?.path).toBe('/v1/messages?beta=true');
});

test('Codex works with a provider that has the responses API', async () => {
  const gateway = await startBothWires();
  gateway.upstream.script(provider);
  const running = await ask(program('codex'), gateway, { model: MODEL, prompt: 'Say hello' });
  expect(await running.output).toContain('Hello you');
  for (const record of await gateway.settled(2))
    expect(record).toMatchObject({ endpoint: 'responses', outcome: 'ok' });
});
